/** What is ClickHouse's own: its read-only levels, the forms in which it breaks off, and that a query is killed by its id. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openClickHouse } from '../../src/warehouse/clickhouse.ts';
import { readBody } from '../../src/warehouse/clickhouse-rows.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { readerOfClickHouse } from '../clickhouse/shim.ts';
import { hasClickHouse, startClickHouse, type TestClickHouse } from '../clickhouse/start-clickhouse.ts';

const never = new AbortController().signal;

describe.skipIf(!hasClickHouse)('a server', () => {
  let server: TestClickHouse;
  let warehouse: Warehouse;
  const open = (user: string, password: string | null): Warehouse =>
    openClickHouse({ url: server.url, user, password, database: 'default', connectionsMax: 2 });
  beforeAll(async () => {
    server = await startClickHouse();
    warehouse = open('default', null);
  });
  afterAll(async () => {
    await warehouse.close();
    await server.stop();
  });
  const readAll = async (sql: string, on = warehouse) => {
    const { rows } = await on.stream({ sql, parameters: [] }, { signal: never, timeoutMs: 30_000 });
    return (await Array.fromAsync(rows())).flat();
  };

  test('a user whose profile allows to read and to set is let in as it is', async () => {
    const reader = open(readerOfClickHouse.user, readerOfClickHouse.password);
    expect(await readAll("SELECT getSetting('readonly'), getSetting('join_use_nulls')", reader)).toEqual([[2, true]]);
    await reader.close();
  });

  test('a wrong password: nobody gets in, and neither name nor password is said', async () => {
    const stranger = open('reader', 'a wrong password');
    const error = await readAll('SELECT 1', stranger).catch((caught: unknown) => caught);
    expect(error).toMatchObject({
      code: 'WAREHOUSE_UNAVAILABLE',
      cause: { message: 'ClickHouse code 516 (AUTHENTICATION_FAILED)' },
    });
    await stranger.close();
  });

  test.each([
    ['tagged', 'QUERY_FAILED'],
    ['plain', 'QUERY_FAILED'],
    ['cut', 'WAREHOUSE_UNAVAILABLE'],
  ] as const)('a result that breaks off (%s) is never taken for its end', async (style, code) => {
    server.failAs(style);
    await expect(readAll('SELECT throwIf(number = 250000), number FROM numbers(300000)')).rejects.toMatchObject({
      code,
    });
    server.failAs('tagged');
  });

  test('an abort sends a KILL with the id of the query', async () => {
    const before = server.kills.length;
    const stop = new AbortController();
    const sql = 'SELECT count() FROM numbers(100000000000) WHERE sipHash64(number) = 7';
    const asked = warehouse.query({ sql, parameters: [] }, { signal: stop.signal, timeoutMs: 30_000 });
    const caught = asked.catch((error: unknown) => error);
    for (let running = '0'; running !== '2'; ) {
      running = (await (await fetch(`${server.url}/?query=SELECT+count()+FROM+system.processes`)).text()).trim();
    }
    stop.abort(new Error('enough'));
    expect(await caught).toMatchObject({ message: 'enough' });
    expect(server.kills.slice(before)).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)]);
  });
});

describe('a body', () => {
  const head = '["a"]\n["UInt64"]\n';
  const read = async (...pieces: readonly string[]) => {
    const bytes = pieces.map((piece) => Buffer.from(piece));
    const reader = await readBody(
      (async function* () {
        yield* bytes;
      })(),
    );
    const all: unknown[] = [];
    for (let rows = await reader.next(); rows !== null; rows = await reader.next()) all.push(...rows);
    return all;
  };

  test('is read wherever it is cut', async () => {
    const body = Buffer.from('["ä"]\n["String"]\n["€uro"]\n["😀"]\n');
    for (let at = 1; at < body.length; at++) {
      const reader = await readBody(
        (async function* () {
          yield body.subarray(0, at);
          yield body.subarray(at);
        })(),
      );
      const all: unknown[] = [];
      for (let rows = await reader.next(); rows !== null; rows = await reader.next()) all.push(...rows);
      expect([reader.columns, all]).toEqual([[{ name: 'ä', column_type: 'String' }], [['€uro'], ['😀']]]);
    }
  });

  const failure = 'Code: 395. DB::Exception: Value passed (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO)';
  test.each([
    ['without its second line', ['["a"]\n']],
    ['with nothing', []],
    ['with half a row', [head, '["1"]\n["2"']],
    ['with an exception instead of a row', [head, `["1"]\n${failure}`]],
    [
      'with an exception in pieces',
      [head, '["1"]\n\r\n__exception__\r\n', `tag\r\n${failure}\n9 tag\r\n__exception__\r\n`],
    ],
    ['with a row that is none', [head, '{"exception": "x"}\n']],
  ])('that ends %s is a failure', async (_name, pieces) => {
    await expect(read(...pieces)).rejects.toThrow();
  });

  test('says why it broke off, also where that comes in pieces', async () => {
    const pieces = [head, '["1"]\n\r\n__exception__\r\n', `tag\r\n${failure}\n9 tag\r\n__exception__\r\n`];
    await expect(read(...pieces)).rejects.toThrow('Code: 395. DB::Exception');
  });
});
