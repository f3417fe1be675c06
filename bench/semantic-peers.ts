/**
 * One question over the same million rows, made into SQL by Inlay, by a peer and by hand: time to make the SQL, and to run it on the
 * same engine. drizzle-cube on PostgreSQL, Malloy on DuckDB; both installed for the run, from their registry.
 */
import { spawnSync } from 'node:child_process';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { Client } from 'pg';
import { z } from 'zod';
import { compileSql } from '../packages/semantic/src/compile-sql.ts';
import type { Dialect } from '../packages/semantic/src/dialects/dialect.ts';
import { duckdb } from '../packages/semantic/src/dialects/duckdb.ts';
import { postgres } from '../packages/semantic/src/dialects/postgres.ts';
import type { DataModel } from '../packages/semantic/src/model/data-model.ts';
import { loadDataModel } from '../packages/semantic/src/model/load-data-model.ts';
import type { Subject } from '../packages/semantic/src/policy/subject.ts';
import { startPostgres } from '../packages/server/test/postgres.ts';
import { installPeer, type Versions } from './install-peer.ts';
import { type Figure, median, ms } from './report.ts';

const rows = 1_000_000;
const rounds = 15;
const compileRounds = 200;
const peerMs = 120_000;

const yaml = `
cubes:
  - name: orders
    sql_table: orders
    joins: [{ name: customers, relationship: many_to_one, sql: "{CUBE}.customer_id = {customers}.id" }]
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: tenant, sql: tenant, type: number }
    measures:
      - { name: revenue, sql: amount, type: sum }
      - { name: orders_count, type: count }
    access_policy: &tenant
      - group: tenant
        row_level: { filters: [{ member: tenant, operator: equals, values: ["{ userAttributes.tenant }"] }] }
  - name: customers
    sql_table: customers
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: tenant, sql: tenant, type: number }
      - { name: city, sql: city, type: string }
    access_policy: *tenant
views:
  - name: sales
    cubes:
      - { join_path: orders, includes: [revenue, orders_count] }
      - { join_path: orders.customers, includes: [city] }
`;
const question =
  'SELECT city, MEASURE(revenue) AS revenue, MEASURE(orders_count) AS orders_count FROM sales GROUP BY city ORDER BY 2 DESC';
const subject: Subject = {
  groups: ['tenant'],
  userAttributes: { tenant: 3 },
  securityContext: {},
  embedTenantName: null,
  isEmbedTenantScope: false,
  seesUnprotected: false,
};
const byHand = `SELECT c.city, sum(o.amount) AS revenue, count(*) AS orders_count FROM orders o
  LEFT JOIN customers c ON c.id = o.customer_id AND c.tenant = 3 WHERE o.tenant = 3 GROUP BY 1 ORDER BY 2 DESC`;

/** The same rows on both engines. Both know `range` and `generate_series` by other names, so the rows are made of one. */
const tables = (series: (name: string, count: number) => string): readonly string[] => [
  'CREATE TABLE orders (id INTEGER PRIMARY KEY, tenant INTEGER, customer_id INTEGER, amount DOUBLE PRECISION)',
  `INSERT INTO orders SELECT i, i % 7, (i * 13) % 20000, (i * 37 % 1000) / 4.0 FROM ${series('i', rows)}`,
  'CREATE TABLE customers (id INTEGER PRIMARY KEY, tenant INTEGER, city VARCHAR)',
  `INSERT INTO customers SELECT i, i % 7, 'city ' || (i % 50) FROM ${series('i', 20_000)}`,
];

/** Some SQL with its values, and how long it took to make, in milliseconds. */
const madeSchema = z.object({
  sql: z.string(),
  parameters: z.array(z.union([z.string(), z.number()])),
  compileMs: z.number(),
});
type Made = z.infer<typeof madeSchema>;

/** Runs SQL to the end. @returns its rows, with numbers as numbers */
type Run = (made: Pick<Made, 'sql' | 'parameters'>) => Promise<unknown[][]>;

interface Peer {
  readonly name: string;
  readonly program: string;
  readonly versions: Versions;
  readonly overrides: Versions;
}

/** Our time beside a peer's and that of SQL by hand, on both engines. A peer that cannot be installed is left out. */
export async function benchSemanticPeers(): Promise<Figure[]> {
  const loaded = loadDataModel([{ path: 'model.yml', text: yaml }]);
  if ('issues' in loaded) throw new Error(`the model of the bench: ${JSON.stringify(loaded.issues)}`);
  const { dataModel } = loaded;
  return [
    ...(await onDuckDb(async (run) =>
      compare(run, duckdb, dataModel, {
        name: 'Malloy 0.0.431',
        program: 'malloy.mjs',
        versions: { '@malloydata/malloy': '0.0.431', '@malloydata/db-duckdb': '0.0.431' },
        // The newest one of this package lies in other folders than Malloy reads.
        overrides: { antlr4ts: '0.5.0-alpha.4' },
      }),
    )),
    ...(await onPostgres(async (run) =>
      compare(run, postgres, dataModel, {
        name: 'drizzle-cube 0.5.5',
        program: 'drizzle-cube.mjs',
        versions: { 'drizzle-cube': '0.5.5', 'drizzle-orm': '0.45.4', pg: '8.23.1' },
        overrides: {},
      }),
    )),
  ];
}

async function compare(run: Run, dialect: Dialect, model: DataModel, peer: Peer): Promise<Figure[]> {
  const theirs = await askPeer(peer);
  const ours = makeOurs(dialect, model);
  const figures: Figure[] = [];
  const candidates = { ours, hand: { sql: byHand, parameters: [] }, ...(theirs === null ? {} : { theirs }) };
  const answers = new Map<string, unknown[][]>();
  const times = new Map<string, number[]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, made] of Object.entries(candidates)) {
      const startedMs = performance.now();
      const answer = await run(made);
      times.set(name, [...(times.get(name) ?? []), performance.now() - startedMs]);
      answers.set(name, answer);
    }
  }
  // A fast wrong answer is no figure. Customers without a tenant's order differ by the kind of join: rows with a city count.
  const told = [...answers].map(([, answer]) => JSON.stringify(answer.filter(([city]) => city !== null).sort()));
  if (new Set(told).size > 1) throw new Error(`${peer.name} and we do not give the same answer`);
  const of = (name: string): number => median(times.get(name) ?? []);
  const where = `1M rows, ${dialect.name}`;
  figures.push(figure(`query: ${where} (floor: by hand)`, of('ours'), of('hand')));
  if (theirs !== null) {
    figures.push(figure(`compile: ${where} (floor: ${peer.name})`, ours.compileMs, theirs.compileMs));
    const total = (made: Made, name: string): number => made.compileMs + of(name);
    figures.push(
      figure(`compile and query: ${where} (floor: ${peer.name})`, total(ours, 'ours'), total(theirs, 'theirs')),
    );
  }
  return figures;
}

const figure = (claim: string, ours: number, floor: number): Figure => ({
  claim,
  ours: ms(ours),
  floor: ms(floor),
  ratio: ours / floor,
});

function makeOurs(dialect: Dialect, model: DataModel): Made {
  const times: number[] = [];
  let made: Made = { sql: '', parameters: [], compileMs: 0 };
  for (let round = 0; round < compileRounds; round += 1) {
    const startedMs = performance.now();
    const { sql, parameters } = compileSql(question, model, subject, dialect);
    times.push(performance.now() - startedMs);
    made = {
      sql,
      parameters: parameters.map((value) => (typeof value === 'string' ? value : Number(value))),
      compileMs: 0,
    };
  }
  return { ...made, compileMs: median(times) };
}

/** The peer's SQL for the question, made in a process of its own; null where it cannot be had. */
async function askPeer({ name, program, versions, overrides }: Peer): Promise<Made | null> {
  await using installed = await installPeer(name, versions, overrides);
  if (installed === null) return null;
  await copyFile(join(import.meta.dirname, 'semantic-peers', program), join(installed.folder, program));
  const ended = spawnSync(process.execPath, [program], { cwd: installed.folder, timeout: peerMs, encoding: 'utf8' });
  const line = ended.stdout.trim().split('\n').at(-1) ?? '';
  if (ended.status !== 0) {
    console.error(`bench: no figures of ${name}: ${ended.stderr.trim().split('\n').at(-1)}`);
    return null;
  }
  return madeSchema.parse(JSON.parse(line));
}

async function onDuckDb<T>(work: (run: Run) => Promise<T>): Promise<T> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    for (const sql of tables((name, count) => `range(${count}) AS r(${name})`)) await connection.run(sql);
    return await work(async ({ sql, parameters }) => {
      const reader = await connection.runAndReadAll(sql, parameters);
      return reader.getRows().map((row) => row.map((value) => (typeof value === 'bigint' ? Number(value) : value)));
    });
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

async function onPostgres<T>(work: (run: Run) => Promise<T>): Promise<T> {
  const server = await startPostgres();
  const client = new Client({ connectionString: `${server.baseUrl}postgres` });
  try {
    await client.connect();
    for (const sql of tables((name, count) => `generate_series(0, ${count - 1}) AS r(${name})`))
      await client.query(sql);
    await client.query('ANALYZE');
    return await work(async ({ sql, parameters }) => {
      const { rows: found } = await client.query<unknown[]>({ text: sql, values: parameters, rowMode: 'array' });
      return found.map((row) => row.map((value) => (/^-?\d+(\.\d+)?$/.test(String(value)) ? Number(value) : value)));
    });
  } finally {
    await client.end();
    await server.stop();
  }
}
