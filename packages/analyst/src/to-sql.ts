/** Writes an intent as semantic SQL (PostgreSQL grammar). Values stand in it as string literals with `'` doubled only. */

import type { MemberMetadata } from '@inlay/semantic/policy/metadata.ts';
import { type Filter, type Intent, localName } from './intent.ts';
import { reservedWords } from './reserved-words.ts';

/** The columns of the result in order: time, dimensions, measures; `name` is the alias in the SQL and the chart. */
export interface QueryColumn {
  readonly name: string;
  readonly role: 'time' | 'dimension' | 'measure';
  readonly member: MemberMetadata;
}

/** The columns that {@link toSql} selects. Names are unique. */
export function queryColumns(intent: Intent): readonly QueryColumn[] {
  const { time } = intent;
  const taken = new Set([...intent.dimensions, ...intent.measures].map(localName));
  const columns: QueryColumn[] = [];
  if (time?.grain !== undefined) {
    let name: string = time.grain;
    while (taken.has(name)) name = `${localName(time.member)}_${name}`;
    columns.push({ name, role: 'time', member: time.member });
  }
  for (const member of intent.dimensions) columns.push({ name: localName(member), role: 'dimension', member });
  for (const member of intent.measures) columns.push({ name: localName(member), role: 'measure', member });
  return columns;
}

/**
 * One SELECT over the intent's relation. Rows are ordered by time, or else by the first (or ranked) measure; a ranking
 * is ordered by its dimensions as well, so that ties do not change from one run to the next.
 */
export function toSql(intent: Intent): string {
  const columns = queryColumns(intent);
  const selected = columns.map((column) => selectItem(column, intent));
  const groups = columns.flatMap(({ role }, index) => (role === 'measure' ? [] : [index + 1]));
  const conditions = conditionsOf(intent);
  const orders = ordersOf(intent, columns);
  return [
    `SELECT ${selected.join(', ')} FROM ${quoteName(intent.relation.name)}`,
    ...(conditions.length > 0 ? [`WHERE ${conditions.join(' AND ')}`] : []),
    ...(groups.length > 0 ? [`GROUP BY ${groups.join(', ')}`, `ORDER BY ${orders.join(', ')}`] : []),
    ...(intent.ranking === undefined ? [] : [`LIMIT ${intent.ranking.limit}`]),
  ].join(' ');
}

// A string literal. PostgreSQL's standard strings know one escape: a doubled quote.
function quoteValue(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

// An identifier, in double quotes where it would not be read as itself without them.
function quoteName(name: string): string {
  const isPlain = /^[a-z_][a-z0-9_]*$/.test(name) && !reservedWords.has(name);
  return isPlain ? name : `"${name.replaceAll('"', '""')}"`;
}

function selectItem(column: QueryColumn, intent: Intent): string {
  const member = quoteName(localName(column.member));
  const alias = quoteName(column.name);
  if (column.role === 'measure') return `MEASURE(${member}) AS ${alias}`;
  if (column.role === 'dimension') return member;
  return `date_trunc(${quoteValue(intent.time?.grain ?? 'day')}, ${member}) AS ${alias}`;
}

function conditionsOf(intent: Intent): readonly string[] {
  const segments = intent.segments.map((segment) => quoteName(localName(segment)));
  const conditions = [...segments, ...intent.filters.map(filterCondition)];
  const { time, ranking } = intent;
  // Who asks for the top promotion codes asks for codes: rows without one take no place in a ranking.
  for (const member of ranking === undefined ? [] : intent.dimensions) {
    const isHeld = intent.filters.some((filter) => filter.member === member && !filter.isExcluded);
    if (!isHeld) conditions.push(`${quoteName(localName(member))} IS NOT NULL`);
  }
  if (time !== undefined) {
    const member = quoteName(localName(time.member));
    if (time.range?.from !== undefined) conditions.push(`${member} >= ${quoteValue(time.range.from)}`);
    if (time.range?.to !== undefined) conditions.push(`${member} < ${quoteValue(time.range.to)}`);
  }
  return conditions;
}

// Whoever leaves "web" out still wants the rows without a channel, for which `<>` alone is not true.
function filterCondition({ member, values, isExcluded }: Filter): string {
  const name = quoteName(localName(member));
  const literals = values.map(quoteValue);
  const isOne = literals.length === 1;
  if (!isExcluded) return isOne ? `${name} = ${literals.join()}` : `${name} IN (${literals.join(', ')})`;
  const compared = isOne ? `${name} <> ${literals.join()}` : `${name} NOT IN (${literals.join(', ')})`;
  return `(${compared} OR ${name} IS NULL)`;
}

function ordersOf(intent: Intent, columns: readonly QueryColumn[]): readonly string[] {
  const { ranking } = intent;
  const measured = columns.findIndex(
    ({ role, member }) => role === 'measure' && (ranking === undefined || member === ranking.measure),
  );
  const byMeasure = `${measured + 1} ${ranking?.direction === 'lowest' ? 'ASC' : 'DESC'} NULLS LAST`;
  const byGroup = columns.flatMap(({ role }, index) => (role === 'measure' ? [] : [`${index + 1} ASC NULLS LAST`]));
  if (ranking !== undefined) return [byMeasure, ...byGroup];
  if (columns[0]?.role !== 'time') return [byMeasure];
  return columns[1]?.role === 'dimension' ? ['1 ASC NULLS LAST', byMeasure] : ['1 ASC NULLS LAST'];
}
