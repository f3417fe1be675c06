/** Random views over the cubes of a world: each cube by one path or two, members under other names or two names, one that extends the other. */
import type { Random } from '../random.ts';
import type { RelationPlace, WorldCube } from './world.ts';

/** A cube that a view picks members from, as the model file says it. */
export interface ViewCubeFile {
  readonly join_path: string;
  readonly includes: '*' | readonly (string | { readonly name: string; readonly alias: string })[];
  readonly excludes?: readonly string[];
  readonly prefix: true;
  readonly alias?: string;
}

/** A view. */
export interface WorldView {
  readonly name: string;
  /** The view that it extends; null: it stands by itself. */
  readonly base: string | null;
  /** What it picks itself. */
  readonly cubes: readonly ViewCubeFile[];
  /** Where its paths begin, those that it takes over included. */
  readonly roots: readonly string[];
  /** Its members by name, with those that it takes over. */
  readonly members: ReadonlyMap<string, RelationPlace>;
}

/** Two views; the second may extend the first. */
export function randomViews(cubes: readonly WorldCube[], random: Random): readonly WorldView[] {
  const first = randomView('v0', null, cubes, random);
  return [first, randomView('v1', random.below(5) === 0 ? first : null, cubes, random)];
}

/** Paths from one or two cubes along the joins; a cube that more than one leads to is picked by the first, and sometimes by a second. */
function randomView(name: string, base: WorldView | null, cubes: readonly WorldCube[], random: Random): WorldView {
  const members = new Map(base?.members);
  const prefixes = new Set([...members.keys()].map((it) => it.slice(0, it.indexOf('_'))));
  const files: ViewCubeFile[] = [];
  const seen = new Set<string>([...members.values()].map(({ cube }) => cube));
  const take = (path: readonly string[], cube: WorldCube): void => {
    const alias = seen.has(cube.name) || random.below(6) === 0 ? `${cube.name}p${prefixes.size}` : null;
    seen.add(cube.name);
    const file = randomPicks(path, cube, alias, random);
    prefixes.add(alias ?? cube.name);
    files.push(file);
    for (const [own, member] of pickedBy(file, cube)) {
      members.set(`${alias ?? cube.name}_${own}`, { cube: cube.name, member, path });
    }
  };
  const walk = (path: readonly string[]): void => {
    const cube = cubes.find((it) => it.name === path.at(-1));
    if (cube === undefined || files.length > 6) return;
    const isNew = ![...members.values()].some((it) => it.path.join() === path.join());
    // Now and then a cube only leads to others, and what it leads to is named by another way, or by none.
    const isTaken = members.size === 0 || (seen.has(cube.name) ? random.below(5) < 2 : random.below(6) > 0);
    if (isNew && isTaken) take(path, cube);
    for (const { target } of cube.edges) if (!path.includes(target) && random.below(5) > 0) walk([...path, target]);
  };
  const targets = new Set(cubes.flatMap(({ edges }) => edges.map(({ target }) => target)));
  const roots = cubes.filter((it) => !targets.has(it.name));
  const first = roots[random.below(roots.length)];
  const second = random.below(3) === 0 ? cubes[random.below(cubes.length)] : roots[random.below(roots.length)];
  walk([random.below(4) === 0 || first === undefined ? `c${random.below(cubes.length)}` : first.name]);
  if (second !== undefined && random.below(2) === 0) walk([second.name]);
  const begun = files.map(({ join_path }) => join_path.split('.')[0] ?? '');
  return { name, base: base?.name ?? null, cubes: files, roots: [...(base?.roots ?? []), ...begun], members };
}

/** All members, all but some, or some by name, of which a few have another name, or two. */
function randomPicks(path: readonly string[], cube: WorldCube, alias: string | null, random: Random): ViewCubeFile {
  const named = { join_path: path.join('.'), prefix: true, ...(alias === null ? {} : { alias }) } as const;
  const all = [...cube.members.keys()];
  const kind = random.below(4);
  if (kind > 1) return { ...named, includes: '*' };
  if (kind === 1) return { ...named, includes: '*', excludes: all.filter(() => random.below(8) === 0) };
  const includes = all.flatMap((name) => {
    const other = { name, alias: `${name}_too` };
    return [[name], [name], [name], [name, other], [other], []][random.below(6)] ?? [];
  });
  return { ...named, includes: includes.length === 0 ? ['id'] : includes };
}

/** The names that a view gives members of a cube, without the prefix, with their own. */
function pickedBy({ includes, excludes = [] }: ViewCubeFile, cube: WorldCube): readonly (readonly [string, string])[] {
  if (includes !== '*') {
    return includes.map((it) => (typeof it === 'string' ? ([it, it] as const) : ([it.alias, it.name] as const)));
  }
  return [...cube.members.keys()].filter((name) => !excludes.includes(name)).map((name) => [name, name] as const);
}
