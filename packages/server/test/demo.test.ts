// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholder of the script looks like one of a template
import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { ensureDemoData } from '../src/installation/demo.ts';

let parent: string;
let script: string;
beforeEach(async () => {
  // A quote in the path has to be doubled in the script.
  parent = await mkdtemp(join(tmpdir(), "inlay-o'demo-"));
  script = join(parent, 'generate.sql');
  await writeScript(42);
});
afterEach(async () => rm(parent, { recursive: true, force: true }));

const writeScript = (answer: number): Promise<void> =>
  writeFile(script, `create table t as select ${answer} as n; copy t to '\${dir}/t.parquet' (format parquet);`);

async function query(sql: string): Promise<unknown[][]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const result = await connection.runAndReadAll(sql);
  return result.getRows();
}

const answerIn = (folder: string) => query(`select n from '${folder.replaceAll("'", "''")}/t.parquet'`);

test('is made once per version of the script', async () => {
  const folder = join(parent, 'data', 'storefront');
  expect(await ensureDemoData({ script, folder })).toBe(true);
  expect(await answerIn(folder)).toStrictEqual([[42]]);
  const made = (await stat(join(folder, 't.parquet'))).ino;
  expect(await ensureDemoData({ script, folder })).toBe(false);
  expect((await stat(join(folder, 't.parquet'))).ino).toBe(made);
  await writeScript(43);
  expect(await ensureDemoData({ script, folder })).toBe(true);
  expect(await answerIn(folder)).toStrictEqual([[43]]);
  expect(await readdir(join(parent, 'data'))).toStrictEqual(['storefront']);
});

test('a script that fails leaves the earlier data', async () => {
  const folder = join(parent, 'storefront');
  await ensureDemoData({ script, folder });
  await writeFile(script, "copy (select 1 as n) to '${dir}/t.parquet' (format parquet); select no_such_function();");
  await expect(ensureDemoData({ script, folder })).rejects.toThrow('no_such_function');
  expect(await answerIn(folder)).toStrictEqual([[42]]);
  expect((await readdir(parent)).toSorted()).toStrictEqual(['generate.sql', 'storefront']);
});

test('what kills left behind is not used, and goes when it is old', async () => {
  const folder = join(parent, 'storefront');
  const [old, fresh] = [`${folder}.0123456789ab.new`, `${folder}.ba9876543210.old`];
  for (const leftover of [folder, old, fresh, `${folder}.mine`]) await mkdir(leftover);
  await utimes(old, 0, 0);
  expect(await ensureDemoData({ script, folder })).toBe(true);
  expect(await answerIn(folder)).toStrictEqual([[42]]);
  expect((await readdir(parent)).toSorted()).toStrictEqual([
    'generate.sql',
    'storefront',
    'storefront.ba9876543210.old',
    'storefront.mine',
  ]);
});

test('made by two at once it is whole', async () => {
  const folder = join(parent, 'storefront');
  await Promise.all([ensureDemoData({ script, folder }), ensureDemoData({ script, folder })]);
  expect(await answerIn(folder)).toStrictEqual([[42]]);
  expect((await readdir(parent)).toSorted()).toStrictEqual(['generate.sql', 'storefront']);
});

test("the storefront's data has the size that it promises", async () => {
  const folder = inject('demoDataFolder').replaceAll("'", "''");
  const tables = ['merchants', 'customers', 'products', 'orders'];
  const counts = await query(
    tables.map((table) => `select count(*) from '${folder}/${table}.parquet'`).join(' union all '),
  );
  expect(counts.flat()).toStrictEqual([40n, 20_000n, 1_200n, 250_000n]);
});
