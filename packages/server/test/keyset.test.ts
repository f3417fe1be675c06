/** Keyset pages on both stores: order, cursors, pages under change, and the plan of PostgreSQL. */
import type { Page } from '@inlay/contract/page.ts';
import * as fc from 'fast-check';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { contains, equals, filters, type KeysetSource, keysetPage, keysetStatement } from '../src/store/keyset.ts';
import type { Schema } from '../src/store/schema.ts';
import { databaseKinds, openTestDatabase, type TestDatabase } from './databases.ts';

type Sort = 'createdAt' | 'number' | 'name';
interface Row {
  readonly id: number;
  readonly name: string;
}

const source = (list: string, where: readonly RawBuilder<unknown>[] = []): KeysetSource<Sort> => ({
  columns: sql`t.id, t.name`,
  from: sql`keyset_rows t`,
  where: [sql`t.list = ${list}`, ...where],
  sorts: {
    number: 'id',
    createdAt: { expression: sql`t.created_at`, type: 'timestamp' },
    name: { expression: sql`t.name`, type: 'text' },
  },
  id: { expression: sql`t.id`, type: 'integer' },
});

const sorts = ['createdAt', '-createdAt', 'number', '-number', 'name', '-name'] as const;

describe.each(databaseKinds)('keyset pages on %s', (kind) => {
  let database: TestDatabase;
  let db: Kysely<Schema>;
  let lists = 0;
  beforeAll(async () => {
    database = await openTestDatabase(kind);
    db = database.db;
    await sql`create table keyset_rows (id integer generated always as identity primary key, list text not null,
      name text not null, created_at timestamptz not null)`.execute(db);
  });
  afterAll(() => database.close());

  /** Rows whose instants differ by microseconds, which a JavaScript date does not hold, and whose names occur twice. */
  const add = async (list: string, seeds: readonly number[]): Promise<readonly number[]> => {
    const { rows } = await sql<{ id: number }>`
      insert into keyset_rows (list, name, created_at)
      select ${list}, 'n' || (seed % 7), timestamptz '2026-01-02 03:04:05Z' + (seed % 5) * interval '1 microsecond'
      from jsonb_array_elements_text(${JSON.stringify(seeds)}::jsonb) s, lateral (select s.value::int as seed) n
      returning id`.execute(db);
    return rows.map(({ id }) => id);
  };
  const remove = (ids: readonly number[]) =>
    sql`delete from keyset_rows where id in (select value::int from jsonb_array_elements_text(${JSON.stringify(ids)}::jsonb))`.execute(
      db,
    );
  const page = (list: string, sort: (typeof sorts)[number], first: number, after?: string | null) =>
    keysetPage(db, source(list), { sort, first, after: after ?? undefined }, (row: Row) => row.id);
  const newList = () => `list-${lists++}`;

  test.each(sorts)('all pages together are the whole list in its order: %s', async (sort) => {
    const list = newList();
    const ids = await add(
      list,
      Array.from({ length: 23 }, (_, index) => index * 31),
    );
    const column = { createdAt: 'created_at', number: 'id', name: 'name' }[sort.replace('-', '')] ?? '';
    const direction = sort.startsWith('-') ? sql`desc` : sql`asc`;
    const { rows } = await sql<Row>`
      select id from keyset_rows where list = ${list} order by ${sql.ref(column)} ${direction}, id ${direction}`.execute(
      db,
    );
    const seen: number[] = [];
    let after: string | null = null;
    for (let number = 0; ; number++) {
      const { items, pageInfo }: Page<number> = await page(list, sort, 5, after);
      expect(pageInfo.hasPreviousPage).toBe(number > 0);
      expect(pageInfo.hasNextPage).toBe(number < 4);
      seen.push(...items);
      after = pageInfo.endCursor;
      if (!pageInfo.hasNextPage) break;
    }
    expect(seen).toEqual(rows.map(({ id }) => id));
    expect([...seen].sort((a, b) => a - b)).toEqual([...ids].sort((a, b) => a - b));
  });

  test('an empty list, a page that just fits, and a page after the last row', async () => {
    const list = newList();
    const empty = { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null };
    expect(await page(list, 'name', 3)).toEqual({ items: [], pageInfo: empty });
    await add(list, [1, 2, 3]);
    const whole = await page(list, 'name', 3);
    expect(whole.items).toHaveLength(3);
    expect(whole.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: false });
    const beyond = await page(list, 'name', 3, whole.pageInfo.endCursor);
    expect(beyond).toEqual({ items: [], pageInfo: { ...empty, hasPreviousPage: true } });
    // The row of the cursor itself may be gone.
    await remove(whole.items.slice(1));
    expect((await page(list, 'name', 3, whole.pageInfo.startCursor)).pageInfo).toEqual({
      ...empty,
      hasPreviousPage: true,
    });
    await remove(whole.items);
    expect((await page(list, 'name', 3, whole.pageInfo.startCursor)).pageInfo).toEqual(empty);
  });

  test('what is there throughout is seen exactly once, whatever is added and deleted between the pages', async () => {
    const step = fc.record({
      added: fc.array(fc.nat(40), { maxLength: 4 }),
      removed: fc.array(fc.nat(40), { maxLength: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...sorts),
        fc.integer({ min: 1, max: 6 }),
        fc.array(fc.nat(40), { minLength: 1, maxLength: 20 }),
        fc.array(step, { maxLength: 6 }),
        async (sort, first, seeds, steps) => {
          const list = newList();
          const staying = await add(list, seeds);
          let going = [...(await add(list, seeds))];
          const seen: number[] = [];
          const changes = [...steps];
          let after: string | null = null;
          do {
            const { items, pageInfo }: Page<number> = await page(list, sort, first, after);
            expect(items.length).toBeLessThanOrEqual(first);
            seen.push(...items);
            after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
            const { added, removed } = changes.shift() ?? { added: [], removed: [] };
            await remove(removed.map((index) => going[index] ?? 0));
            going = [...going.filter((_, index) => !removed.includes(index)), ...(await add(list, added))];
          } while (after !== null);
          expect(new Set(seen).size).toBe(seen.length);
          expect(staying.filter((id) => !seen.includes(id))).toEqual([]);
        },
      ),
      { numRuns: kind === 'pglite' ? 40 : 15 },
    );
  });

  test('a cursor that is not one of this sort is refused, and reaches no database', async () => {
    const list = newList();
    await add(list, [1, 2, 3]);
    const cursorOf = async (sort: (typeof sorts)[number]) => (await page(list, sort, 1)).pageInfo.endCursor ?? '';
    const cursor = await cursorOf('-createdAt');
    const [sort, key, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    const made = (...parts: unknown[]) => Buffer.from(JSON.stringify(parts)).toString('base64url');
    expect(made(sort, key, id)).toBe(cursor);
    const wrong = [
      'x',
      '',
      '====',
      `${cursor}A`,
      ` ${cursor}`,
      await cursorOf('createdAt'),
      await cursorOf('-name'),
      made(sort, key),
      made(sort, Number(key), id),
      made(sort, `${key}.5`, id),
      made(sort, '99999999999999999999', id),
      made(sort, '', id),
      made(sort, key, '3000000000'),
      made(sort, key, '1e3'),
      made(sort, key, '-0'),
      made(sort, key, null),
      Buffer.from('null').toString('base64url'),
      Buffer.from('{"0":1}').toString('base64url'),
      Buffer.from([0xff, 0xfe]).toString('base64url'),
    ];
    for (const after of wrong) {
      await expect(page(list, '-createdAt', 1, after), after).rejects.toMatchObject({
        code: 'INVALID_CURSOR',
        issues: [{ path: 'after' }],
      });
    }
    for (const name of ['a\0b', '\ud800']) {
      await expect(page(list, 'name', 1, made('name', name, '1')), name).rejects.toMatchObject({
        code: 'INVALID_CURSOR',
      });
    }
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(fc.string(), fc.integer(), fc.bigInt().map(String)), { maxLength: 4 }),
        async (parts) => {
          const result = await page(list, '-createdAt', 1, made('-createdAt', ...parts)).catch(({ code }) => code);
          if (result !== 'INVALID_CURSOR') expect(result).toHaveProperty('pageInfo');
        },
      ),
      { numRuns: 50 },
    );
  });

  test('filters, and a search that takes % and _ as they are', async () => {
    const list = newList();
    await sql`insert into keyset_rows (list, name, created_at)
      select ${list}, name, now() from jsonb_array_elements_text('["100% Wool", "1000 wool", "a_b", "axb"]'::jsonb) n(name)`.execute(
      db,
    );
    const find = async (...where: readonly (RawBuilder<unknown> | undefined)[]) =>
      (await keysetPage(db, source(list, filters(...where)), { sort: 'number', first: 9 }, (row: Row) => row.name))
        .items;
    const name = sql`t.name`;
    expect(await find(contains([name], '0% WOOL'))).toEqual(['100% Wool']);
    expect(await find(contains([sql`''`, name], 'A_'))).toEqual(['a_b']);
    expect(await find(contains([name], undefined), equals(name, undefined))).toHaveLength(4);
    expect(await find(equals(name, 'axb'))).toEqual(['axb']);
  });
});

test('a page of 10,000 rows reads the index from its cursor on, wherever it stands', async () => {
  await using stack = new AsyncDisposableStack();
  const database = await openTestDatabase('postgres');
  stack.defer(() => database.close());
  const { db } = database;
  await sql`create table keyset_rows (id integer generated always as identity primary key, list text not null,
    name text not null, created_at timestamptz not null)`.execute(db);
  await sql`create index keyset_created on keyset_rows (list, created_at, id)`.execute(db);
  await sql`create index keyset_name on keyset_rows (list, name, id)`.execute(db);
  await sql`create index keyset_number on keyset_rows (list, id)`.execute(db);
  await sql`insert into keyset_rows (list, name, created_at)
    select case n % 6 when 0 then 'a' else 'b' end, 'name ' || n, timestamptz '2026-01-01' + n * interval '1 second'
    from generate_series(1, 60000) n`.execute(db);
  await sql`analyze keyset_rows`.execute(db);

  for (const sort of sorts) {
    let after: string | undefined;
    for (const skipped of [0, 5000, 9900]) {
      if (skipped > 0) {
        const until = await keysetPage(db, source('a'), { sort, first: skipped }, (row: Row) => row.id);
        after = until.pageInfo.endCursor ?? undefined;
      }
      const statement = keysetStatement<Row, Sort>(source('a'), { sort, first: 50, after });
      const { rows } = await sql<{
        'QUERY PLAN': string;
      }>`explain (analyze, timing off, summary off) ${statement}`.execute(db);
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan, `${sort} after ${skipped}`).not.toMatch(/Seq Scan on keyset_rows/);
      // Rows that index scans have read: the page, one more, and one before it.
      const read = [...plan.matchAll(/Index.* on keyset_rows .*rows=([\d.]+) loops/g)].map(([, count]) =>
        Number(count),
      );
      expect(read.length, plan).toBeGreaterThan(0);
      expect(Math.max(...read), plan).toBeLessThanOrEqual(51);
      expect(plan, plan).not.toMatch(/Rows Removed by Filter: \d{4,}/);
    }
  }
});
