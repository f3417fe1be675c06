/** Builds the relations that queries name: views from their YAML, and each cube as a relation of its own. */
import { filterTypeOf } from './build-cube.ts';
import { buildPolicy } from './build-policy.ts';
import type { Cube, MemberType, Relation, RelationMember } from './data-model.ts';
import { synonymsOf } from './meta.ts';
import type { ModelNames } from './names.ts';
import { didYouMean, readShape } from './read-shape.ts';
import type { CubeSource, ViewSource } from './read-sources.ts';
import { relationMember } from './relation-member.ts';
import type { Reporter } from './report.ts';
import {
  type CubeFile,
  type IncludedFile,
  includedShape,
  nameCharactersMax,
  type ViewCubeFile,
  type ViewFile,
} from './shapes.ts';
import { titleFromName } from './title.ts';
import { buildFolders, type CubeHierarchy, cubeHierarchies, viewHierarchies } from './view-layout.ts';

/** The hierarchies that cubes declare, by cube. */
export type HierarchiesOf = ReadonlyMap<string, readonly CubeHierarchy[]>;

const describe = (file: CubeFile | ViewFile): Pick<Relation, 'title' | 'description' | 'isPublic' | 'meta'> => ({
  title: file.title ?? titleFromName(file.name),
  description: file.description ?? '',
  isPublic: file.public ?? file.shown ?? true,
  meta: file.meta ?? {},
});

/** A cube as a relation: its own members, the cube as root. */
export function cubeRelation(
  { file, report }: CubeSource,
  cube: Cube,
  hierarchies: readonly CubeHierarchy[],
): Relation {
  return {
    name: cube.name,
    type: 'cube',
    ...describe(file),
    synonyms: synonymsOf(file.meta, report.inherited()),
    rootCube: cube.name,
    paths: [[cube.name]],
    members: new Map([...cube.members.values()].map((member) => [member.name, relationMember(member, [cube.name])])),
    hierarchies: cubeHierarchies(cube.name, hierarchies),
    folders: [],
    policy: cube.policy,
  };
}

/** Builds a view. What is wrong is reported; the view returned is then incomplete and must not be used. */
export function buildView(
  source: ViewSource,
  cubes: ReadonlyMap<string, Cube>,
  names: ModelNames,
  hierarchies: HierarchiesOf,
): Relation {
  const { file, report } = source;
  const members = new Map<string, RelationMember>();
  const paths = source.cubes.map((entry) => entry.file.join_path.split('.'));
  if (source.cubes.length === 0 && !source.hasUnknown) report.error([], `view ${file.name} needs cubes, one at least`);
  let isWhole = !source.hasUnknown;
  const taken: TakenHierarchy[] = [];
  for (const [index, entry] of source.cubes.entries()) {
    const path = paths[index] ?? [];
    const cube = resolvePath(path, cubes, names, (message) => entry.report.error(['join_path'], message));
    if (cube === null) isWhole = false;
    else {
      const own = hierarchies.get(cube.name) ?? [];
      const found = takeMembers(entry.file, path, cube, own, members, names, entry.report);
      isWhole &&= found.isWhole;
      taken.push(...found.hierarchies);
    }
  }
  const dimensions = new Map<string, MemberType | null>();
  for (const it of members.values()) {
    if (it.member.kind === 'dimension') dimensions.set(it.name, filterTypeOf(it.member));
  }
  const isLost = (): boolean => !isWhole;
  const built = viewHierarchies(taken, members);
  return {
    name: file.name,
    type: 'view',
    ...describe(file),
    synonyms: synonymsOf(file.meta, report),
    rootCube: paths[0]?.[0] ?? '',
    paths,
    members,
    hierarchies: built,
    folders: buildFolders(source.folders, { members, hierarchies: built, isLost }),
    policy: buildPolicy(
      source.policy,
      { names: source.names, dimensions, members: new Set(members.keys()), isLost },
      report,
    ),
  };
}

/** The cube at the end of a join path, when every step of the path is a declared join. */
function resolvePath(
  path: readonly string[],
  cubes: ReadonlyMap<string, Cube>,
  names: ModelNames,
  report: (message: string) => void,
): Cube | null {
  const [first = '', ...steps] = path;
  let cube = cubes.get(first);
  if (cube === undefined && names.cube(first) === 'missing')
    report(`no cube "${first}"${names.suggest(first, names.cubes())}`);
  for (const step of steps) {
    const isJoined: boolean = cube?.joins.has(step) === true;
    if (cube !== undefined && !isJoined && names.cube(step) !== 'lost' && names.member(cube.name, step) !== 'lost') {
      const [there, missing] = [true, false].map((isThere) =>
        [...(cube?.joins.keys() ?? [])].filter((it) => (names.cube(it) === 'there') === isThere),
      );
      // It may mean a join to a cube that is not there, which was reported.
      if (didYouMean(step, missing ?? []) === '')
        report(`cube ${cube.name} declares no join to "${step}"${names.suggest(step, there ?? [])}`);
    }
    cube = isJoined ? cubes.get(step) : undefined;
  }
  return cube ?? null;
}

/** A hierarchy that a view takes over. */
export interface TakenHierarchy {
  readonly hierarchy: CubeHierarchy;
  /** Its name in the view. */
  readonly name: string;
  readonly title: string;
}

function takeMembers(
  entry: ViewCubeFile,
  path: readonly string[],
  cube: Cube,
  hierarchies: readonly CubeHierarchy[],
  members: Map<string, RelationMember>,
  names: ModelNames,
  report: Reporter,
): { readonly hierarchies: readonly TakenHierarchy[]; readonly isWhole: boolean } {
  let isWhole = true;
  const nameIn = (name: string): string => (entry.prefix === true ? `${entry.alias ?? cube.name}_${name}` : name);
  const candidates = [...names.membersOf(cube.name), ...hierarchies.map(({ name }) => name)];
  const miss = (name: string, where: (string | number)[]): void => {
    // One that does not load was reported where it is declared.
    if (names.member(cube.name, name) === 'missing') {
      report.error(where, `no member "${name}" in cube ${cube.name}${didYouMean(name, candidates)}`);
    } else isWhole = false;
  };
  const excludes = entry.excludes === '*' || entry.excludes === undefined ? [] : entry.excludes;
  if (entry.excludes === '*') report.error(['excludes'], 'excludes: "*" leaves nothing: leave the cube out instead');
  for (const [index, name] of excludes.entries()) {
    if (!candidates.includes(name)) miss(name, ['excludes', index]);
  }
  const isAll = entry.includes === '*';
  const included: readonly (IncludedFile | null)[] = isAll
    ? [...cube.members.values(), ...hierarchies].filter(({ isPublic }) => isPublic).map(({ name }) => ({ name }))
    : includedOf(entry.includes, report);
  const taken: TakenHierarchy[] = [];
  for (const [index, item] of included.entries()) {
    if (item === null) {
      isWhole = false;
      continue;
    }
    if (excludes.includes(item.name)) continue;
    const place = isAll ? ['includes'] : ['includes', index];
    const member = cube.members.get(item.name);
    const hierarchy = hierarchies.find(({ name }) => name === item.name);
    const name = nameIn(item.alias ?? item.name);
    if (member === undefined && hierarchy !== undefined) {
      taken.push({ hierarchy, name, title: item.title ?? hierarchy.title });
      continue;
    }
    if (member === undefined) {
      miss(item.name, place);
      continue;
    }
    if (name.length > nameCharactersMax)
      report.error(place, `the name ${name} is longer than ${nameCharactersMax} characters`);
    if (members.has(name)) report.error(place, `the view has two members named ${name}; give one an alias or a prefix`);
    members.set(name, {
      name,
      title: item.title ?? member.title,
      description: item.description ?? member.description,
      synonyms: item.meta === undefined ? member.synonyms : synonymsOf(item.meta, report.under(...place)),
      format: item.format ?? member.format,
      isPublic: true,
      meta: item.meta ?? member.meta,
      path,
      member,
    });
  }
  // Whoever names a hierarchy takes its levels with it.
  for (const { hierarchy } of isAll ? [] : taken) {
    for (const level of hierarchy.levels) {
      const member = level.cube === cube.name ? cube.members.get(level.member) : undefined;
      const name = nameIn(level.member);
      const isThere = [...members.values()].some((it) => it.member === member && it.path.join() === path.join());
      if (member === undefined || isThere || members.has(name) || excludes.includes(level.member)) continue;
      members.set(name, { ...relationMember(member, path), name, isPublic: true });
    }
  }
  return { hierarchies: taken, isWhole };
}

/** The items of a list `includes`; null: one that is wrong, which was reported. */
function includedOf(list: readonly unknown[] | '*', report: Reporter): readonly (IncludedFile | null)[] {
  return (list === '*' ? [] : list).map((item, index) => {
    if (typeof item === 'string' && !item.includes('.')) return { name: item };
    const here = report.under('includes', index);
    if (typeof item === 'string') {
      here.error([], `"${item}" is a path: name the member alone, and its cube by join_path`);
      return null;
    }
    return readShape(includedShape, item, here, 'member of a view');
  });
}
