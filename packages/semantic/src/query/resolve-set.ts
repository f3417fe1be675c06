/** UNION, INTERSECT and EXCEPT: as many columns, of the same types. */

import { closestNames } from '../closest-names.ts';
import { SemanticError } from '../semantic-error.ts';
import type { ValueType } from './resolved-expression.ts';
import type { OutputColumn, ResolvedStatement } from './resolved-statement.ts';
import type { SortItem } from './semantic-query.ts';
import type { SetBody } from './statement.ts';

const words = { union: 'UNION', 'union-all': 'UNION ALL', intersect: 'INTERSECT', except: 'EXCEPT' } as const;

/**
 * Puts resolved queries together; the names of the columns are the first one's.
 * @throws SemanticError SQL_INVALID for another number of columns, TYPE_MISMATCH for other types
 */
export function resolveSet(body: SetBody, branches: readonly ResolvedStatement[]): ResolvedStatement {
  const { operator, limit, offset, location } = body;
  const counts = new Set(branches.map((it) => it.columns.length));
  if (counts.size > 1) {
    throw new SemanticError('SQL_INVALID', `${words[operator]} needs queries with as many columns.`, '', location);
  }
  const columns = (branches[0]?.columns ?? []).map(({ name }, at): OutputColumn => {
    const types = new Set(branches.map((it) => it.columns[at]?.type ?? 'null').filter((type) => type !== 'null'));
    return { name, type: commonType([...types], `${words[operator]} mixes`, name, location) };
  });
  const written = body.orderBy.map((it) => ({
    column: sortedColumn(it, columns),
    isDescending: it.isDescending,
    nullsFirst: it.nullsFirst,
  }));
  const sorted = new Set(written.map(({ column }) => column));
  // Cut where rows are alike, a LIMIT would leave any of them: see resolve-clauses.ts.
  const ties = limit === null && offset === null ? [] : columns.keys().filter((column) => !sorted.has(column));
  const orderBy = [...written, ...[...ties].map((column) => ({ column, isDescending: false, nullsFirst: false }))];
  return { kind: 'set', operator, branches, orderBy, limit, offset, columns };
}

function commonType(types: readonly ValueType[], mixes: string, name: string, location: number): ValueType {
  const [type = 'null', ...others] = types;
  if (others.length === 0) return type;
  // Instants and wall clocks are the same only in UTC; which zone it is is not known to a warehouse.
  const told = types.every((it) => it === 'time' || it === 'local-time')
    ? 'instants and local times'
    : types.join(' and ');
  throw new SemanticError('TYPE_MISMATCH', `${mixes} ${told} in column "${name}".`, 'Cast one of them.', location);
}

function sortedColumn({ expression }: SortItem, columns: readonly OutputColumn[]): number {
  const { location } = expression;
  if (expression.kind === 'number' && /^\d{1,4}$/.test(expression.text)) {
    const at = Number(expression.text) - 1;
    if (columns[at] !== undefined) return at;
    throw new SemanticError(
      'SQL_INVALID',
      `ORDER BY ${expression.text} is not the position of a selected column.`,
      '',
      location,
    );
  }
  if (expression.kind !== 'column' || expression.qualifier !== null) {
    throw new SemanticError(
      'SQL_NOT_SUPPORTED',
      'Semantic SQL does not allow an expression in ORDER BY of a set operation.',
      'Order by a selected column, or put a SELECT around it.',
      location,
    );
  }
  const at = columns.findIndex(({ name }) => name === expression.name);
  if (at >= 0) return at;
  const names = columns.map(({ name }) => name);
  throw new SemanticError(
    'MEMBER_NOT_FOUND',
    `No selected column "${expression.name}".`,
    closestNames(expression.name, names),
    location,
  );
}
