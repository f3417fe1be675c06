/** Expressions of a query over joined rows → SQL text. */
import type { CustomGranularity } from '../model/data-model.ts';
import type { ResolvedExpression } from '../query/resolved-expression.ts';
import { SemanticError } from '../semantic-error.ts';
import { emitExpression } from './emit-expression.ts';
import { emitLocalTime, emitTyped, type RowMember } from './emit-member.ts';
import { type NodePath, pathOf } from './join-tree.ts';
import { askedScope, type Needs, type RowScope, type TreeRequest } from './row-scope.ts';

/** Where an expression of the query is emitted: over the rows of one tree. */
export interface RowPlace {
  readonly request: TreeRequest;
  readonly needs: Needs;
  /** What the expression is needed for, as the asking user knows it, for messages. */
  readonly reader: string;
}

/** A dimension or segment in an expression, with its node in the tree and the scope to emit it in. */
interface Found {
  readonly member: RowMember;
  readonly path: NodePath;
  readonly scope: RowScope;
}

/**
 * The SQL of an expression over dimensions.
 * @throws SemanticError QUERY_NOT_PLANNABLE for a dimension that this tree does not reach
 */
export function emitRowExpression(
  expression: ResolvedExpression,
  place: RowPlace,
  reads: RowScope['reads'] = 'asked',
): string {
  const { context } = place.request.groups;
  return emitExpression(expression, context, (it) => {
    if (it.kind === 'local-time') {
      const found = find(it.operand, place, reads);
      return found === null ? null : emitLocalTime(found.member, found.path, found.scope, it.timezone);
    }
    if (it.kind === 'date-trunc') {
      const custom = customGranularity(it.operand, it.granularity);
      if (custom === null) return null;
      return context.dialect.dateBin(custom.interval, custom.origin, emitRowExpression(it.operand, place, reads));
    }
    const found = find(it, place, reads);
    return found === null ? null : emitTyped(found.member, found.path, found.scope);
  });
}

/** The granularity of that name that a time dimension declares; it comes before a built-in one of the same name. */
function customGranularity(time: ResolvedExpression, name: string): CustomGranularity | null {
  const operand = time.kind === 'local-time' ? time.operand : time;
  if (operand.kind !== 'dimension' || operand.member.member.kind !== 'dimension') return null;
  return operand.member.member.granularities.get(name) ?? null;
}

function find(expression: ResolvedExpression, place: RowPlace, reads: RowScope['reads']): Found | null {
  if (expression.kind !== 'dimension' || expression.member.member.kind === 'measure') return null;
  const { member, name, path: named } = expression.member;
  const { groups, tree } = place.request;
  const found = groups.locate(tree, pathOf(named));
  if (found.path === null) {
    const isUnreachable = found.why === 'none';
    throw new SemanticError(
      'QUERY_NOT_PLANNABLE',
      `${place.reader} cannot be asked by ${name}: ${isUnreachable ? 'no join leads there' : 'joins lead there in more than one way'}.`,
      isUnreachable ? '' : 'The data model has to declare the way as a join path of a view.',
    );
  }
  return { member, path: found.path, scope: { ...askedScope(place.request, name, place.needs), reads } };
}
