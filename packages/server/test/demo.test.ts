// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholder of the script looks like one of a template
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { ensureDemoData } from '../src/installation/demo.ts';

const storefront = new URL('../../../examples/storefront/', import.meta.url);
const storefrontScript = fileURLToPath(new URL('generate.sql', storefront));

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

describe("the storefront's data", () => {
  const tables = ['merchants', 'customers', 'products', 'orders', 'order_items', 'refunds', 'shipments'];
  const at = (folder: string, table: string) => `'${join(folder, table).replaceAll("'", "''")}.parquet'`;
  const demo = () => inject('demoDataFolder');

  test('has the size and the span that it promises', async () => {
    const counts = await query(tables.map((table) => `select count(*) from ${at(demo(), table)}`).join(' union all '));
    const [merchants, customers, products, orders, items, refunds, shipments] = counts.flat().map(Number);
    expect([merchants, customers, products, orders]).toStrictEqual([40, 20_000, 1_200, 250_000]);
    expect(Math.abs((items ?? 0) - 600_000)).toBeLessThan(30_000);
    expect(refunds).toBeGreaterThan(5_000);
    expect(shipments).toBeGreaterThan(200_000);
    expect(
      await query(`select (select count(distinct category) from ${at(demo(), 'products')}),
        strftime(min(created_at), '%Y-%m-%d'), strftime(max(created_at), '%Y-%m-%d') from ${at(demo(), 'orders')}`),
    ).toStrictEqual([[14n, '2022-01-01', '2025-12-31']]);
  });

  test('has the figures that its README tells', async () => {
    const readme = (await readFile(fileURLToPath(new URL('README.md', storefront)), 'utf8')).replaceAll(
      /(?<=\d),(?=\d)/g,
      '',
    );
    for (const table of tables) {
      const [[count] = []] = await query(`select count(*) from ${at(demo(), table)}`);
      expect(readme).toContain(`| \`${table}\` | ${count} |`);
    }
    const sums = await query(`select sum(amount)::varchar, (sum(amount) filter (merchant_id = 7))::varchar,
      (sum(amount) filter (merchant_id = 8))::varchar from ${at(demo(), 'order_items')}`);
    const orders = await query(`select count(distinct order_id) from ${at(demo(), 'refunds')}`);
    for (const figure of [...sums.flat(), ...orders.flat()]) expect(readme).toContain(String(figure));
  });

  test('grows, has seasons, and differs from merchant to merchant', async () => {
    const years = await query(`select year(created_at) y, count(*) from ${at(demo(), 'orders')} group by y order by y`);
    const counts = years.map(([, count]) => Number(count));
    expect(counts).toStrictEqual(counts.toSorted((one, other) => one - other));
    const spread = `select max(n)::double / min(n) from (select count(*) n from ${at(demo(), 'orders')} group by`;
    const [[byMonth] = []] = await query(`${spread} month(created_at))`);
    const [[byWeekday] = []] = await query(`${spread} dayofweek(created_at))`);
    const [[byMerchant] = []] = await query(`${spread} merchant_id)`);
    expect(Number(byMonth)).toBeGreaterThan(1.3);
    expect(Number(byWeekday)).toBeGreaterThan(1.1);
    expect(Number(byMerchant)).toBeGreaterThan(5);
  });

  test('hangs together: every row belongs to one merchant, and so does what it refers to', async () => {
    const [merchants, customers, products, orders, items, refunds, shipments] = tables.map((table) =>
      at(demo(), table),
    );
    const orphans = [
      `${customers} c anti join ${merchants} m on m.id = c.merchant_id`,
      `${orders} o anti join ${customers} c on c.id = o.customer_id and c.merchant_id = o.merchant_id`,
      `${items} i anti join ${orders} o on o.id = i.order_id and o.merchant_id = i.merchant_id`,
      `${items} i anti join ${products} p on p.id = i.product_id and p.merchant_id = i.merchant_id`,
      `${refunds} r anti join ${orders} o on o.id = r.order_id and o.merchant_id = r.merchant_id`,
      `${shipments} s anti join ${orders} o on o.id = s.order_id and o.merchant_id = s.merchant_id`,
    ];
    for (const from of orphans) expect(await query(`select count(*) from ${from}`), from).toStrictEqual([[0n]]);
  });

  test('is the same wherever it is made', async () => {
    const again = join(parent, 'again');
    await ensureDemoData({ script: storefrontScript, folder: again });
    const sum = (folder: string, table: string) =>
      query(`select count(*), bit_xor(hash(t)) from ${at(folder, table)} t`);
    for (const table of tables) expect(await sum(again, table), table).toStrictEqual(await sum(demo(), table));
  });
});
