/**
 * Keyset pages: one way for every list of the API. A page begins after a position, which the cursor holds, and not after a count
 * of rows; so pages stay right while rows are added and deleted, and the last page costs what the first one does.
 */
import type { Page } from '@inlay/contract/page.ts';
import { isStorableText } from '@inlay/contract/text.ts';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { z } from 'zod';
import { InlayError } from '../errors.ts';
import { idMax } from './id.ts';
import type { Schema } from './schema.ts';

/** What a list is sorted by. The expression is never null: `coalesce(u.email, '')`. */
export interface SortKey {
  readonly expression: RawBuilder<unknown>;
  /** Timestamps are finite. */
  readonly type: 'text' | 'integer' | 'bigint' | 'timestamp' | 'uuid';
}

/** The rows of a list, before they are cut into pages. */
export interface KeysetSource<Sort extends string> {
  /** The select list, each column under a name of its own: sql`g.id, g.name`. */
  readonly columns: RawBuilder<unknown>;
  /** What stands after FROM: sql`groups g`. */
  readonly from: RawBuilder<unknown>;
  /** Conditions, all of which hold; see {@link filters}. Begin with those that an index begins with. */
  readonly where: readonly RawBuilder<unknown>[];
  /** Names of the query parameter `sort`, without `-`. `id`: by the unique id alone, as for rows numbered in their order. */
  readonly sorts: Readonly<Record<Sort, SortKey | 'id'>>;
  /** The tie-break: unique in the list. */
  readonly id: SortKey & { readonly type: 'integer' | 'bigint' | 'uuid' };
}

/** Which page: `sort` is one of the source's names, with `-` before it for the descending order. */
export interface PageRequest<Sort extends string> {
  readonly sort: Sort | `-${Sort}`;
  /** Rows on the page, 1 or more. */
  readonly first: number;
  /** `endCursor` or `startCursor` of a page of the same sort; undefined: the first page. */
  readonly after?: string | undefined;
}

/** What the statement adds to the columns of the source. The texts are null when the page is empty. */
interface KeysetColumns {
  readonly keyset_before: boolean;
  readonly keyset_key_text: string | null;
  readonly keyset_id_text: string | null;
}

/**
 * One page of a list, by one statement.
 * @param toItem what the reply shows of a row.
 * @throws InlayError INVALID_CURSOR when `after` is not a cursor of this sort.
 */
export async function keysetPage<Row, Item, Sort extends string>(
  db: Kysely<Schema>,
  source: KeysetSource<Sort>,
  request: PageRequest<Sort>,
  toItem: (row: Row) => Item,
): Promise<Page<Item>> {
  const { rows } = await keysetStatement<Row, Sort>(source, request).execute(db);
  const found = rows.filter((row) => row.keyset_id_text !== null);
  const page = found.slice(0, request.first);
  const cursorOf = (row: KeysetColumns | undefined): string | null =>
    row === undefined ? null : writeCursor([request.sort, row.keyset_key_text ?? '', row.keyset_id_text ?? '']);
  return {
    items: page.map(toItem),
    pageInfo: {
      hasNextPage: found.length > page.length,
      hasPreviousPage: rows[0]?.keyset_before ?? false,
      startCursor: cursorOf(page[0]),
      endCursor: cursorOf(page.at(-1)),
    },
  };
}

/**
 * The statement of {@link keysetPage}, for tests of its plan: the rows of the page and one more, and whether any stand before it.
 * @throws InlayError INVALID_CURSOR
 */
export function keysetStatement<Row, Sort extends string>(
  source: KeysetSource<Sort>,
  { sort, first, after }: PageRequest<Sort>,
): RawBuilder<Row & KeysetColumns> {
  const { columns, from, where, id } = source;
  const { name, isDescending } = parseSort(source.sorts, sort);
  const named: SortKey | 'id' = source.sorts[name];
  const key = named === 'id' ? id : named;
  // One column where the id is the key, so that an index on it serves.
  const isById = named === 'id';
  const place = isById ? id.expression : sql`(${key.expression}, ${id.expression})`;
  const [along, back] = isDescending ? [sql`desc`, sql`asc`] : [sql`asc`, sql`desc`];
  const order = (by: RawBuilder<unknown>, tie: RawBuilder<unknown>, direction: RawBuilder<unknown>) =>
    isById ? sql`${tie} ${direction}` : sql`${by} ${direction}, ${tie} ${direction}`;

  const cursor = after === undefined ? null : readCursor(after, sort, key, id);
  const fromCursor = (sign: RawBuilder<unknown>): readonly RawBuilder<unknown>[] => {
    if (cursor === null) return [];
    const bound = boundOf(id, cursor.id);
    return [sql`${place} ${sign} ${isById ? bound : sql`(${boundOf(key, cursor.key)}, ${bound})`}`];
  };
  const rowsWhere = conditions([...where, ...fromCursor(isDescending ? sql`<` : sql`>`)]);
  const beforeWhere = conditions([...where, ...fromCursor(isDescending ? sql`>=` : sql`<=`)]);
  // The nearest row before the page and not just any: ordered, so that the index is read there and nothing else is.
  const backOrder = order(key.expression, id.expression, back);
  const before = sql`coalesce((
    select true from ${from} where ${beforeWhere} order by ${backOrder} limit 1), false)`;

  return sql<Row & KeysetColumns>`
    with page as materialized (
      select ${columns}, ${key.expression} as keyset_key, ${id.expression} as keyset_id
      from ${from} where ${rowsWhere}
      order by ${order(key.expression, id.expression, along)}
      limit ${first + 1}
    ), before as materialized (select ${cursor === null ? sql`false` : before} as keyset_before)
    select page.*, before.keyset_before, ${textOf(key.type, sql`page.keyset_key`)} as keyset_key_text,
      page.keyset_id::text as keyset_id_text
    from before left join page on true
    order by ${order(sql`page.keyset_key`, sql`page.keyset_id`, along)}`;
}

/** All of the conditions; without any, true. */
function conditions(all: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return all.length === 0 ? sql`true` : sql.join(all, sql` and `);
}

/** The conditions that are there: for filters that a request may leave out. */
export function filters(...all: readonly (RawBuilder<unknown> | undefined)[]): readonly RawBuilder<unknown>[] {
  return all.filter((one) => one !== undefined);
}

/** The condition `column = value`, or none when there is no value to ask for. */
export function equals(
  column: RawBuilder<unknown>,
  value: string | number | boolean | Date | undefined,
): RawBuilder<unknown> | undefined {
  return value === undefined ? undefined : sql`${column} = ${value}`;
}

/** `text` occurs in one of the columns, whatever the case; none when there is no text. `%` and `_` are plain characters. */
export function contains(
  columns: readonly RawBuilder<unknown>[],
  text: string | undefined,
): RawBuilder<unknown> | undefined {
  if (text === undefined) return undefined;
  const found = columns.map((column) => sql`strpos(lower(${column}), lower(${text})) > 0`);
  return sql`(${sql.join(found, sql` or `)})`;
}

function parseSort<Sort extends string>(
  sorts: Readonly<Record<Sort, unknown>>,
  sort: Sort | `-${Sort}`,
): { readonly name: Sort; readonly isDescending: boolean } {
  const isDescending = sort.startsWith('-');
  const text = isDescending ? sort.slice(1) : sort;
  const isName = (one: string): one is Sort => Object.hasOwn(sorts, one);
  if (!isName(text)) throw new Error(`The list has no sort ${sort}.`);
  return { name: text, isDescending };
}

/** The text of a key in a cursor. A timestamp is microseconds since 1970, since a Date would lose what follows the milliseconds. */
function textOf(type: SortKey['type'], value: RawBuilder<unknown>): RawBuilder<unknown> {
  return type === 'timestamp' ? sql`(extract(epoch from ${value}) * 1000000)::bigint::text` : sql`${value}::text`;
}

/** The value that a text of {@link textOf} stands for. */
function boundOf({ type }: SortKey, text: string): RawBuilder<unknown> {
  switch (type) {
    case 'text':
      return sql`${text}::text`;
    case 'integer':
      return sql`${text}::integer`;
    case 'bigint':
      return sql`${text}::bigint`;
    case 'uuid':
      return sql`${text}::uuid`;
    case 'timestamp':
      return sql`(timestamptz 'epoch' + ${text}::bigint * interval '1 microsecond')`;
  }
}

/** Whether the database reads the text as a value of the type: a cursor comes from outside. */
function isValueOf({ type }: SortKey, text: string): boolean {
  const isNumber = /^(0|-?[1-9]\d{0,15})$/.test(text) && Number.isSafeInteger(Number(text));
  switch (type) {
    case 'text':
      return isStorableText(text);
    case 'integer':
      return isNumber && Math.abs(Number(text)) <= idMax;
    case 'bigint':
    case 'timestamp':
      return isNumber;
    case 'uuid':
      return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
  }
}

const cursorSchema = z.tuple([z.string(), z.string(), z.string()]);

/** Opaque to clients: base64url of the sort, the key and the id. */
function writeCursor(parts: z.infer<typeof cursorSchema>): string {
  return Buffer.from(JSON.stringify(parts), 'utf8').toString('base64url');
}

function readCursor(
  text: string,
  sort: string,
  key: SortKey,
  id: SortKey,
): { readonly key: string; readonly id: string } {
  const parts = cursorSchema.safeParse(parseJson(text)).data;
  const isRight =
    parts !== undefined &&
    parts[0] === sort &&
    isValueOf(key, parts[1]) &&
    isValueOf(id, parts[2]) &&
    writeCursor(parts) === text;
  if (!isRight) {
    const message = 'is not a cursor of this list and sort';
    throw new InlayError('INVALID_CURSOR', `after ${message}`, { issues: [{ path: 'after', message }] });
  }
  return { key: parts[1], id: parts[2] };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
}
