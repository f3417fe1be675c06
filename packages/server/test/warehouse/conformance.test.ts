/** What every kind of warehouse has to do, whatever its engine (docs/adding-a-warehouse.md has the list). */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Cell } from '@inlay/contract/chat.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Parameter, QueryLimits, Warehouse } from '../../src/warehouse/warehouse.ts';
import { type EngineAtWork, engines, numbersCount, sampleCells } from './engines.ts';
import { until } from './until.ts';

/** What is left over from reading is no memory that grows; a large heap would be cleaned late. */
setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

const never = new AbortController().signal;
const reason = new Error('enough');

for (const { name, isHere, dialect, start } of engines) {
  describe.skipIf(!isHere)(`${name}${isHere ? '' : ' (not installed: npm run test:clickhouse)'}`, () => {
    let engine: EngineAtWork;
    beforeAll(async () => {
      engine = await start();
    });
    afterAll(async () => {
      await engine.close();
    });

    const ask = async (sql: string, parameters: readonly Parameter[] = [], limits: Partial<QueryLimits> = {}) => {
      const result = await engine.warehouse.query({ sql, parameters }, { signal: never, timeoutMs: 60_000, ...limits });
      return { ...result, all: (await Array.fromAsync(result.rows())).flat() };
    };
    const stream = (sql: string, signal = never, warehouse: Warehouse = engine.warehouse, timeoutMs = 60_000) =>
      warehouse.stream({ sql, parameters: [] }, { signal, timeoutMs });
    const failure = (asked: Promise<unknown>) =>
      asked.then(
        () => 'no failure',
        (error: unknown) => error,
      );
    /** The engine works on nothing, and every place can be had. */
    const expectFree = async () => {
      await until(async () => ((await engine.running()) ?? 0) === 0);
      const all = await Promise.all(Array.from({ length: engine.places + 1 }, () => ask('SELECT 1')));
      expect(all.map((answer) => answer.all)).toEqual(Array(engine.places + 1).fill([[1]]));
    };
    /** Takes hours if it is not stopped. */
    const endless = 'SELECT count(*) FROM numbers a, numbers b WHERE (a.i + b.i) % 7 = 9';
    const wide = `SELECT i, ${dialect.textOf(400)} AS t FROM numbers WHERE i < 200000`;

    test('equal values are equal cells, and have the type that they should have', async () => {
      const samples = Object.entries(dialect.samples);
      const { columns, all } = await ask(`SELECT ${samples.map(([key, { sql }]) => `${sql} AS ${key}`).join(', ')}`);
      expect(Object.fromEntries(columns.map((column, index) => [column.name, all[0]?.[index]]))).toEqual(sampleCells);
      expect(columns.map(({ column_type }) => column_type)).toEqual(samples.map(([, { type }]) => type));
    });

    test('parameters are bound with their types', async () => {
      const types = ['text', 'integer', 'double', 'boolean', 'timestamp', 'text'] as const;
      const sql = `SELECT ${types.map((type, index) => `${dialect.parameter(index + 1, type)} AS c${index}`).join(', ')}`;
      const words = 'it\'s \\ "$1" {p1:String} 😀\n\t\r\'; --';
      const { all } = await ask(sql, [words, 9007199254740993n, 0.1, true, '2024-01-31 00:00:00.000000', null]);
      expect(all).toEqual([[words, '9007199254740993', 0.1, true, '2024-01-31T00:00:00.000', null]]);
    });

    test('so are very long ones', async () => {
      const long = '€\\'.repeat(20_000);
      expect((await ask(`SELECT ${dialect.parameter(1, 'text')} AS t`, [long])).all).toEqual([[long]]);
    });

    test('an empty result has its columns', async () => {
      const { columns, all, rowCount } = await ask("SELECT i, 'x' AS t FROM numbers WHERE i < 0");
      expect(columns.map((column) => column.name)).toEqual(['i', 't']);
      expect([all, rowCount]).toEqual([[], 0]);
      const streamed = await stream("SELECT i, 'x' AS t FROM numbers WHERE i < 0");
      expect(streamed.columns).toEqual(columns);
      expect(await Array.fromAsync(streamed.rows())).toEqual([]);
    });

    test('a result is whole and in order, asked at once or streamed', async () => {
      const count = 200_000;
      const sql = `SELECT i FROM numbers WHERE i < ${count} ORDER BY i`;
      const { all, rowCount } = await ask(sql);
      expect(rowCount).toBe(count);
      const streamed: Cell[][] = [];
      for await (const rows of (await stream(sql)).rows()) streamed.push(...rows);
      const isRight = (rows: readonly Cell[][]) =>
        rows.length === count && rows.every(([value], index) => value === index);
      expect([isRight(all), isRight(streamed)]).toEqual([true, true]);
    });

    test('a slow reader makes the engine wait: 120 MB do not come into memory', async () => {
      const sql = `SELECT i, ${dialect.textOf(400)} AS t FROM numbers WHERE i < 300000`;
      const held = (): number => {
        collectGarbage();
        const { heapUsed, external } = process.memoryUsage();
        return heapUsed + external;
      };
      const before = held();
      let peak = 0;
      let count = 0;
      let measuredAt = 0;
      for await (const rows of (await stream(sql)).rows()) {
        count += rows.length;
        await new Promise(setImmediate);
        if (count - measuredAt < 30_000) continue;
        measuredAt = count;
        peak = Math.max(peak, held() - before);
      }
      expect(count).toBe(300_000);
      expect(peak).toBeLessThan(60_000_000);
    });

    test('a failure half-way is a failure, and says nothing of the value', async () => {
      const sql = `SELECT ${dialect.failingAt(250_000)} AS v FROM numbers WHERE i < 300000`;
      const streaming = `SELECT ${dialect.failingAt(900_000)} AS v, ${dialect.textOf(20)} AS t FROM numbers`;
      const error = await failure(ask(sql));
      expect(error).toMatchObject({ code: 'QUERY_FAILED', cause: expect.any(Error) });
      let count = 0;
      const broken = await failure(
        (async () => {
          for await (const rows of (await stream(streaming)).rows()) count += rows.length;
        })(),
      );
      expect(broken).toMatchObject({ code: 'QUERY_FAILED', cause: expect.any(Error) });
      expect(count).toBeGreaterThan(0);
      for (const shown of [error, broken]) {
        expect(`${shown} ${shown instanceof Error ? shown.cause : ''}`).not.toMatch(/secret/);
      }
      await expectFree();
    });

    test('a name that is wrong in the query is in the cause, for the log', async () => {
      const error = await failure(ask('SELECT no_such_column FROM numbers'));
      expect(error).toMatchObject({
        code: 'QUERY_FAILED',
        cause: { message: expect.stringContaining('no_such_column') },
      });
    });

    test('an abort before the query: nothing is asked', async () => {
      const before = AbortSignal.abort(reason);
      expect(await failure(ask(endless, [], { signal: before }))).toBe(reason);
      expect(await failure(stream(endless, before))).toBe(reason);
    });

    test('an abort stops the query in the engine, and gives its reason', async () => {
      const stop = new AbortController();
      const asked = failure(ask(endless, [], { signal: stop.signal }));
      const streamed = failure(stream(endless, stop.signal).then(({ rows }) => rows().next()));
      await until(async () => ((await engine.running()) ?? 2) === 2);
      stop.abort(reason);
      expect([await asked, await streamed]).toEqual([reason, reason]);
      await expectFree();
    });

    test('an abort stops nobody else, whoever has the connection next', async () => {
      const sql = `SELECT ${dialect.parameter(1, 'integer')} AS own, count(*) AS n FROM numbers WHERE i % 3 = 0`;
      // Every other one is stopped, each at another moment of its query.
      const one = async (own: number): Promise<void> => {
        const stop = new AbortController();
        const timer = own % 2 === 0 ? setTimeout(() => stop.abort(reason), own % 13) : undefined;
        const asked = ask(sql, [own], { signal: stop.signal });
        if (timer === undefined) expect((await asked).all).toEqual([[own, Math.ceil(numbersCount / 3)]]);
        else
          expect(await failure(asked.then(({ all }) => expect(all[0]?.[0]).toBe(own)))).toBeOneOf([
            reason,
            'no failure',
          ]);
        clearTimeout(timer);
      };
      const worker = async (first: number): Promise<void> => {
        for (let own = first; own < 80; own += 8) await one(own);
      };
      // Workers of both kinds, so that one who was stopped hands on to one who was not.
      await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(worker));
      await expectFree();
    });

    test('an abort is heard at whatever moment of its beginning the query is', async () => {
      for (let delayMs = 0; delayMs < 10; delayMs += 0.6) {
        const stop = new AbortController();
        const asked = Array.from({ length: engine.places }, () => failure(ask(endless, [], { signal: stop.signal })));
        const endMs = performance.now() + delayMs;
        while (performance.now() < endMs) await new Promise((resolve) => setImmediate(resolve));
        stop.abort(reason);
        expect(await Promise.all(asked)).toEqual(Array(engine.places).fill(reason));
      }
      await expectFree();
    });

    test('an abort between two chunks of a stream ends it there', async () => {
      const stop = new AbortController();
      const rows = (await stream(wide, stop.signal)).rows();
      expect((await rows.next()).done).toBe(false);
      stop.abort(reason);
      expect(await failure(rows.next())).toBe(reason);
      await expectFree();
    });

    test('an abort after the end changes nothing', async () => {
      const stop = new AbortController();
      const { all } = await ask('SELECT 1', [], { signal: stop.signal });
      stop.abort(reason);
      expect(all).toEqual([[1]]);
      await expectFree();
    });

    test('what takes too long is stopped in the engine', async () => {
      expect(await failure(ask(endless, [], { timeoutMs: 300 }))).toMatchObject({ code: 'QUERY_TIMEOUT' });
      const streamed = stream(endless, never, engine.warehouse, 300).then(({ rows }) => rows().next());
      expect(await failure(streamed)).toMatchObject({ code: 'QUERY_TIMEOUT' });
      await expectFree();
    });

    test('a result with more rows or bytes than allowed is refused, and not read to its end', async () => {
      const most = await ask('SELECT i FROM numbers WHERE i < 1000', [], { rowsMax: 1000 });
      expect(most.rowCount).toBe(1000);
      for (const limits of [{ rowsMax: 999 }, { bytesMax: 7999 }]) {
        const error = await failure(ask('SELECT i FROM numbers WHERE i < 1000', [], limits));
        expect(error).toMatchObject({ code: 'RESULT_TOO_LARGE' });
      }
      expect(await failure(ask(wide, [], { bytesMax: 1_000_000 }))).toMatchObject({ code: 'RESULT_TOO_LARGE' });
      await expectFree();
    });

    test('a reader who stops in the middle stops the query', async () => {
      for await (const rows of (await stream(wide)).rows()) {
        expect(rows.length).toBeGreaterThan(0);
        break;
      }
      await expectFree();
    });

    test('a reader who pauses too long, or never comes, holds nothing', async () => {
      const warehouse = await engine.openWith(100);
      try {
        const unread = await stream(wide, never, warehouse);
        const rows = (await stream(wide, never, warehouse)).rows();
        let paused: unknown;
        await until(async () => {
          paused = await failure(rows.next().then(({ done }) => expect(done).toBe(false)));
          return paused !== 'no failure';
        }, 300);
        expect(paused).toMatchObject({ code: 'QUERY_TIMEOUT' });
        expect(await failure(unread.rows().next())).toMatchObject({ code: 'QUERY_TIMEOUT' });
        await until(async () => ((await engine.running()) ?? 0) === 0);
      } finally {
        await warehouse.close();
      }
    });

    test('more queries than places wait; one that gives up passes its turn on', async () => {
      const stop = new AbortController();
      const running = Array.from({ length: engine.places }, () => failure(ask(endless, [], { signal: stop.signal })));
      const impatient = new AbortController();
      const waiting = failure(ask('SELECT 1', [], { signal: impatient.signal }));
      const patient = ask('SELECT 2');
      impatient.abort(new Error('no more'));
      expect(await waiting).toMatchObject({ message: 'no more' });
      await engine.warehouse.ping();
      stop.abort(reason);
      expect(await Promise.all(running)).toEqual(Array(engine.places).fill(reason));
      expect((await patient).all).toEqual([[2]]);
    });

    test('beyond so many, those who come are told to come later', async () => {
      const stop = new AbortController();
      const asked = Array.from({ length: engine.places * 51 + 3 }, () =>
        failure(ask(endless, [], { signal: stop.signal })),
      );
      const busy = await Promise.all(asked.slice(-3));
      stop.abort(reason);
      expect(busy).toEqual(
        Array(3).fill(expect.objectContaining({ code: 'WAREHOUSE_BUSY', retryAfterSeconds: expect.any(Number) })),
      );
      await Promise.all(asked);
      await expectFree();
    });

    test.each(dialect.refused)('%s is refused', async (sql) => {
      expect(await failure(ask(sql))).toMatchObject({ code: 'QUERY_FAILED' });
      expect((await ask('SELECT count(*) FROM numbers')).all).toEqual([[numbersCount]]);
    });

    test('an engine that is gone is said to be, and asked again when it is back', async () => {
      const { restart, warehouse } = engine;
      if (restart === null) return;
      const rows = (await stream(wide)).rows();
      await rows.next();
      await restart.halt();
      const broken = await failure(Array.fromAsync(rows));
      expect(broken).toMatchObject({ code: expect.stringMatching(/^(WAREHOUSE_UNAVAILABLE|QUERY_FAILED)$/) });
      expect(await failure(ask('SELECT 1'))).toMatchObject({ code: 'WAREHOUSE_UNAVAILABLE' });
      expect(await failure(warehouse.ping())).toMatchObject({ code: 'WAREHOUSE_UNAVAILABLE' });
      await restart.resume();
      expect((await ask('SELECT count(*) FROM numbers')).all).toEqual([[numbersCount]]);
      await warehouse.ping();
      await expectFree();
    });
  });
}
