/** `switch` dimensions: no column, but a choice that the query makes, or lists as a key. */
import type { Dimension } from '../model/data-model.ts';
import { conjunctsOf, type ResolvedExpression } from '../query/resolved-expression.ts';
import { SemanticError } from '../semantic-error.ts';
import { type NodePath, pathOf } from './join-tree.ts';
import type { RowScope } from './row-scope.ts';
import { shortName } from './short-name.ts';

/** How the query uses a `switch` dimension. */
export type SwitchUse = { readonly fixed: string } | 'key';

/** The `switch` dimensions that are keys, or that the condition fixes by `=`; by path, a space, and name. */
export function switchUses(
  keys: readonly { readonly expression: ResolvedExpression }[],
  where: ResolvedExpression | null,
): ReadonlyMap<string, SwitchUse> {
  const uses = new Map<string, SwitchUse>();
  for (const condition of conjunctsOf(where)) {
    if (condition.kind !== 'compare' || condition.operator !== '=') continue;
    for (const [side, other] of [
      [condition.left, condition.right],
      [condition.right, condition.left],
    ] as const) {
      const id = switchId(side);
      if (id !== null && other.kind === 'literal' && typeof other.value === 'string')
        uses.set(id, { fixed: other.value });
    }
  }
  for (const { expression } of keys) {
    const id = switchId(expression);
    if (id !== null && !uses.has(id)) uses.set(id, 'key');
  }
  return uses;
}

function switchId(expression: ResolvedExpression): string | null {
  if (expression.kind !== 'dimension') return null;
  const { member, path } = expression.member;
  if (member.kind !== 'dimension' || member.source.kind !== 'switch') return null;
  return `${pathOf(path)} ${member.name}`;
}

/**
 * The SQL of a `switch` dimension: the value that the query fixes, null when it is none of its values; as a key, each value in turn.
 * @throws SemanticError QUERY_NOT_PLANNABLE when the query does neither
 */
export function emitSwitch(dimension: Dimension, values: readonly string[], path: NodePath, scope: RowScope): string {
  const { dialect, binder } = scope.request.groups.context;
  const use = scope.request.switches.get(`${path} ${dimension.name}`);
  if (use === undefined) {
    throw new SemanticError(
      'QUERY_NOT_PLANNABLE',
      `${scope.reader} depends on a choice that the query does not make.`,
      'Group by the dimension itself, or fix it by = in WHERE.',
    );
  }
  const literals = values.map((value) => dialect.text(dialect.literal(value)));
  if (use !== 'key') {
    const value = binder.bind(use.fixed, 'string');
    return `CASE WHEN ${value} IN (${literals.join(', ')}) THEN ${value} END`;
  }
  const alias = dialect.quote(shortName(`${path} ${dimension.name}`));
  const rows = literals.map((literal) => `SELECT ${literal} AS value`).join(' UNION ALL ');
  scope.needs.extras.set(alias, `CROSS JOIN (${rows}) AS ${alias}`);
  return `${alias}.value`;
}
