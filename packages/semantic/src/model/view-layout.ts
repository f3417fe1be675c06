/** How members are shown together: the hierarchies of cubes and views, and the folders of views. */
import type { TakenHierarchy } from './build-view.ts';
import type { DimensionReference, Folder, Hierarchy, RelationMember } from './data-model.ts';
import { fragmentsOf } from './fragments.ts';
import type { ModelNames } from './names.ts';
import { didYouMean, readShape } from './read-shape.ts';
import type { CubeSource, Item } from './read-sources.ts';
import type { Reporter } from './report.ts';
import { folderPathShape, folderShape } from './shapes.ts';
import { titleFromName } from './title.ts';
import { isRecord } from './yaml-source.ts';

/** A hierarchy as its cube declares it; levels may be dimensions of other cubes. */
export interface CubeHierarchy {
  readonly name: string;
  readonly title: string;
  readonly isPublic: boolean;
  readonly levels: readonly DimensionReference[];
}

/** The hierarchies that a cube declares. What is wrong is reported. */
export function declaredHierarchies(source: CubeSource, names: ModelNames): readonly CubeHierarchy[] {
  const cube = source.file.name;
  const taken = new Set<string>();
  return source.hierarchies.map(({ file, report }) => {
    const { name } = file;
    if (taken.has(name)) report.error(['name'], `cube ${cube} has two hierarchies named ${name}`);
    if (names.find(cube, name) !== undefined) report.error(['name'], `cube ${cube} has a member named ${name}`);
    taken.add(name);
    const levels = fragmentsOf(cube, `hierarchy ${name}`, names, report).dimensions(file.levels, ['levels']);
    return { name, title: file.title ?? titleFromName(name), isPublic: file.public ?? true, levels };
  });
}

/** The hierarchies of a cube by itself: levels of other cubes are left out. */
export function cubeHierarchies(cube: string, hierarchies: readonly CubeHierarchy[]): readonly Hierarchy[] {
  return hierarchies.flatMap(({ name, title, isPublic, levels }) => {
    const own = levels.filter((level) => level.cube === cube).map(({ member }) => member);
    return isPublic && own.length > 0 ? [{ name, title, levels: own }] : [];
  });
}

/** The hierarchies of a view: the levels that the view has, under its names. One without any is left out. */
export function viewHierarchies(
  taken: readonly TakenHierarchy[],
  members: ReadonlyMap<string, RelationMember>,
): readonly Hierarchy[] {
  const names = new Map<string, string>();
  for (const { name, member } of members.values()) {
    const id = `${member.cube}.${member.name}`;
    if (!names.has(id)) names.set(id, name);
  }
  return taken.flatMap(({ hierarchy, name, title }) => {
    const levels = hierarchy.levels.flatMap(({ cube, member }) => names.get(`${cube}.${member}`) ?? []);
    return levels.length === 0 ? [] : [{ name, title, levels }];
  });
}

/** What the folders of a view may name. */
export interface FolderScope {
  readonly members: ReadonlyMap<string, RelationMember>;
  readonly hierarchies: readonly Hierarchy[];
  readonly isLost: (name: string) => boolean;
}

/** The folders of a view. What is wrong is reported, and left out. */
export function buildFolders(items: readonly Item<unknown>[], scope: FolderScope): readonly Folder[] {
  return items.flatMap(({ file, report }): Folder[] => {
    const folder = readShape(folderShape, file, report, 'folder');
    if (folder === null) return [];
    if (folder.includes === '*') return [{ name: folder.name, members: [...scope.members.keys()] }];
    const members = folder.includes.flatMap((item, index): readonly (string | Folder)[] => {
      const here = report.under('includes', index);
      if (isRecord(item) && Object.hasOwn(item, 'join_path')) return membersOfPath(item, here, scope);
      if (typeof item !== 'string') return buildFolders([{ file: item, report: here }], scope);
      if (scope.members.has(item)) return [item];
      // A hierarchy shows its levels by itself.
      if (!scope.hierarchies.some(({ name }) => name === item) && !scope.isLost(item)) {
        report.error(['includes', index], `no member "${item}" in this view${didYouMean(item, scope.members.keys())}`);
      }
      return [];
    });
    return [{ name: folder.name, members }];
  });
}

/** The members that a view takes by a path: `{ join_path: orders.customers }`. */
function membersOfPath(item: unknown, report: Reporter, scope: FolderScope): readonly string[] {
  const file = readShape(folderPathShape, item, report, 'path in a folder');
  if (file === null) return [];
  const found = [...scope.members.values()].filter(({ path }) => path.join('.') === file.join_path);
  if (found.length === 0 && !scope.isLost(file.join_path))
    report.error(['join_path'], `the view takes no members by the path ${file.join_path}`);
  return found.map(({ name }) => name);
}
