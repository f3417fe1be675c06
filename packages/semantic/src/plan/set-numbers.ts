/**
 * Numbers of several queries that meet, for a warehouse that does not find a common kind for all of its kinds: ClickHouse none of whole numbers
 * and doubles, DuckDB one with too few places for some decimals.
 */
import { readNumber } from '../dialects/text-formats.ts';
import type { ResolvedExpression } from '../query/resolved-expression.ts';
import type { PlainFrom, ResolvedStatement } from '../query/resolved-statement.ts';

/** Whether the numbers of a column of these queries are known to be of kinds that a warehouse can put under each other. */
export const areOfOneKind = (branches: readonly ResolvedStatement[], column: number): boolean =>
  areAlike(branches.map((branch) => kindOf(branch, column)));

/** Whether a value of a SELECT over members is known to be a number of the same kind as a column of another query. */
export const isOfKind = (expression: ResolvedExpression, other: ResolvedStatement, column: number): boolean =>
  areAlike([kindIn(expression, () => unknown), kindOf(other, column)]);

/** Whether two numbers over the queries of a FROM are known to be of kinds that a warehouse can join. */
export const areJoinable = (left: ResolvedExpression, right: ResolvedExpression, from: PlainFrom): boolean =>
  areAlike([kindOver(left, from), kindOver(right, from)]);

const areAlike = (kinds: readonly string[]): boolean =>
  kinds.every((kind) => kind.startsWith(whole)) || (new Set(kinds).size === 1 && !kinds.includes(unknown));

const unknown = 'unknown';
/** Begins the names of kinds that hold whole numbers only. */
const whole = 'whole ';

/** Names the kind of number that a column holds: of two columns with one name the warehouse's types are the same. */
function kindOf(statement: ResolvedStatement, column: number): string {
  switch (statement.kind) {
    case 'set': {
      const [first] = statement.branches;
      return first !== undefined && areOfOneKind(statement.branches, column) ? kindOf(first, column) : unknown;
    }
    case 'block':
      return kindIn(statement.query.select[column]?.expression, () => unknown);
    case 'plain':
      return kindOver(statement.select.select[column]?.expression, statement.select.from);
  }
}

const kindOver = (expression: ResolvedExpression | undefined, from: PlainFrom): string =>
  kindIn(expression, (source, column) => {
    const found = sourceOf(from, source);
    return found === null ? unknown : kindOf(found, column);
  });

function sourceOf(from: PlainFrom, source: number): ResolvedStatement | null {
  if (from.kind === 'source') return from.source === source ? from.statement : null;
  return sourceOf(from.left, source) ?? sourceOf(from.right, source);
}

function kindIn(
  expression: ResolvedExpression | undefined,
  columnKind: (source: number, column: number) => string,
): string {
  if (expression === undefined) return unknown;
  switch (expression.kind) {
    case 'dimension':
    case 'measure': {
      const { path, member } = expression.member;
      const isCount = member.kind === 'measure' && member.aggregation.startsWith('count');
      return `${isCount ? whole : ''}${path.join('.')} ${member.name}`;
    }
    case 'column':
      return columnKind(expression.source, expression.column);
    case 'literal':
      // Null, whatever the others are.
      return `${whole}null`;
    case 'number':
      return readNumber(expression.text).kind === 'whole' ? `${whole}written` : unknown;
    case 'date-part':
      return expression.part === 'second' || expression.part === 'epoch' ? unknown : `${whole}part`;
    case 'aggregate':
    case 'window': {
      const { function: name } = expression;
      if (['count', 'count_distinct', 'row_number', 'rank', 'dense_rank', 'ntile'].includes(name))
        return `${whole}${name}`;
      const argument = expression.kind === 'window' ? expression.args[0] : (expression.argument ?? undefined);
      const kind = kindIn(argument, columnKind);
      return kind === unknown ? unknown : `${name} of ${kind}`;
    }
    case 'cast':
      return expression.type === 'bigint' ? `${whole}bigint` : expression.type === 'double' ? 'double' : unknown;
    default:
      return unknown;
  }
}
