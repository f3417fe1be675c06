/** Files → cubes and views as written, item by item: one that is broken hides no other. Nothing is looked up yet. */
import type { z } from 'zod';
import { didYouMean, readShape } from './read-shape.ts';
import type { Issues, Reporter } from './report.ts';
import {
  type CubeFile,
  cubeShape,
  type DimensionFile,
  dimensionShape,
  type HierarchyFile,
  hierarchyShape,
  type JoinFile,
  joinShape,
  type MeasureFile,
  measureShape,
  type SegmentFile,
  segmentShape,
  type ViewCubeFile,
  type ViewFile,
  viewCubeShape,
  viewShape,
} from './shapes.ts';
import { isRecord, readYaml } from './yaml-source.ts';

/** Something as written, and who tells what is wrong with it. */
export interface Item<T> {
  readonly file: T;
  readonly report: Reporter;
}

/** A cube as written. */
export interface CubeSource extends Item<CubeFile> {
  /** Its name, and those of the cubes that it extends: by all of them what it takes over may name it. */
  readonly names: readonly string[];
  readonly joins: readonly Item<JoinFile>[];
  readonly dimensions: readonly Item<DimensionFile>[];
  readonly measures: readonly Item<MeasureFile>[];
  readonly segments: readonly Item<SegmentFile>[];
  readonly hierarchies: readonly Item<HierarchyFile>[];
  /** Null: it says nothing of a policy. */
  readonly policy: readonly Item<unknown>[] | null;
  /** Members, joins and the like that do not load, as far as their names are known. */
  readonly lost: ReadonlySet<string>;
  readonly hasUnknown: boolean;
}

/** A view as written. */
export interface ViewSource extends Item<ViewFile> {
  /** As of a cube. */
  readonly names: readonly string[];
  readonly cubes: readonly Item<ViewCubeFile>[];
  readonly folders: readonly Item<unknown>[];
  readonly policy: readonly Item<unknown>[] | null;
  readonly hasUnknown: boolean;
}

/** Everything that the files of a model say. */
export interface Sources {
  readonly cubes: ReadonlyMap<string, CubeSource>;
  readonly views: ReadonlyMap<string, ViewSource>;
  /** Names that what does not load seems to declare. */
  readonly lost: ReadonlySet<string>;
}

/** Reads all files; what is wrong goes to `issues`. */
export function readSources(
  files: readonly { readonly path: string; readonly text: string }[],
  issues: Issues,
): Sources {
  const cubes = new Map<string, CubeSource>();
  const views = new Map<string, ViewSource>();
  const lost = new Set<string>();
  // Warehouses do not tell names apart by case alone.
  const taken = new Set<string>();

  const add = <T extends Item<{ readonly name: string }>>(all: Map<string, T>, source: T): boolean => {
    const { name } = source.file;
    const isTaken = taken.has(name.toLowerCase());
    if (isTaken) source.report.error(['name'], `the name ${name} is taken by another cube or view`);
    else all.set(name, source);
    taken.add(name.toLowerCase());
    return !isTaken;
  };

  for (const { path, text } of files) {
    const source = readYaml(path, text, issues);
    if (source === null) {
      for (const [, name = ''] of text.matchAll(/\bname:\s*["']?([A-Za-z_]\w*)/g)) lost.add(name);
      continue;
    }
    const { value, report } = source;
    if (value === null) continue;
    if (!isRecord(value)) {
      report.error([], 'a file has to hold a list cubes, a list views, or both');
      continue;
    }
    for (const key of Object.keys(value)) {
      if (key === 'cubes' || key === 'views') continue;
      if (key === 'view_groups') {
        report.warn([key], '"view_groups" is ignored: views are not put into groups here', 'key');
        continue;
      }
      report.error(
        [key],
        `"${key}" is not known here: a file holds cubes and views${didYouMean(key, ['cubes', 'views'])}`,
        'key',
      );
    }
    /** @param read whether the item loads */
    const each = (key: 'cubes' | 'views', read: (item: unknown, here: Reporter) => boolean): void => {
      const list = Object.hasOwn(value, key) ? value[key] : null;
      if (list === null) return;
      if (!Array.isArray(list)) {
        report.error([key], `${key} has to be a list`);
        return;
      }
      for (const [index, item] of list.entries()) {
        const isRead = read(item, report.under(key, index));
        const name = nameOf(item);
        if (!isRead && name !== null) lost.add(name);
      }
    };
    each('cubes', (item, here) => {
      const cube = readCube(item, here);
      return cube !== null && add(cubes, cube);
    });
    each('views', (item, here) => {
      const view = readView(item, here);
      return view !== null && add(views, view);
    });
  }
  return { cubes, views, lost };
}

function readCube(item: unknown, report: Reporter): CubeSource | null {
  const file = readShape(cubeShape, item, report, 'cube');
  if (file === null) {
    // Its members are still looked at, so that all that is wrong is told at once.
    if (isRecord(item)) {
      for (const [key, [shape, what]] of Object.entries(cubeLists)) {
        const list = Object.hasOwn(item, key) ? item[key] : undefined;
        if (Array.isArray(list)) readItems(shape, list, report.under(key), what);
      }
    }
    return null;
  }
  const joins = readItems(joinShape, file.joins, report.under('joins'), 'join');
  const dimensions = readItems(dimensionShape, file.dimensions, report.under('dimensions'), 'dimension');
  const measures = readItems(measureShape, file.measures, report.under('measures'), 'measure');
  const segments = readItems(segmentShape, file.segments, report.under('segments'), 'segment');
  const hierarchies = readItems(hierarchyShape, file.hierarchies, report.under('hierarchies'), 'hierarchy');
  const all = [joins, dimensions, measures, segments, hierarchies];
  return {
    file,
    report,
    names: [file.name],
    joins: joins.items,
    dimensions: dimensions.items,
    measures: measures.items,
    segments: segments.items,
    hierarchies: hierarchies.items,
    policy: rawItems(file.access_policy, report.under('access_policy')),
    lost: new Set(all.flatMap(({ lost }) => lost)),
    hasUnknown: all.some(({ hasUnknown }) => hasUnknown),
  };
}

const cubeLists = {
  joins: [joinShape, 'join'],
  dimensions: [dimensionShape, 'dimension'],
  measures: [measureShape, 'measure'],
  segments: [segmentShape, 'segment'],
  hierarchies: [hierarchyShape, 'hierarchy'],
} as const;

/** What a view of older versions of this format held itself. */
const oldViewKeys = ['includes', 'measures', 'dimensions', 'segments', 'joins'];

function readView(item: unknown, report: Reporter): ViewSource | null {
  const old = isRecord(item) ? oldViewKeys.filter((key) => Object.hasOwn(item, key)) : [];
  for (const key of old) {
    report.error([key], `a view has no ${key}: it takes members from cubes, in the includes of its list cubes`, 'key');
  }
  const rest = isRecord(item) ? Object.fromEntries(Object.entries(item).filter(([key]) => !old.includes(key))) : item;
  const file = readShape(viewShape, rest, report, 'view');
  if (file === null || old.length > 0) return null;
  const cubes = readItems(viewCubeShape, file.cubes, report.under('cubes'), 'cube of a view');
  return {
    file,
    report,
    names: [file.name],
    cubes: cubes.items,
    folders: rawItems(file.folders, report.under('folders')) ?? [],
    policy: rawItems(file.access_policy, report.under('access_policy')),
    hasUnknown: cubes.hasBroken,
  };
}

/** The items of a list that load, and the names of those that do not. */
function readItems<T extends z.ZodObject>(
  shape: T,
  list: readonly unknown[] | undefined,
  report: Reporter,
  what: string,
): {
  readonly items: readonly Item<z.output<T>>[];
  readonly lost: readonly string[];
  readonly hasUnknown: boolean;
  readonly hasBroken: boolean;
} {
  const items: Item<z.output<T>>[] = [];
  const lost: string[] = [];
  let hasUnknown = false;
  let hasBroken = false;
  for (const [index, value] of (list ?? []).entries()) {
    const here = report.under(index);
    const file = readShape(shape, value, here, what);
    if (file !== null) items.push({ file, report: here });
    else {
      const name = nameOf(value);
      hasBroken = true;
      if (name === null) hasUnknown = true;
      else lost.push(name);
    }
  }
  return { items, lost, hasUnknown, hasBroken };
}

const rawItems = (list: readonly unknown[] | undefined, report: Reporter): readonly Item<unknown>[] | null =>
  list?.map((file, index) => ({ file, report: report.under(index) })) ?? null;

const nameOf = (item: unknown): string | null =>
  isRecord(item) && typeof item['name'] === 'string' ? item['name'] : null;
