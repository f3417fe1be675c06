/** Aggregates of rows per combination of keys. */
import { SemanticError } from '../semantic-error.ts';
import { emitFrom } from './emit-from.ts';
import { emitFactRows, type FactBlock, type FactRequest, keysOfRoot, planFacts } from './fact-rows.ts';
import type { GroupPart, GroupRequest, GroupScope } from './group-scope.ts';

/** SELECTs that together hold the measures of a request; without measures one with the keys alone. */
export function emitFacts(request: FactRequest, scope: GroupScope): readonly GroupPart[] {
  return planFacts(request, scope, true).map((block) => emitFactBlock(block, scope));
}

/** A SELECT of all combinations of keys that a root of the relation has. */
export const emitKeys = (request: GroupRequest, root: string, scope: GroupScope, reader: string): GroupPart =>
  emitFactBlock(keysOfRoot(request, root, scope, reader), scope);

function emitFactBlock(block: FactBlock, scope: GroupScope): GroupPart {
  const isPartial = block.own !== null && block.measures.some(({ guard }) => guard !== null);
  const sql = block.own !== null ? emitCustom(block) : emitAggregates(block, scope);
  return { sql, columns: block.measures.map(({ name }) => name), keysOf: block.root, isPartial };
}

const groupBy = ({ keys }: FactBlock): string =>
  keys.length === 0 ? '' : ` GROUP BY ${keys.map((_, at) => at + 1).join(', ')}`;

function emitAggregates(block: FactBlock, { context }: GroupScope): string {
  const { dialect } = context;
  const isDistinct = block.repeated !== null;
  const measures = block.measures.map(({ name, measure, value, valueType, guard, countsKeys }) => {
    if (measure.aggregation === 'number_agg') return `${value} AS ${name}`;
    const [input, condition] = isDistinct ? [`d.${name}`, null] : [value, guard];
    const aggregation = countsKeys ? 'count_distinct' : measure.aggregation;
    return `${dialect.aggregate(aggregation, input, condition, isDistinct && value === null ? 'number' : valueType)} AS ${name}`;
  });
  const keys = block.keys.map(({ name, sql }) => `${isDistinct ? `d.${name}` : sql} AS ${name}`);
  const columns = [...keys, ...measures];
  // One group of all rows is an aggregate, whatever is asked of it.
  if (columns.length === 0) columns.push('COUNT(*) AS one');
  const from = isDistinct ? `FROM (${emitFactRows(block)}) AS d` : emitFrom(block.source);
  return `SELECT ${columns.join(', ')} ${from}${groupBy(block)}`;
}

/**
 * A custom measure whose rows have to be chosen for it: by its filters, because a join made up rows without it, or because a join
 * repeats its rows. Then the distinct keys and primary keys are joined back to the rows.
 */
function emitCustom(block: FactBlock): string {
  const { source, repeated, own } = block;
  const [it] = block.measures;
  if (it === undefined || own === null) throw new Error('a block of a custom measure has one');
  const conditions = [...source.conditions, ...(it.guard === null ? [] : [it.guard])];
  const from = emitFrom({ ...source, conditions });
  const keys = block.keys.map(({ name, sql }) => `${sql} AS ${name}`);
  const value = `${it.value} AS ${it.name}`;
  if (repeated === null) return `SELECT ${[...keys, value].join(', ')} ${from}${groupBy(block)}`;
  const primaryKey = repeated.primaryKey.map((sql, at) => `${sql} AS p${at}`);
  const chosen = `SELECT DISTINCT ${[...keys, ...primaryKey].join(', ')} ${from}`;
  const rows = emitFrom({ ...source, ...own, conditions: [] });
  const on = repeated.primaryKey.map((sql, at) => `${sql} = d.p${at}`).join(' AND ');
  const columns = [...block.keys.map(({ name }) => `d.${name} AS ${name}`), value];
  return `SELECT ${columns.join(', ')} ${rows} INNER JOIN (${chosen}) AS d ON ${on}${groupBy(block)}`;
}

/**
 * A SELECT of a request's keys row by row, one for one.
 * @throws SemanticError QUERY_NOT_PLANNABLE where two branches of many rows each would make a row of every combination
 */
export function emitRows(request: GroupRequest, scope: GroupScope): string {
  const blocks = planFacts({ ...request, measures: [] }, scope);
  const [block] = blocks;
  if (block === undefined) throw new Error('rows without a block');
  const { tree } = block.source.request;
  const closed = tree.close(block.source.needs.nodes);
  if (!closed.some((path) => !tree.isMultiplied(path, closed))) {
    throw new SemanticError(
      'QUERY_NOT_PLANNABLE',
      `Rows of ${scope.forest.relation.name} with these members would be every combination of unrelated rows.`,
      'Group by dimensions and select measures, or select members of fewer cubes.',
    );
  }
  const keys = block.keys.map(({ name, sql }) => `${sql} AS ${name}`);
  return `SELECT ${keys.join(', ') || '1 AS one'} ${emitFrom(block.source)}`;
}
