/** Queries as any user, on the store itself. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { explainAs, queryAs } from '../src/cli/ask-as.ts';
import { type Config, ConfigError, readConfig } from '../src/config.ts';
import type { WarehouseSettings } from '../src/store/schema.ts';
import { openSession, openTestServer, type TestServer } from './test-server.ts';

const revenue = 'SELECT MEASURE(revenue) AS revenue FROM sales';

describe('model explain and model query', { timeout: 60_000 }, () => {
  let server: TestServer;
  let config: Config;
  beforeAll(async () => {
    server = await openTestServer();
    config = { ...readConfig({ PORT: '0' }), store: server.store };
    for (const account of [server.demo, server.other]) {
      for (const merchant of [7, 8]) {
        const userAttributes = [{ name: 'merchant_id', value: merchant }];
        await openSession(server, account, { externalId: `shop-${merchant}`, groups: ['merchant'], userAttributes });
      }
    }
    await openSession(server, server.demo, { externalId: 'shop-none', groups: ['merchant'] });
  });
  afterAll(() => server.close());

  const run = async (command: typeof explainAs, ...args: string[]): Promise<{ out: string; said: string }> => {
    const [out, said]: [string[], string[]] = [[], []];
    const print = {
      out: (text: string) => void out.push(`${text}\n`),
      say: (text: string) => void said.push(`${text}\n`),
    };
    await command(config, ['--account', 'demo', ...args], print);
    return { out: out.join(''), said: said.join('') };
  };
  const problemsOf = async (command: typeof explainAs, ...args: string[]): Promise<readonly string[]> => {
    try {
      await run(command, ...args);
    } catch (error) {
      if (error instanceof ConfigError) return error.problems;
      throw error;
    }
    throw new Error('It worked.');
  };
  const revenueOf = async (...who: string[]): Promise<unknown> =>
    JSON.parse((await run(queryAs, revenue, ...who, '--json')).out).data[0][0];

  test('a query gives what that user sees, and nobody else', async () => {
    const all = Number(await revenueOf('--as-internal', 'analyst'));
    const [seven, eight] = [Number(await revenueOf('--as', 'shop-7')), Number(await revenueOf('--as', 'shop-8'))];
    expect(seven).toBeGreaterThan(0);
    expect(eight).toBeGreaterThan(0);
    expect(seven).not.toBe(eight);
    expect(all).toBeGreaterThan(seven + eight);
    expect(await revenueOf('--as', 'shop-none')).toBeNull();
  });

  test('rows are a table, as many as are asked for, and their number', async () => {
    const sql = 'SELECT channel, channel, MEASURE(orders_count) AS n FROM sales GROUP BY 1 ORDER BY 1';
    const { out, said } = await run(queryAs, sql, '--as', 'shop-7', '--rows', '1');
    expect(out).toMatch(/^channel +channel \(2\) +n\n\S+ +\S+ +\d+\n$/);
    expect(said).toMatch(/^\d+ rows, the first 1 of them\n$/);
    expect(await run(queryAs, `${sql} LIMIT 0`, '--as', 'shop-7')).toEqual({
      out: 'channel  channel (2)  n\n',
      said: '0 rows\n',
    });
  });

  test('an explanation tells who asks, of each policy what its entries came to, the plan and the SQL', async () => {
    const { out } = await run(explainAs, revenue, '--as', 'shop-7');
    expect(out).toMatch(
      /^Asked as external user shop-7, tenant-wide\n {2}groups: merchant\n {2}user attributes: merchant_id\n/,
    );
    expect(out).toMatch(/\n {2}entry \d, for group merchant: counts\n {4}gives rows with merchant_id equals 7\n/);
    expect(out).toMatch(
      /\n {2}entry \d, for group platform_team: does not count\n {4}the user is in none of these groups\n/,
    );
    expect(out).toMatch(/\nPlan\n {2}groups of view sales\n/);
    expect(out).toMatch(/\nSQL\n {2}SELECT /);
    expect(out).toMatch(/\nParameters\n {2}1: 7 \(integer, of the policy of \w+\)\n/);
    const missing = await run(explainAs, revenue, '--as', 'shop-none');
    expect(missing.out).toContain('userAttributes.merchant_id is missing or empty');
    const json = JSON.parse((await run(explainAs, revenue, '--as', 'shop-7', '--json')).out);
    expect(json).toMatchObject({ subject: { groups: ['merchant'] }, outcome: { kind: 'compiled' } });
  });

  test('a refused query is explained, and not run', async () => {
    const { out } = await run(explainAs, 'SELECT nothing FROM sales', '--as', 'shop-7');
    expect(out).toMatch(/\nRefused: MEMBER_NOT_FOUND: No member "nothing" in sales/);
    const problems = await problemsOf(queryAs, 'SELECT nothing FROM sales', '--as', 'shop-7');
    expect(problems[0]).toMatch(/^MEMBER_NOT_FOUND: /);
  });

  test('the scope of an embed tenant has its own groups', async () => {
    const { db } = server.context;
    const of = { account_id: server.accountId, created_at: new Date() };
    const made = <T>(rows: readonly T[]): T => {
      if (rows[0] === undefined) throw new Error('nothing was made');
      return rows[0];
    };
    const tenant = made(
      await db
        .insertInto('embed_tenants')
        .values({ ...of, name: 'ask-as' })
        .returning('id')
        .execute(),
    );
    const group = { ...of, embed_tenant_id: tenant.id, name: 'makers', description: null };
    const { id } = made(await db.insertInto('groups').values(group).returning('id').execute());
    const user = made(
      await db
        .selectFrom('users')
        .select('id')
        .where('external_id', '=', 'shop-7')
        .where('account_id', '=', server.accountId)
        .execute(),
    );
    await db.insertInto('user_groups').values({ user_id: user.id, group_id: id }).execute();
    const { out } = await run(explainAs, revenue, '--as', 'shop-7', '--embed-tenant', 'ask-as');
    expect(out).toMatch(
      /^Asked as external user shop-7, in the scope of the embed tenant ask-as\n {2}groups: makers\n {2}user attributes: none\n/,
    );
    expect((await run(explainAs, revenue, '--as', 'shop-7')).out).toMatch(/\n {2}groups: merchant\n/);
  });

  test('a JSON query is asked and explained as its SQL is', async () => {
    const json = JSON.stringify({ measures: ['sales.revenue'] });
    const who = ['--as', 'shop-7'] as const;
    const asked = async (query: string) => JSON.parse((await run(queryAs, query, ...who, '--json')).out).data;
    expect(await asked(json)).toEqual(await asked(revenue));
    const explained = JSON.parse((await run(explainAs, json, ...who, '--json')).out);
    expect(explained).toMatchObject({
      outcome: {
        kind: 'compiled',
        compiled: {
          parameters: JSON.parse((await run(explainAs, revenue, ...who, '--json')).out).outcome.compiled.parameters,
        },
      },
    });
    const hidden = JSON.parse((await run(explainAs, '{"dimensions":["sales.nothing"]}', ...who, '--json')).out);
    expect(hidden).toMatchObject({ outcome: { kind: 'refused', code: 'MEMBER_NOT_FOUND' } });
  });

  test('a time zone says where days begin, in what is asked and in what is explained', async () => {
    const sql =
      "SELECT MEASURE(orders_count) AS n FROM sales WHERE created_at >= '2025-06-01' AND created_at < '2025-06-02'";
    const inUtc =
      "SELECT MEASURE(orders_count) AS n FROM sales WHERE created_at >= '2025-05-31 12:00:00' AND created_at < '2025-06-01 12:00:00'";
    const dateRange = ['2025-06-01', '2025-06-01'];
    const query = { measures: ['sales.orders_count'], timeDimensions: [{ dimension: 'sales.created_at', dateRange }] };
    const there = ['--timezone', 'Pacific/Auckland'] as const;
    const asked = async (text: string, ...more: string[]): Promise<unknown> =>
      JSON.parse((await run(queryAs, text, '--as', 'shop-7', '--json', ...more)).out).data;
    const explained = async (text: string, ...more: string[]) =>
      JSON.parse((await run(explainAs, text, '--as', 'shop-7', '--json', ...more)).out).outcome.compiled.parameters;
    const rows = await asked(inUtc);
    expect(await asked(sql)).not.toEqual(rows);
    expect(await asked(sql, ...there)).toEqual(rows);
    expect(await asked(JSON.stringify(query), ...there)).toEqual(rows);
    expect(await explained(sql)).not.toEqual(await explained(inUtc));
    expect(await explained(sql, ...there)).toEqual(await explained(inUtc));
    // The end of a range of the JSON form is an instant before its next day.
    const own = JSON.stringify({ ...query, timezone: 'Pacific/Auckland' });
    expect(await explained(JSON.stringify(query), ...there)).toEqual(await explained(own));
    expect(await explained(own, '--timezone', 'UTC')).toEqual(await explained(own));
    expect(await explained(own)).not.toEqual(await explained(JSON.stringify(query)));
  });

  test('a warehouse is that of the connection which the deployment names', async () => {
    const { db } = server.context;
    const before = await revenueOf('--as', 'shop-7');
    const { id, warehouse } = await db
      .selectFrom('deployments')
      .select(['id', 'warehouse'])
      .where('account_id', '=', server.accountId)
      .executeTakeFirstOrThrow();
    const use = (settings: WarehouseSettings) =>
      db
        .updateTable('deployments')
        .set({ warehouse: JSON.stringify(settings) })
        .where('id', '=', id)
        .execute();
    const folder = await mkdtemp(join(tmpdir(), 'inlay-ask-as-'));
    const path = join(folder, 'warehouses.yml');
    const files = JSON.stringify(inject('demoDataFolder'));
    await writeFile(path, `warehouses: [{ name: exports, type: duckdb, folder: ${files} }]`);
    const withoutConnections = config;
    try {
      await use({ connection: 'exports' });
      expect(await problemsOf(queryAs, revenue, '--as', 'shop-7')).toEqual([
        'NOT_READY: The warehouse of a deployment is not configured.',
        '  INLAY_WAREHOUSES names no connection "exports"',
      ]);
      config = { ...config, warehouses: { file: path, secretOf: () => undefined } };
      expect(await revenueOf('--as', 'shop-7')).toBe(before);
      expect((await run(explainAs, revenue, '--as', 'shop-7')).out).toContain('\nSQL\n');
    } finally {
      config = withoutConnections;
      await use(warehouse);
      await rm(folder, { recursive: true });
    }
  });

  test('nobody is made, and whoever is asked for is audited', async () => {
    const { db } = server.context;
    expect(await problemsOf(queryAs, revenue, '--as', 'stranger')).toEqual([
      'There is no active external user stranger.',
    ]);
    expect(await db.selectFrom('users').select('id').where('external_id', '=', 'stranger').execute()).toEqual([]);
    const entries = () =>
      db
        .selectFrom('audit_log')
        .select(['action', 'actor_kind', 'object_name', 'result'])
        .where('account_id', '=', server.accountId)
        .orderBy('id', 'desc')
        .limit(2)
        .execute();
    await run(queryAs, revenue, '--as', 'shop-8');
    await problemsOf(queryAs, 'SELECT nothing FROM sales', '--as', 'shop-7');
    expect(await entries()).toEqual([
      { action: 'data.query', actor_kind: 'operator', object_name: 'shop-7', result: 'MEMBER_NOT_FOUND' },
      { action: 'data.query', actor_kind: 'operator', object_name: 'shop-8', result: 'OK' },
    ]);
  });

  test.each<[string[], RegExp]>([
    [['--as', 'shop-7'], /^One query is needed/],
    [['a', 'b', '--as', 'shop-7'], /^One query is needed/],
    [['{"measures":', '--as', 'shop-7'], /^The query begins as JSON, and is none: /],
    [['{"measures":[]}', '--as', 'shop-7'], /^QUERY_INVALID: The query names no measure and no dimension\.$/],
    [[revenue], /^Say as whom/],
    [[revenue, '--as', 'a', '--as-internal', 'b'], /^Say as whom/],
    [[revenue, '--as-internal', 'analyst', '--embed-tenant', 'x'], /^Internal users have no rights/],
    [[revenue, '--as', 'shop-7', '--rows', '0'], /^--rows must be a whole number from 1 to 100000\.$/],
    [[revenue, '--as', 'shop-7', '--deployment', '2'], /^There is no deployment 2: --deployment 1$/],
    [[revenue, '--as', 'shop-7', '--embed-tenant', 'nobody'], /^There is no embed tenant nobody\.$/],
    [[revenue, '--as', 'shop-7', '--security-context', '[]'], /^--security-context/],
    [[revenue, '--as', 'shop-7', '--security-context', '{'], /^--security-context must be a JSON object\.$/],
    [[revenue, '--as', 'shop-7', '--timezone', 'Mars/Olympus'], /^--timezone must be the name of an IANA timezone/],
    [[revenue, '--as', 'shop-7', '--timezone', '+02:00'], /^--timezone must be the name of an IANA timezone/],
    [[revenue, '--as', 'shop-7', '--role', 'x'], /^Unknown option '--role'/],
    [[revenue, '--as', 'shop-7', '--branch', 'nowhere'], /^BRANCH_NOT_FOUND: /],
  ])('%j', async (args, expected) => {
    expect((await problemsOf(queryAs, ...args))[0]).toMatch(expected);
  });
});
