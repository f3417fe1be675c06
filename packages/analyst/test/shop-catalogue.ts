/** The catalogue of a shop as one user may see it, and short ways to ask the analyst about it. */

import { type AnalystContext, type AnalystTurn, nextTurn, type ValueMatch } from '@inlay/analyst/analyst.ts';
import type { AnalystMessage } from '@inlay/analyst/conversation.ts';
import type { MemberMetadata, RelationMetadata } from '@inlay/semantic/policy/metadata.ts';

/** A measure, a sum unless `more` says otherwise. */
export function measure(
  relation: string,
  name: string,
  title: string,
  more: Partial<MemberMetadata> = {},
): MemberMetadata {
  const base = { name: `${relation}.${name}`, title, description: '', type: 'number', kind: 'measure' } as const;
  return { ...base, aggType: 'sum', synonyms: [], ...more };
}

/** A dimension, of texts unless `more` says otherwise. */
export function dimension(
  relation: string,
  name: string,
  title: string,
  more: Partial<MemberMetadata> = {},
): MemberMetadata {
  const base = { name: `${relation}.${name}`, title, description: '', type: 'string', kind: 'dimension' } as const;
  return { ...base, synonyms: [], ...more };
}

/** Its first view. */
export const sales: RelationMetadata = {
  name: 'sales',
  type: 'view',
  title: 'Sales',
  description: 'Orders with their customers and items',
  synonyms: ['commerce'],
  members: [
    measure('sales', 'revenue', 'Revenue', { synonyms: ['sales', 'turnover', 'income'] }),
    measure('sales', 'orders_count', 'Orders', { aggType: 'count', synonyms: ['number of orders', 'purchases'] }),
    measure('sales', 'items_sold', 'Items sold', { synonyms: ['units'] }),
    measure('sales', 'average_order_value', 'Average order value', { aggType: 'avg', synonyms: ['AOV'] }),
    measure('sales', 'refund_amount', 'Refund amount', { synonyms: ['refunds'] }),
    measure('sales', 'customers_count', 'Customers', { aggType: 'count_distinct', synonyms: ['buyers'] }),
    dimension('sales', 'created_at', 'Order date', { type: 'time' }),
    dimension('sales', 'refunded_at', 'Refund date', { type: 'time' }),
    dimension('sales', 'channel', 'Channel'),
    dimension('sales', 'category', 'Category', { synonyms: ['product category'] }),
    dimension('sales', 'product', 'Product'),
    dimension('sales', 'brand', 'Brand'),
    dimension('sales', 'customer_country', 'Customer country'),
    dimension('sales', 'customer_city', 'Customer city'),
    dimension('sales', 'merchant', 'Merchant', { synonyms: ['shop', 'seller'] }),
    dimension('sales', 'region', 'Region'),
    dimension('sales', 'status', 'Order status'),
    dimension('sales', 'payment_method', 'Payment method'),
  ],
};

/** Its second view, which shares some members with the first. */
export const fulfilment: RelationMetadata = {
  name: 'fulfilment',
  type: 'view',
  title: 'Fulfilment',
  description: 'Orders with their shipments',
  synonyms: ['delivery', 'shipping'],
  members: [
    measure('fulfilment', 'orders_count', 'Orders', { aggType: 'count' }),
    measure('fulfilment', 'shipments_count', 'Shipments', { aggType: 'count', synonyms: ['parcels'] }),
    measure('fulfilment', 'on_time_rate', 'On-time rate', { aggType: 'number', format: 'percent' }),
    measure('fulfilment', 'late_shipments', 'Late shipments', { aggType: 'count' }),
    measure('fulfilment', 'average_delivery_days', 'Average delivery days', { aggType: 'avg' }),
    dimension('fulfilment', 'created_at', 'Order date', { type: 'time' }),
    dimension('fulfilment', 'carrier', 'Carrier'),
    dimension('fulfilment', 'channel', 'Channel'),
    dimension('fulfilment', 'merchant', 'Merchant'),
  ],
};

/** A value in the dimension of this name, in every view that has it. */
function values(name: string, ...found: readonly string[]): readonly ValueMatch[] {
  return [sales, fulfilment].flatMap((relation) =>
    relation.members
      .filter((member) => member.name === `${relation.name}.${name}`)
      .flatMap((member) => found.map((value) => ({ member: member.name, value }))),
  );
}

/** All that a user of the shop may see, with the values that questions in the tests speak of. */
export const shop: AnalystContext = {
  today: '2025-11-20',
  relations: [sales, fulfilment],
  valueMatches: [
    ...values('channel', 'web', 'store', 'mobile app'),
    ...values('category', 'Shoes', 'Hats', "Kids' Toys"),
    ...values('customer_country', 'Germany', 'France'),
    ...values('brand', "O'Neill", 'Acme', 'Berlin'),
    ...values('customer_city', 'Berlin', 'Paris'),
    ...values('status', 'completed', 'cancelled'),
    ...values('merchant', 'Blue Door'),
    ...values('carrier', 'Swift'),
  ],
  toolNames: { meta: 'platformMeta', sql: 'platformSqlApi' },
};

/** The input of a tool call as an object of strings. */
export function inputOf(turn: AnalystTurn): Readonly<Record<string, string>> {
  const parsed: unknown = JSON.parse(turn.toolCalls[0]?.input ?? '{}');
  const entries = Object.entries(typeof parsed === 'object' && parsed !== null ? parsed : {});
  return Object.fromEntries(entries.map(([key, value]): [string, string] => [key, String(value)]));
}

/** The metadata tool's answer: every relation that the user may see. */
export function metaResult(context: AnalystContext = shop): string {
  return JSON.stringify({ searchQuery: '', cubes: context.relations.map(({ name }) => ({ name, members: [] })) });
}

/** Appends a turn and the result of its tool to a conversation. */
export function withResult(
  messages: readonly AnalystMessage[],
  turn: AnalystTurn,
  result: string,
): readonly AnalystMessage[] {
  const [call] = turn.toolCalls;
  if (call === undefined) return [...messages, { role: 'assistant', content: turn.text, toolCalls: [] }];
  const id = `call-${messages.length}`;
  return [
    ...messages,
    { role: 'assistant', content: turn.text, toolCalls: [{ id, ...call }] },
    { role: 'tool', toolCallId: id, name: call.name, result },
  ];
}

/** Asks a question in a thread up to the turn that queries or refuses; the metadata tool finds everything. */
export function ask(
  question: string,
  before: readonly AnalystMessage[] = [],
  context: AnalystContext = shop,
): { readonly turn: AnalystTurn; readonly messages: readonly AnalystMessage[] } {
  const messages: readonly AnalystMessage[] = [...before, { role: 'user', content: question }];
  const turn = nextTurn(messages, context);
  if (turn.toolCalls[0]?.name !== context.toolNames.meta) return { turn, messages };
  const found = withResult(messages, turn, metaResult(context));
  return { turn: nextTurn(found, context), messages: found };
}

/** The SQL that a question leads to, or the text of the refusal. */
export function sqlOf(question: string, context: AnalystContext = shop): string {
  return sqlInThread([question], context);
}

/**
 * The input of the query that the last of several questions in one thread leads to, with the text of its turn as `sqlQuery`
 * where it leads to none. The SQL tool gives no rows; its results are `result-0`, `result-1` …
 */
export function inputInThread(
  questions: readonly string[],
  context: AnalystContext = shop,
): Readonly<Record<string, string>> {
  let messages: readonly AnalystMessage[] = [];
  for (const [index, question] of questions.slice(0, -1).entries()) {
    messages = answerTo(question, JSON.stringify({ uuid: `result-${index}` }), messages, context).messages;
  }
  const { turn } = ask(questions.at(-1) ?? '', messages, context);
  return { sqlQuery: turn.text, ...inputOf(turn) };
}

/** The SQL that the last of several questions in one thread leads to, or the text of the refusal. */
export function sqlInThread(questions: readonly string[], context: AnalystContext = shop): string {
  return inputInThread(questions, context)['sqlQuery'] ?? '';
}

/** A result of the SQL tool for rows of given columns (`name:Type`). */
export function rowsResult(
  columns: readonly string[],
  data: readonly (readonly (string | number | boolean | null)[])[],
  more: Readonly<Record<string, unknown>> = {},
): string {
  const schema = columns.map((column) => {
    const [name, type] = column.split(':');
    return { name, column_type: type };
  });
  return JSON.stringify({ schema, data, totalRows: data.length, uuid: 'result-1', ...more });
}

/** Asks, lets the SQL tool return `result`, and gives the answer with the thread so far. */
export function answerTo(
  question: string,
  result: string,
  before: readonly AnalystMessage[] = [],
  context: AnalystContext = shop,
): { readonly text: string; readonly messages: readonly AnalystMessage[] } {
  const { turn, messages } = ask(question, before, context);
  const answered = withResult(messages, turn, result);
  const last = nextTurn(answered, context);
  return { text: last.text, messages: withResult(answered, last, '') };
}
