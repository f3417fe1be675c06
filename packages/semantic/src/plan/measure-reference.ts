/** What `{cube.member}` in a measure over measures stands for. */
import type { Measure } from '../model/data-model.ts';
import type { GroupScope } from './group-scope.ts';
import { type NodePath, rootOf } from './join-tree.ts';

/**
 * The measure that a reference in a measure at `path` stands for, and its node.
 * @param reader the member of the query that reads it, for messages
 * @throws SemanticError QUERY_NOT_PLANNABLE when no join or more than one path leads there
 */
export function referTo(
  path: NodePath,
  cube: string,
  member: string,
  reader: string,
  scope: GroupScope,
): { readonly path: NodePath; readonly measure: Measure } {
  const target = scope.forest.referMeasure(path, cube, reader);
  const measure = scope.forest.tree(rootOf(target)).cube(target).members.get(member);
  if (measure?.kind !== 'measure') throw new Error(`${cube}.${member} is no measure`);
  return { path: target, measure };
}
