/** Cubes and views that extend others: what they take over, and what they say anew. */
import { didYouMean } from './read-shape.ts';
import type { CubeSource, Item, Sources, ViewSource } from './read-sources.ts';

/** Extensions one after another. */
const stepsMax = 16;

/** All cubes and views with what they take over; those that extend something that is not there are left as they are. */
export function extendSources({ cubes, views, lost }: Sources): Sources {
  const foldCube = (source: CubeSource) => fold(source, { all: cubes, lost, what: 'cube', others: views }, mergeCubes);
  const foldView = (source: ViewSource) => fold(source, { all: views, lost, what: 'view', others: cubes }, mergeViews);
  return {
    cubes: new Map([...cubes].map(([name, source]) => [name, foldCube(source)])),
    views: new Map([...views].map(([name, source]) => [name, foldView(source)])),
    lost,
  };
}

type Extending = Item<{ readonly name: string; readonly extends?: string | undefined }>;

/** What can be extended. `others`: the views for a cube, the cubes for a view. */
interface Extendable<T> {
  readonly all: ReadonlyMap<string, T>;
  readonly lost: ReadonlySet<string>;
  readonly what: 'cube' | 'view';
  readonly others: ReadonlyMap<string, unknown>;
}

/** A source with everything that it extends, the farthest first. */
function fold<T extends Extending>(source: T, from: Extendable<T>, merge: (parent: T, child: T) => T): T {
  const { all, lost, what, others } = from;
  const chain = [source];
  for (let at = source; at.file.extends !== undefined; ) {
    const name = at.file.extends;
    const parent = all.get(name);
    if (parent === undefined) {
      if (at === source && !lost.has(name)) {
        const kind = what === 'cube' ? ': it is a view' : ': it is a cube';
        const hint = others.has(name) ? kind : didYouMean(name, all.keys());
        source.report.error(['extends'], `no ${what} "${name}" to extend${hint}`);
      }
      break;
    }
    if (chain.includes(parent) || chain.length > stepsMax) {
      const why = chain.includes(parent) ? 'extends itself' : `extends more than ${stepsMax} others, one after another`;
      source.report.error(['extends'], `${what} ${source.file.name} ${why}`);
      break;
    }
    chain.push(parent);
    at = parent;
  }
  return chain.reduceRight(merge);
}

function mergeCubes(parent: CubeSource, child: CubeSource): CubeSource {
  const joins = joinsToOthers(parent, child);
  const own = new Set([child.dimensions, child.measures, child.segments].flat().map(({ file }) => file.name));
  const { sql: _sql, sql_table: _table, ...withoutSource } = parent.file;
  // One source stands for the other: a cube with a query of its own has not the parent's table as well.
  const hasSource = child.file.sql !== undefined || child.file.sql_table !== undefined;
  return {
    file: { ...(hasSource ? withoutSource : parent.file), ...child.file },
    report: child.report,
    names: [...parent.names, ...child.names],
    joins: mergeNamed(joins, child.joins),
    dimensions: mergeNamed(parent.dimensions, child.dimensions, own),
    measures: mergeNamed(parent.measures, child.measures, own),
    segments: mergeNamed(parent.segments, child.segments, own),
    hierarchies: mergeNamed(parent.hierarchies, child.hierarchies),
    policy: mergePolicies(parent.policy, child.policy),
    lost: parent.lost.union(child.lost),
    hasUnknown: parent.hasUnknown || child.hasUnknown,
  };
}

/**
 * The parent's joins, without one to the child: employees that join their managers, who extend the employees. A manager is not joined to
 * itself then, and nothing that is taken over may read it as another.
 */
function joinsToOthers(parent: CubeSource, child: CubeSource): CubeSource['joins'] {
  const { name } = child.file;
  const joins = parent.joins.filter(({ file }) => file.name !== name);
  if (joins.length === parent.joins.length || child.joins.some(({ file }) => file.name === name)) return joins;
  const readsIt = new RegExp(`\\{\\s*${name}\\s*[.}]`);
  const own = new Set(
    [child.joins, child.dimensions, child.measures, child.segments].flat().map(({ file }) => file.name),
  );
  const reader = [joins, parent.dimensions, parent.measures, parent.segments]
    .flat()
    .find(({ file }) => !own.has(file.name) && textsIn(file).some((text) => readsIt.test(text)));
  if (reader === undefined) {
    const what = `the join to ${name} is not taken over: a cube does not join itself`;
    child.report.warn(['extends'], what);
  } else {
    const what = `cube ${name} would take over ${reader.file.name}, which reads {${name}} as another cube`;
    child.report.error(['extends'], `${what}: let both extend a third cube, without this and without the join`);
  }
  return joins;
}

const textsIn = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
};

function mergeViews(parent: ViewSource, child: ViewSource): ViewSource {
  return {
    file: { ...parent.file, ...child.file },
    report: child.report,
    names: [...parent.names, ...child.names],
    cubes: [...inherited(parent.cubes), ...child.cubes],
    folders: [...inherited(parent.folders), ...child.folders],
    policy: mergePolicies(parent.policy, child.policy),
    hasUnknown: parent.hasUnknown || child.hasUnknown,
  };
}

/** The parent's items, each replaced where the child has one of its name, then what else the child has. */
function mergeNamed<T extends { readonly name: string }>(
  parent: readonly Item<T>[],
  child: readonly Item<T>[],
  taken: ReadonlySet<string> = new Set(),
): readonly Item<T>[] {
  const own = new Map(child.map((item) => [item.file.name, item]));
  const replaced = parent.flatMap((item) => {
    const replacement = own.get(item.file.name);
    if (replacement !== undefined) return [replacement];
    return taken.has(item.file.name) ? [] : inherited([item]);
  });
  return [...replaced, ...child.filter((item) => !replaced.includes(item))];
}

/** Entries of both count: whom an extended policy admits, the extending one admits, too. */
function mergePolicies(
  parent: readonly Item<unknown>[] | null,
  child: readonly Item<unknown>[] | null,
): readonly Item<unknown>[] | null {
  if (parent === null) return child;
  return [...inherited(parent), ...(child ?? [])];
}

const inherited = <T>(items: readonly Item<T>[]): readonly Item<T>[] =>
  items.map(({ file, report }) => ({ file, report: report.inherited() }));
