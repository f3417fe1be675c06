/** Cube's own client from npm, unchanged, pointed at the data API. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CubeWorld, openCubeWorld, settingsHeader } from '../cube-world.ts';
import { openSession } from '../test-server.ts';

let now = Date.parse('2024-03-15T10:20:30Z');
let world: CubeWorld;
let seven: string;
beforeAll(async () => {
  world = await openCubeWorld({ clock: () => new Date(now) });
  seven = await world.merchant(7);
});
afterAll(() => world.close());

const byMonth = {
  measures: ['sales.revenue', 'sales.count'],
  timeDimensions: [
    { dimension: 'sales.at', granularity: 'month', dateRange: ['2024-01-01', '2024-04-30'] as [string, string] },
  ],
};

describe('meta()', () => {
  test('tells what the user sees, and nothing else', async () => {
    const meta = await world.client(seven).meta();
    expect(meta.cubes.map(({ name, type }) => [name, type])).toEqual([
      ['sales', 'view'],
      ['orders', 'cube'],
      ['lines', 'cube'],
      ['slow', 'cube'],
      ['tardy', 'cube'],
      ['endless', 'cube'],
    ]);
    expect(JSON.stringify(meta.cubes)).not.toContain('secret');
    expect(meta.resolveMember('orders.revenue', 'measures')).toMatchObject({
      title: 'Orders Revenue',
      shortTitle: 'Revenue',
      type: 'number',
      aggType: 'sum',
      format: 'currency',
      drillMembers: [],
    });
    expect(meta.resolveMember('orders.count', 'measures')).toMatchObject({
      drillMembersGrouped: { measures: [], dimensions: ['orders.id', 'orders.channel'] },
    });
    expect(meta.resolveMember('orders.secret', 'dimensions')).toMatchObject({ error: expect.any(String) });
    expect(meta.defaultTimeDimensionNameFor('orders.count')).toBe('orders.at');
    expect(meta.filterOperatorsForMember('orders.at', 'dimensions')).toContainEqual(
      expect.objectContaining({ name: 'inDateRange' }),
    );
    expect(meta.resolveMember('orders.at', 'dimensions')).toMatchObject({
      granularities: [
        { name: 'fiscal_year', title: 'Fiscal year', interval: '12 months', origin: '2024-04-01T00:00:00' },
      ],
    });
    expect(meta.cubes[1]).toMatchObject({
      hierarchies: [{ name: 'place', levels: ['orders.merchant', 'orders.channel'] }],
      segments: [{ name: 'orders.large' }],
    });
    expect(meta.cubes[0]).toMatchObject({ folders: [{ name: 'Where', members: ['sales.channel'] }] });
    const views = await world.client(seven).meta({ onlyViews: true });
    expect(views.cubes.map(({ name }) => name)).toEqual(['sales']);
  });

  test('a key asks for the user whom it names, by header and in the body', async () => {
    const settings = { externalId: 'staff', groups: ['platform_team'] };
    const authorization = `Api-Key ${world.server.apiKey}`;
    const meta = await world.client(authorization, world.shops.demo, settingsHeader(settings)).meta();
    expect(JSON.stringify(meta.cubes)).toContain('orders.secret');
    await expect(world.client(authorization).meta()).rejects.toThrow('sessionSettings are required');
    const reply = await fetch(`${world.urlOf(world.shops.demo)}/meta`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ sessionSettings: settings }),
    });
    expect(await reply.json()).toEqual({ cubes: meta.cubes });
  });
});

test('a session has its own time zone, unless the query names one', async () => {
  const { server, shops } = world;
  const user = { externalId: 'berlin', groups: ['merchant'], userAttributes: [{ name: 'merchant_id', value: 7 }] };
  const token = await openSession(server, shops.demo, { ...user, settings: { timezone: 'Europe/Berlin' } });
  const query = { measures: ['orders.count'], timeDimensions: [{ dimension: 'orders.at', dateRange: '2024-02-01' }] };
  expect((await world.client(token).load(query)).rawData()).toEqual([{ 'orders.count': 1 }]);
  expect((await world.client(token).load({ ...query, timezone: 'UTC' })).rawData()).toEqual([{ 'orders.count': 0 }]);
  const sql = "SELECT MEASURE(count) FROM orders WHERE at >= '2024-02-01' AND at < '2024-02-02'";
  expect((await world.client(token).cubeSql(sql)).data).toEqual([[1]]);
  expect((await world.client(token).cubeSql(sql, { timezone: 'UTC' })).data).toEqual([[0]]);
});

describe('sql() and cubeSql()', () => {
  test('compiled SQL is for admin keys', async () => {
    const settings = settingsHeader({
      externalId: 'm7',
      groups: ['merchant'],
      userAttributes: [{ name: 'merchant_id', value: 7 }],
    });
    const admin = world.client(`Api-Key ${world.server.apiKey}`, world.shops.demo, settings);
    const compiled = await admin.sql(byMonth);
    const [text, parameters] = compiled.rawQuery().sql;
    expect(compiled.sql()).toBe(text);
    expect(text).toMatch(/^SELECT /);
    expect(parameters).toContain(7);
    await expect(world.client(seven).sql(byMonth)).rejects.toMatchObject({
      status: 403,
      response: { code: 'ADMIN_ONLY' },
    });
    const reply = await fetch(`${world.urlOf(world.shops.demo)}/sql`, {
      method: 'POST',
      headers: { authorization: `Api-Key ${world.server.apiKey}`, 'content-type': 'application/json', ...settings },
      body: JSON.stringify({ query: 'SELECT MEASURE(revenue) FROM sales' }),
    });
    expect(await reply.json()).toEqual({ sql: { sql: [expect.stringMatching(/^SELECT /), [7]] } });
  });

  test('rows of semantic SQL, whole and as they come', async () => {
    const query = 'SELECT channel, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 2 DESC';
    const expected = {
      schema: [
        { name: 'channel', column_type: 'String' },
        { name: 'revenue', column_type: 'Decimal' },
      ],
      data: [
        ['web', 30.5],
        ['store', 5],
        [null, 4],
      ],
    };
    expect(await world.client(seven).cubeSql(query)).toEqual(expected);
    const chunks: unknown[] = [];
    for await (const chunk of world.client(seven).cubeSqlStream(query)) chunks.push(chunk);
    expect(chunks).toEqual([
      { type: 'schema', schema: expected.schema },
      { type: 'data', data: expected.data },
    ]);
    expect(
      (await world.client(seven).cubeSql(`${query.replace('GROUP', "WHERE channel = 'none' GROUP")}`)).data,
    ).toEqual([]);
    await expect(world.client(seven).cubeSql('SELECT nothing FROM sales')).rejects.toThrow(
      'No member "nothing" in sales.',
    );
  });
});

test('a token that has ended is 401, and says so', async () => {
  const token = await world.merchant(7);
  now += 86_400_000 + 61_000;
  await expect(world.client(token).load(byMonth)).rejects.toMatchObject({
    status: 401,
    message: expect.stringContaining('token'),
  });
  now -= 86_400_000 + 61_000;
});
