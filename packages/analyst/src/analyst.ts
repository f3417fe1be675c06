/** The built-in analyst: a language model without network or key. One pure function from a conversation to its next turn. */

import type { RelationMetadata } from '@inlay/semantic/policy/metadata.ts';
import { toCertifiedAnswer } from './certified-answer.ts';
import { type AnalystMessage, isRecord, latestResultId, parseObject, readToolResult } from './conversation.ts';
import { lowerTitleOf, queryDescription, queryTitle } from './describe.ts';
import type { Intent } from './intent.ts';
import { listOf, lowerTitle } from './plain-text.ts';
import { failureAnswer, toAnswer } from './to-answer.ts';
import { toChart } from './to-chart.ts';
import { toSql } from './to-sql.ts';
import { type Understanding, understand } from './understand.ts';

/** A value of a dimension that the user may see and that occurs in the question. `member` is `relation.member`. */
export interface ValueMatch {
  readonly member: string;
  readonly value: string;
}

/** What the analyst knows besides the conversation. All of it is filtered by the user's policies. */
export interface AnalystContext {
  /** `YYYY-MM-DD`, in the user's time zone. */
  readonly today: string;
  readonly relations: readonly RelationMetadata[];
  readonly valueMatches: readonly ValueMatch[];
  /** The names of the tools that search metadata and run SQL. */
  readonly toolNames: { readonly meta: string; readonly sql: string };
  /** The certified query whose question the last message of the user is, word for word; its SQL is run as it stands. */
  readonly certified?: { readonly name: string; readonly sql: string };
}

/** One turn: text, and calls of tools with their inputs as JSON strings. A turn without calls ends the answer. */
export interface AnalystTurn {
  readonly text: string;
  readonly toolCalls: readonly { readonly name: string; readonly input: string }[];
}

const requestCharactersMax = 2000;

/**
 * The next turn for the last question of `messages`, the same for the same input.
 * - A certified question: a call of the SQL tool with its SQL, then the answer.
 * - A question by itself: first a call of the metadata tool, then one of the SQL tool, then the answer.
 * - A follow-up: a call of the SQL tool with `memoryId`, then the answer.
 * - A question with a word that has no meaning here, or that cannot be asked: text, and no call at all.
 * - A failed tool: text that says so with the tool's own message.
 * - A question that has its answer already: a turn without text and calls.
 * Never throws on any text; `context.today` must be a real day, else phrases relative to it are not understood.
 */
export function nextTurn(messages: readonly AnalystMessage[], context: AnalystContext): AnalystTurn {
  const place = messages.findLastIndex(({ role }) => role === 'user');
  const question = messages[place];
  if (question?.role !== 'user') return say('What would you like to know?');
  const last = messages.at(-1);
  if (last?.role === 'tool') {
    const outcome = readToolResult(last.result);
    if (outcome.kind === 'error') return say(failureAnswer(outcome.message, outcome.hint));
    const { certified } = context;
    if (certified !== undefined && sqlOfCall(messages, last.toolCallId) === certified.sql) {
      return say(toCertifiedAnswer(certified.name, outcome.result, context.relations));
    }
    const understanding = understand(messages, place, context);
    if (understanding.kind === 'refusal') return say(understanding.text);
    if (last.name === context.toolNames.sql)
      return answer(messages, last.toolCallId, understanding.intent, outcome.result);
    if (last.name !== context.toolNames.meta) return say(failureAnswer('I do not know this tool.', ''));
    const isFound = namesRelation(outcome.result, understanding.intent.relation);
    if (!isFound) return say(`I found no data about ${subjectOf(understanding.intent)}. I queried nothing.`);
    return query(messages, question.content, understanding, context);
  }
  if (last?.role === 'assistant') return say('');
  if (context.certified !== undefined) return queryCertified(question.content, context.certified, context);
  const understanding = understand(messages, place, context);
  if (understanding.kind === 'refusal') return say(understanding.text);
  if (understanding.base !== null) return query(messages, question.content, understanding, context);
  const searchQuery = lowerTitle(queryTitle(understanding.intent));
  return {
    text: `I look up ${subjectOf(understanding.intent)}.`,
    toolCalls: [{ name: context.toolNames.meta, input: JSON.stringify({ searchQuery }) }],
  };
}

function say(text: string): AnalystTurn {
  return { text, toolCalls: [] };
}

function query(
  messages: readonly AnalystMessage[],
  userRequest: string,
  { intent, base }: Extract<Understanding, { kind: 'intent' }>,
  context: AnalystContext,
): AnalystTurn {
  const memoryId = base === null ? undefined : latestResultId(messages, base, context.toolNames.sql);
  const vegaSpec = toChart(intent);
  const input = {
    sqlQuery: toSql(intent),
    queryTitle: queryTitle(intent),
    description: queryDescription(intent),
    userRequest: userRequest.slice(0, requestCharactersMax).toWellFormed(),
    ...(memoryId !== undefined && { memoryId }),
    ...(vegaSpec !== undefined && { vegaSpec }),
  };
  return { text: '', toolCalls: [{ name: context.toolNames.sql, input: JSON.stringify(input) }] };
}

function queryCertified(
  userRequest: string,
  { name, sql }: NonNullable<AnalystContext['certified']>,
  { toolNames }: AnalystContext,
): AnalystTurn {
  const input = {
    sqlQuery: sql,
    queryTitle: name,
    description: `The certified query "${name}".`,
    userRequest: userRequest.slice(0, requestCharactersMax).toWellFormed(),
  };
  return { text: '', toolCalls: [{ name: toolNames.sql, input: JSON.stringify(input) }] };
}

// The rows are worded as what was asked for when they were queried: another meaning by now would misname them.
function answer(
  messages: readonly AnalystMessage[],
  toolCallId: string,
  intent: Intent,
  result: Readonly<Record<string, unknown>>,
): AnalystTurn {
  const asked = sqlOfCall(messages, toolCallId) ?? result['sqlQuery'];
  if (asked !== toSql(intent)) return say('What you may query has changed meanwhile. Please ask again.');
  return say(toAnswer(intent, result));
}

// What a call asked for; undefined when it is not in the conversation.
function sqlOfCall(messages: readonly AnalystMessage[], toolCallId: string): unknown {
  const call = messages
    .flatMap((message) => (message.role === 'assistant' ? message.toolCalls : []))
    .findLast(({ id }) => id === toolCallId);
  return call === undefined ? undefined : parseObject(call.input)?.['sqlQuery'];
}

function namesRelation(result: Readonly<Record<string, unknown>>, relation: RelationMetadata): boolean {
  const { cubes } = result;
  return Array.isArray(cubes) && cubes.some((cube: unknown) => isRecord(cube) && cube['name'] === relation.name);
}

// `revenue, month and channel`: the members that a question is about.
function subjectOf(intent: Intent): string {
  const { time } = intent;
  const members = [...intent.dimensions, ...intent.segments, ...intent.filters.map(({ member }) => member)];
  const parts = [
    ...intent.measures.map(lowerTitleOf),
    ...(time?.grain === undefined ? [] : [time.grain]),
    ...members.map(lowerTitleOf),
  ];
  return listOf([...new Set(parts)]);
}
