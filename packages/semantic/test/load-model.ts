/** Loading models in tests that are about loading. */
import type { DataModel } from '../src/model/data-model.ts';
import { loadDataModel } from '../src/model/load-data-model.ts';

/** The model of these files, `m0.yml`, `m1.yml` …; fails when there are issues. */
export function loadModel(...texts: readonly string[]): DataModel {
  const loaded = loadDataModel(texts.map((text, index) => ({ path: `m${index}.yml`, text })));
  if ('issues' in loaded)
    throw new Error(loaded.issues.map(({ line, column, message }) => `${line}:${column} ${message}`).join('\n'));
  return loaded.dataModel;
}

/** What is wrong with these files, each as `m0.yml:line:column message`. */
export function issuesOf(...texts: readonly string[]): readonly string[] {
  const loaded = loadDataModel(texts.map((text, index) => ({ path: `m${index}.yml`, text })));
  return 'issues' in loaded
    ? loaded.issues.map(({ file, line, column, message }) => `${file}:${line}:${column} ${message}`)
    : [];
}

/** What is warned of, each as `m0.yml:line:column message`. */
export function warningsOf(...texts: readonly string[]): readonly string[] {
  const loaded = loadDataModel(texts.map((text, index) => ({ path: `m${index}.yml`, text })));
  return loaded.warnings.map(({ file, line, column, message }) => `${file}:${line}:${column} ${message}`);
}

/** A file with one cube `t` of these lines, and cubes `more` behind it. */
export const cubeOf = (lines: readonly string[], ...more: readonly string[]): string =>
  [
    'cubes:',
    '  - name: t',
    '    sql_table: t',
    ...lines.map((line) => `    ${line}`),
    ...more.map((cube) => `  - ${cube}`),
  ].join('\n');
