/** Model files in, a checked data model out, or everything that is wrong with them, each with file, line and column. */
import { LineCounter, parseDocument } from 'yaml';
import { buildCube, type CubeNames } from './build-cube.ts';
import { buildView, cubeRelation } from './build-view.ts';
import { checkReferences, reachOfMembers } from './check-references.ts';
import type { Cube, DataModel, Relation } from './data-model.ts';
import { type CubeFile, modelFileSchema, type ViewFile } from './model-file.ts';
import { type Report, reportUnder } from './report.ts';

/** One YAML file; `path` is only used in messages. */
export interface ModelFile {
  readonly path: string;
  readonly text: string;
}

/** Something wrong in a model file. Line and column count from 1. */
export interface ModelIssue {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

interface Entry<T> {
  readonly file: T;
  readonly report: Report;
}

/** Loads a data model. All issues are found in one go; a model with issues is not returned. */
export function loadDataModel(files: readonly ModelFile[]): DataModel | { readonly issues: readonly ModelIssue[] } {
  const issues: ModelIssue[] = [];
  const cubeEntries = new Map<string, Entry<CubeFile>>();
  // Warehouses do not tell names apart by case alone.
  const namesTaken = new Set<string>();
  const viewEntries = new Map<string, Entry<ViewFile>>();

  for (const file of files) {
    const parsed = parseModelFile(file, issues);
    if (parsed === null) continue;
    const add = <T extends { name: string }>(entries: Map<string, Entry<T>>, key: string, list: readonly T[]) => {
      for (const [index, item] of list.entries()) {
        const report = reportUnder(parsed.report, key, index);
        if (namesTaken.has(item.name.toLowerCase())) {
          report(['name'], `the name ${item.name} is taken by another cube or view`);
        } else entries.set(item.name, { file: item, report });
        namesTaken.add(item.name.toLowerCase());
      }
    };
    add(cubeEntries, 'cubes', parsed.content.cubes ?? []);
    add(viewEntries, 'views', parsed.content.views ?? []);
  }

  const names: CubeNames = new Map(
    [...cubeEntries].map(([name, { file }]) => [
      name,
      new Set([...(file.dimensions ?? []), ...(file.measures ?? [])].map((member) => member.name)),
    ]),
  );
  const cubes = new Map<string, Cube>();
  const relations = new Map<string, Relation>();
  for (const { file, report } of cubeEntries.values()) cubes.set(file.name, buildCube(file, names, report));
  const reach = reachOfMembers(cubes);
  for (const { file, report } of cubeEntries.values()) checkReferences(file, cubes, reach, report);
  for (const { file, report } of viewEntries.values()) relations.set(file.name, buildView(file, cubes, report));
  for (const { file } of cubeEntries.values()) {
    const cube = cubes.get(file.name);
    if (cube !== undefined) relations.set(file.name, cubeRelation(file, cube));
  }
  return issues.length > 0 ? { issues } : { cubes, relations };
}

function parseModelFile(file: ModelFile, issues: ModelIssue[]) {
  const lines = new LineCounter();
  const document = parseDocument(file.text, { lineCounter: lines });
  const push = (offset: number, message: string) => {
    const { line, col } = lines.linePos(offset);
    issues.push({ file: file.path, line, column: col, message });
  };
  for (const error of document.errors) push(error.pos[0], error.message.split('\n')[0] ?? 'not YAML');
  if (document.errors.length > 0) return null;

  /** The nearest place in the file to a path: the node itself, or else the nearest one that exists above it. */
  const report: Report = (path, message) => {
    for (let length = path.length; length >= 0; length -= 1) {
      const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
      if (isRanged(node)) return push(node.range[0], message);
    }
    push(0, message);
  };
  // A YAML alias can stand for a huge tree; the limit makes a bomb an error.
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 });
  } catch {
    report([], 'too many YAML aliases');
    return null;
  }
  const result = modelFileSchema.safeParse(value ?? {});
  if (result.success) return { content: result.data, report };
  for (const issue of result.error.issues) {
    const path = issue.path.filter((key) => typeof key !== 'symbol');
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) report([...path, key], `"${key}" is not known here, or not supported`);
    } else report(path, `${path.join('.')}: ${issue.message}`);
  }
  return null;
}

function isRanged(node: unknown): node is { range: [number, number, number] } {
  return typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range);
}
