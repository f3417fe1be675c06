/**
 * Numbers of several queries that come under each other, for a warehouse that does not find a common kind for all of its kinds (ClickHouse
 * none of whole numbers and doubles). Where it is not known that they are of one kind, they are all made doubles.
 */
import { readNumber } from '../dialects/text-formats.ts';
import type { ResolvedExpression } from '../query/resolved-expression.ts';
import type { PlainFrom, ResolvedStatement } from '../query/resolved-statement.ts';

/** What the numbers of a column are made: nothing, since they are of one kind; whole numbers; doubles. */
export type NumberCast = 'bigint' | 'double' | null;

/** What is needed to put a column of numbers of these queries under each other. */
export function numberCast(branches: readonly ResolvedStatement[], column: number): NumberCast {
  const kinds = new Set(branches.map((branch) => kindOf(branch, column)));
  const [first] = kinds;
  if (kinds.size === 1 && first !== undefined && first !== unknown) return null;
  return [...kinds].every((kind) => kind.startsWith(whole)) ? 'bigint' : 'double';
}

const unknown = 'unknown';
/** Begins the names of kinds that hold whole numbers only. */
const whole = 'whole ';

/** Names the kind of number that a column holds: of two columns with one name the warehouse's types are the same. */
function kindOf(statement: ResolvedStatement, column: number): string {
  switch (statement.kind) {
    case 'set': {
      const cast = numberCast(statement.branches, column);
      const [first] = statement.branches;
      if (cast === null && first !== undefined) return kindOf(first, column);
      return cast === 'bigint' ? `${whole}bigint` : 'double';
    }
    case 'block':
      return kindIn(statement.query.select[column]?.expression, () => unknown);
    case 'plain': {
      const { from, select } = statement.select;
      return kindIn(select[column]?.expression, (source, at) => {
        const found = sourceOf(from, source);
        return found === null ? unknown : kindOf(found, at);
      });
    }
  }
}

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
