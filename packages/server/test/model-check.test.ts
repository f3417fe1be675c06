/** `model check` on real folders: what it prints, and when it fails. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runModelCheck } from '../src/cli/model-check.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inlay-check-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function check(...args: readonly string[]) {
  const [out, said]: [string[], string[]] = [[], []];
  const isWell = await runModelCheck([folder, ...args], {
    out: (text) => void out.push(text),
    say: (text) => void said.push(text),
  });
  return { isWell, out, said };
}
const cube = (name: string, more: string): string => `cubes:\n  - name: ${name}\n    sql_table: t\n    ${more}\n`;
const policy = 'access_policy: [{ group: g }]';

test('a right model', async () => {
  await writeFile(join(folder, 'a.yml'), cube('a', policy));
  expect(await check('--strict')).toEqual({ isWell: true, out: [], said: ['0 errors, 0 warnings in 1 file.'] });
});

test('all that is wrong, in all files, with file, line and column', async () => {
  await mkdir(join(folder, 'more'));
  await writeFile(join(folder, 'a.yml'), cube('a', 'measures: [{ name: n, type: cuont }]'));
  await writeFile(join(folder, 'more/b.yaml'), cube('b', 'titel: B'));
  await writeFile(join(folder, 'c.yml'), 'cubes: [');
  const { isWell, out, said } = await check();
  expect(isWell).toBe(false);
  expect(out[0]).toBe(
    `${join(folder, 'a.yml')}:4:33: type has to be one of count, count_distinct, count_distinct_approx, sum, avg, min, max, number, number_agg, string, time, boolean, not "cuont"; did you mean "count"?`,
  );
  expect(out[1]).toMatch(/c\.yml:1:9: /);
  expect(out.at(-1)).toBe(`${join(folder, 'more/b.yaml')}:4:5: "titel" is not known here; did you mean "title"?`);
  expect(said).toEqual(['3 errors, 0 warnings in 3 files.']);
});

test('warnings are told, and count with --strict only', async () => {
  await writeFile(join(folder, 'a.yml'), cube('a', 'title: A'));
  await writeFile(join(folder, 'a.js'), 'cube(`x`, {})');
  const { isWell, out } = await check();
  expect(isWell).toBe(true);
  expect(out).toEqual([
    expect.stringMatching(/a\.yml:2:11: warning: cube a has no access_policy/),
    expect.stringMatching(/a\.js:1:1: warning: this file is not read/),
  ]);
  expect((await check('--strict')).isWell).toBe(false);
});

test('as JSON', async () => {
  await writeFile(join(folder, 'a.yml'), cube('a', 'joins: [{ name: b, relationship: many_to_one, sql: "true" }]'));
  const { isWell, out } = await check('--json');
  expect(isWell).toBe(false);
  expect(JSON.parse(out.join(''))).toEqual({
    files: 1,
    errors: [{ file: 'a.yml', line: 4, column: 21, message: expect.stringMatching(/^no cube "b" to join/) }],
    warnings: [],
  });
});

test("the agents' files in the folder are passed over", async () => {
  await mkdir(join(folder, 'agents'));
  await writeFile(join(folder, 'a.yml'), cube('a', policy));
  await writeFile(join(folder, 'agents/config.yml'), 'agents: []');
  expect((await check()).isWell).toBe(false);
  expect((await check('--agents', 'agents')).isWell).toBe(true);
});

test('no model, and wrong arguments', async () => {
  await expect(check()).rejects.toThrow(/no \*\.yml or \*\.yaml file/);
  await expect(runModelCheck([join(folder, 'nobody')], { out: () => undefined, say: () => undefined })).rejects.toThrow(
    /There is no folder/,
  );
  await expect(check('--colour')).rejects.toThrow(/model check --help/);
  await expect(check('another')).rejects.toThrow(/does not take another/);
});
