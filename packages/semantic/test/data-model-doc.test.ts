/** The models that the reference shows load as they stand there, and it names every key of the format. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  cubeShape,
  dimensionShape,
  granularityShape,
  hierarchyShape,
  includedShape,
  joinShape,
  measureShape,
  segmentShape,
  viewCubeShape,
  viewShape,
} from '../src/model/shapes.ts';
import { issuesOf } from './load-model.ts';

const text = readFileSync(join(import.meta.dirname, '../../../docs/reference/data-model.md'), 'utf8');
const models = [...text.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, yaml = '']) => yaml);

describe('the models of the reference', () => {
  test('are all whole files', () => {
    expect(models.length).toBeGreaterThan(3);
    expect(models.filter((yaml) => !yaml.startsWith('cubes:'))).toEqual([]);
  });
  test.each(models)('%#', (yaml) => expect(issuesOf(yaml)).toEqual([]));
});

test.each(
  Object.entries({
    cubeShape,
    joinShape,
    dimensionShape,
    granularityShape,
    measureShape,
    segmentShape,
    hierarchyShape,
    viewShape,
    viewCubeShape,
    includedShape,
  }),
)('the reference names every key of %s', (_name, shape) => {
  const named = new Set([...text.matchAll(/`([^`\n]+)`/g)].flatMap(([, code = '']) => code.match(/[a-z_]+/g) ?? []));
  expect(Object.keys(shape.shape).filter((key) => !named.has(key))).toEqual([]);
});
