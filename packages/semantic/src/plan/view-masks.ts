/** Masks of a view, where what it masks is read from a node that the view does not name. */
import type { CubeMember } from '../model/data-model.ts';
import type { GroupScope } from './group-scope.ts';
import { cubeAt, type JoinTree, type NodePath } from './join-tree.ts';

/**
 * Whether the view masks a member of the cube at `path` elsewhere, and this node is none of those that the view names: another member
 * leads here, and a masked member is its mask in every member that reads it. Parts that the view itself tells apart, such as two cities
 * of an order, are masked each by its own name.
 */
export function isMaskedElsewhere(member: CubeMember, tree: JoinTree, path: NodePath, scope: GroupScope): boolean {
  const { viewMasks, paths } = scope.access;
  const isMasked = [...viewMasks.keys()].some((id) => {
    const [named = '', name] = id.split(' ');
    return name === member.name && cubeAt(named) === member.cube;
  });
  return isMasked && !paths.some((named) => cubeAt(named) === member.cube && scope.locate(tree, named).path === path);
}
