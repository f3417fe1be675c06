/** The policies of everything that one query reads: row filters and masks of cubes, and those of the view. */
import type { Cube, RelationMember } from '../model/data-model.ts';
import type { Rights, RowAccess } from '../policy/rights.ts';
import type { RowFilter } from '../policy/row-filter.ts';
import type { JoinForest } from './join-tree.ts';
import { type NodePath, pathOf } from './join-tree.ts';

/** The policies of one query. */
export interface QueryAccess {
  /** The rows and masks of a cube, for the members that the query takes from it. */
  cube(cube: Cube): RowAccess;
  /** The row filter of the view, on the joined row; null: none. */
  readonly viewFilter: RowFilter | null;
  /** The view's masks by path, a space, and the member's name in its cube: the rows in which the value is shown, or null: none. */
  readonly viewMasks: ReadonlyMap<string, RowFilter | null>;
  /** The paths that the view names: each is a part that the cube at its end plays. */
  readonly paths: readonly NodePath[];
  /** The member that a filter of the view names. */
  viewMember(name: string): RelationMember | undefined;
}

/**
 * The policies of a query.
 * @param taken the members that the query names
 * @param takenFrom those taken from each cube, by the cube's name
 */
export function queryAccess(
  forest: JoinForest,
  rights: Rights,
  taken: ReadonlyMap<string, RelationMember>,
  takenFrom: ReadonlyMap<string, ReadonlySet<string>>,
): QueryAccess {
  const { relation } = forest;
  const cubes = new Map<string, RowAccess>();
  const view: RowAccess =
    relation.type === 'view' ? rights.access(relation, new Set(taken.keys())) : { filter: null, masks: new Map() };
  const viewMasks = new Map<string, RowFilter | null>();
  for (const [name, rows] of view.masks) {
    const member = relation.members.get(name);
    if (member !== undefined) viewMasks.set(`${pathOf(member.path)} ${member.member.name}`, rows);
  }
  return {
    cube(cube) {
      const before = cubes.get(cube.name);
      if (before !== undefined) return before;
      const access = rights.access(cube, takenFrom.get(cube.name) ?? new Set());
      cubes.set(cube.name, access);
      return access;
    },
    viewFilter: view.filter,
    viewMasks,
    paths: relation.paths.map(pathOf),
    viewMember: (name) => relation.members.get(name),
  };
}
