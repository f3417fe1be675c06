/** Model files in, a checked data model out, or everything that is wrong with them, each with file, line and column. */
import { buildCube, nameMembers } from './build-cube.ts';
import { buildView, cubeRelation } from './build-view.ts';
import { warnOfJoins } from './check-joins.ts';
import { warnOfKeys } from './check-keys.ts';
import { warnOfNames } from './check-names.ts';
import { warnOfUnprotected } from './check-protection.ts';
import { checkReferences, reachOfMembers } from './check-references.ts';
import type { Cube, DataModel, Relation } from './data-model.ts';
import { extendSources } from './extend.ts';
import { type CubeNames, modelNames } from './names.ts';
import { readSources } from './read-sources.ts';
import { createIssues, type ModelIssue } from './report.ts';
import { declaredHierarchies } from './view-layout.ts';

export type { ModelIssue } from './report.ts';

/** One YAML file; `path` is only used in messages. */
export interface ModelFile {
  readonly path: string;
  readonly text: string;
}

/** A data model, or all that is wrong with it. Warnings are what loads, and is not what its author may think. */
export type LoadedModel =
  | { readonly dataModel: DataModel; readonly warnings: readonly ModelIssue[] }
  | { readonly issues: readonly ModelIssue[]; readonly warnings: readonly ModelIssue[] };

/**
 * Loads a data model. All issues of all files are found in one go, and what follows from one of them is not told again; a model
 * with issues is not returned. Never throws.
 */
export function loadDataModel(files: readonly ModelFile[]): LoadedModel {
  const issues = createIssues();
  const sources = extendSources(readSources(files, issues));
  const known = new Map<string, CubeNames>();
  for (const [name, source] of sources.cubes) {
    known.set(name, { members: nameMembers(source), lost: source.lost, hasUnknown: source.hasUnknown });
  }
  const names = modelNames(known, sources.lost, new Set(sources.views.keys()));

  const cubes = new Map<string, Cube>();
  // Those that extend come last, since what is wrong with a member is said where it is declared.
  const ordered = [...sources.cubes.values()].sort((one, other) => rank(one.file) - rank(other.file));
  const built = new Map(ordered.map((source) => [source.file.name, buildCube(source, names)]));
  for (const name of sources.cubes.keys()) {
    const cube = built.get(name);
    if (cube !== undefined) cubes.set(name, cube);
  }
  const reach = reachOfMembers(cubes);
  for (const source of ordered) {
    const cube = cubes.get(source.file.name);
    if (cube !== undefined) checkReferences(source, cube, cubes, reach);
  }

  const hierarchies = new Map([...sources.cubes].map(([name, source]) => [name, declaredHierarchies(source, names)]));
  const relations = new Map<string, Relation>();
  for (const [name, source] of sources.views) relations.set(name, buildView(source, cubes, names, hierarchies));
  for (const [name, source] of sources.cubes) {
    const cube = cubes.get(name);
    if (cube !== undefined) relations.set(name, cubeRelation(source, cube, hierarchies.get(name) ?? []));
  }
  const dataModel: DataModel = { cubes, relations };
  // What names something that does not load was left out, a row filter too: without an issue the model would be used without it.
  if (issues.count() === 0 && names.wasLost()) {
    const message = 'the model names something that does not load, and it is not known why';
    return { issues: [{ file: files[0]?.path ?? '', line: 1, column: 1, message }], warnings: [] };
  }
  if (issues.count() === 0) {
    warnOfUnprotected(dataModel, sources);
    warnOfJoins(dataModel, sources);
    warnOfKeys(dataModel, sources);
    warnOfNames(dataModel, sources);
  }
  const told = issues.sorted(files.map(({ path }) => path));
  return told.issues.length > 0 ? told : { dataModel, warnings: told.warnings };
}

const rank = (file: { readonly extends?: string | undefined }): number => (file.extends === undefined ? 0 : 1);
