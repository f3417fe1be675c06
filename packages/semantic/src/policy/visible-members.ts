/**
 * Which members of a relation a user may name. That depends on the entries that are for the user, and on nothing else of the user, so
 * that it is worked out once for all users who have the same ones.
 */
import type { DataModel, Relation, RelationMember } from '../model/data-model.ts';
import type { Grant } from './entry-grants.ts';
import type { OwnerEntry, PolicyOwner } from './grants.ts';

/** `masked`: the user sees the mask in every row, as far as entries for this user tell. */
export type MemberAccess = 'full' | 'masked';

/** A member that a user may name. */
export interface VisibleMember {
  readonly member: RelationMember;
  readonly access: MemberAccess;
}

/** The members of a relation that a user may name, by name. */
export type VisibleMembers = ReadonlyMap<string, VisibleMember>;

/** The policies that decide about a relation, and what they came to for the users so far. */
interface Memory {
  readonly owners: readonly PolicyOwner[];
  readonly found: Map<string, VisibleMembers>;
}

/** Sets of entries that are kept per relation: there are few, save where conditions tell many users apart. */
const setsMax = 64;

const memories = new WeakMap<DataModel, WeakMap<Relation, Memory>>();

function memoryOf(model: DataModel, relation: Relation): Memory {
  const ofModel = memories.get(model) ?? new WeakMap<Relation, Memory>();
  memories.set(model, ofModel);
  const before = ofModel.get(relation);
  if (before !== undefined) return before;
  const cubes = new Set([...relation.members.values()].map(({ member }) => member.cube));
  const owners: PolicyOwner[] = [...cubes].flatMap((name) => model.cubes.get(name) ?? []);
  const memory = { owners: relation.type === 'view' ? [relation, ...owners] : owners, found: new Map() };
  ofModel.set(relation, memory);
  return memory;
}

/**
 * The members of a relation that a user may name.
 * @param grants the entries for the user of a cube's or view's policy
 * @param seesUnprotected whether what no policy protects is there for the user
 */
export function visibleMembers(
  relation: Relation,
  model: DataModel,
  grants: (owner: PolicyOwner) => readonly OwnerEntry[],
  seesUnprotected: boolean,
): VisibleMembers {
  const { owners, found } = memoryOf(model, relation);
  const key = `${seesUnprotected} ${owners.map((owner) => grants(owner).map(({ index }) => index)).join(';')}`;
  const before = found.get(key);
  if (before !== undefined) return before;
  const visible = new Map<string, VisibleMember>();
  for (const member of relation.members.values()) {
    const access = accessTo(member, relation, model, seesUnprotected, grants);
    if (access !== null) visible.set(member.name, { member, access });
  }
  if (found.size >= setsMax) found.clear();
  found.set(key, visible);
  return visible;
}

/** How a user may see a member; null: it does not exist for that user. Non-public members do not exist for anybody. */
function accessTo(
  member: RelationMember,
  relation: Relation,
  model: DataModel,
  seesUnprotected: boolean,
  grants: (owner: PolicyOwner) => readonly OwnerEntry[],
): MemberAccess | null {
  if (!relation.isPublic || !member.isPublic) return null;
  const cube = model.cubes.get(member.member.cube);
  if (cube === undefined) return null;
  // A cube that nobody may ask by its name is not asked by joining it either.
  if (relation.type === 'joined' && model.relations.get(cube.name)?.isPublic !== true) return null;
  const isOwnPolicy = relation.type === 'view' && relation.policy !== null;
  if (!isOwnPolicy && cube.policy === null) return seesUnprotected ? 'full' : null;
  const inView = isOwnPolicy ? best(grants(relation), member.name) : 'full';
  const inCube = cube.policy === null ? 'full' : best(grants(cube), member.member.name);
  if (inView === null || inCube === null) return null;
  return inView === 'masked' ? inView : inCube;
}

/** The most that any entry grants of a member. */
function best(entries: readonly OwnerEntry[], name: string): Grant {
  const granted = entries.map(({ grants }) => grants.of(name));
  return granted.includes('full') ? 'full' : granted.includes('masked') ? 'masked' : null;
}
