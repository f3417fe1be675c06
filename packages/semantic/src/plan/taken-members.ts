/** Which members a query takes from each cube: those that it names, and what they read of other cubes. */
import type { CubeMember, DataModel, RelationMember } from '../model/data-model.ts';
import { directReads } from '../policy/member-reads.ts';

const known = new WeakMap<CubeMember, readonly CubeMember[]>();

/**
 * The members that are taken from each cube, by the cube's name. What a member reads of another cube than the one it stands in is
 * taken from that cube as if the query had named it; what joins, primary keys and row filters read is not.
 */
export function takenMembers(
  taken: Iterable<RelationMember>,
  model: DataModel,
): ReadonlyMap<string, ReadonlySet<string>> {
  const byCube = new Map<string, Set<string>>();
  const add = ({ cube, name }: CubeMember) => {
    const names = byCube.get(cube) ?? new Set();
    byCube.set(cube, names.add(name));
  };
  for (const { member } of taken) {
    add(member);
    for (const other of foreignReads(member, model)) add(other);
  }
  return byCube;
}

/** The members of other cubes that a member reads, and those they read in turn. A model never changes: looked up once. */
function foreignReads(member: CubeMember, model: DataModel): readonly CubeMember[] {
  const before = known.get(member);
  if (before !== undefined) return before;
  const found = new Set<CubeMember>();
  const seen = new Set([member]);
  for (const here of seen) {
    for (const read of directReads(here)) {
      const next = model.cubes.get(read.cube)?.members.get(read.member);
      if (next === undefined) continue;
      if (next.cube !== here.cube) found.add(next);
      seen.add(next);
    }
  }
  known.set(member, [...found]);
  return [...found];
}
