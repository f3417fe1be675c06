import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createRunTails, type RunTails } from '../src/chat/run-tails.ts';
import type { LogLine } from '../src/chat/thread-log.ts';
import { type ChatWorld, openChatWorld, until } from './chat-world.ts';
import { databaseKinds } from './databases.ts';

const never = new AbortController().signal;
const textOf = (seq: number): string => `{"id":"m","n":${seq}}`;

describe.each(databaseKinds)('readers of logs on %s', (kind) => {
  let world: ChatWorld;
  const open: RunTails[] = [];
  const errors: object[] = [];
  beforeAll(async () => {
    world = await openChatWorld(kind);
  });
  afterAll(() => world.close());
  afterEach(() => {
    for (const tails of open.splice(0)) tails.close();
    expect(errors).toEqual([]);
  });

  function makeTails(rememberedMax?: number): RunTails {
    const log = { error: (fields: object) => void errors.push(fields) };
    const more = rememberedMax === undefined ? {} : { rememberedMax };
    const tails = createRunTails({ db: world.database.db, log, ...more });
    open.push(tails);
    return tails;
  }

  /** A run that somebody writes. */
  async function insertRun(): Promise<string> {
    const { db } = world.database;
    const { principal, agentId } = world.callers.ann;
    const [id, threadId] = [randomUUID(), randomUUID()];
    await sql`
      insert into threads (id, account_id, user_id, agent_id, title, created_at, updated_at)
      values (${threadId}, ${principal.accountId}, ${principal.userId}, ${agentId}, '', now(), now())`.execute(db);
    await sql`
      insert into runs (id, thread_id, user_id, agent_id, message_id, node_id, state, created_at)
      values (${id}, ${threadId}, ${principal.userId}, ${agentId}, ${id}, ${randomUUID()}, 'running', now())`.execute(
      db,
    );
    return id;
  }

  /** Writes the places `from` to `to` of the log; every fifth is a step. The last one ends the run if it is to. */
  async function write(
    runId: string,
    from: number,
    to: number,
    { isEnd = false, filler = '' } = {},
  ): Promise<LogLine[]> {
    const { db } = world.database;
    const lines: LogLine[] = [];
    for (let seq = from; seq <= to; seq++) {
      const isLast = isEnd && seq === to;
      const line = isLast ? '{"id":"__usage__"}' : textOf(seq).replace('m', `m${filler}`);
      if (isLast || seq % 5 !== 0) lines.push({ seq, sort: 2, text: `${line}\n`, isControl: isLast, isLast });
    }
    const rows = Array.from({ length: to - from + 1 }, (_, index) => {
      const found = lines.find(({ seq }) => seq === from + index);
      const step = found === undefined ? {} : null;
      return { run_id: runId, seq: from + index, sort: 2, line: found?.text.trimEnd() ?? null, step };
    });
    await sql`
      with added as (
        insert into run_log (run_id, seq, sort, line, step, created_at)
        select run_id, seq, sort, line, step, now()
        from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb)
          as r(run_id uuid, seq integer, sort integer, line text, step jsonb)
      )
      update runs set state = ${isEnd ? 'completed' : 'running'} where id = ${runId}`.execute(db);
    return lines;
  }

  const seqsOf = (lines: readonly LogLine[]): number[] => lines.map(({ seq }) => seq);
  const read = async (tails: RunTails, runId: string, from = 0): Promise<number[]> =>
    seqsOf(await Array.fromAsync(tails.follow({ runId, from, gone: never, ended: never })));
  const linesUpTo = (to: number): number[] =>
    Array.from({ length: to }, (_, index) => index + 1).filter((seq) => seq % 5 !== 0 || seq === to);

  test('a run of another process is read from wherever it stands, to its end', async () => {
    const tails = makeTails();
    const runId = await insertRun();
    await write(runId, 1, 7);
    const readers = [0, 3, 7].map((from) => read(tails, runId, from));
    await write(runId, 8, 500);
    readers.push(read(tails, runId, 5));
    await write(runId, 501, 700, { isEnd: true });
    const all = linesUpTo(700);
    const expected = [0, 3, 7, 5].map((from) => all.filter((seq) => seq > from));
    expect(await Promise.all(readers)).toEqual(expected);
    expect(tails.size).toBe(0);
    // And when it is over.
    expect(await read(tails, runId, 690)).toEqual(all.filter((seq) => seq > 690));
  });

  test('a run of this process is read without asking the store', async () => {
    const tails = makeTails();
    const runId = await insertRun();
    tails.begin(runId, 0);
    const reader = read(tails, runId);
    for (let from = 1; from < 100; from += 11) {
      // Not in the store: only what is pushed can be read.
      const lines = linesUpTo(101).filter((seq) => seq >= from && seq < from + 11 && seq < 100);
      tails.push(
        runId,
        lines.map((seq) => ({ seq, sort: 2, text: `${textOf(seq)}\n`, isControl: false, isLast: false })),
      );
      await nextTurn();
    }
    tails.push(runId, [{ seq: 101, sort: 3, text: '{"id":"__usage__"}\n', isControl: true, isLast: true }]);
    tails.end(runId);
    expect(await reader).toEqual(linesUpTo(101).filter((seq) => seq !== 100));
  });

  test('a reader who comes late, or is slow, gets from the store what is not remembered', async () => {
    const tails = makeTails(500);
    const runId = await insertRun();
    tails.begin(runId, 0);
    const slow = tails.follow({ runId, from: 0, gone: never, ended: never });
    const first = slow.next();
    const told = await write(runId, 1, 400, { filler: 'x'.repeat(50) });
    tails.push(runId, told);
    expect((await first).value).toMatchObject({ seq: 1 });
    const late = read(tails, runId, 17);
    tails.push(runId, await write(runId, 401, 450, { isEnd: true }));
    tails.end(runId);
    expect(await late).toEqual(linesUpTo(450).filter((seq) => seq > 17));
    expect([1, ...seqsOf(await Array.fromAsync(slow))]).toEqual(linesUpTo(450));
  });

  test('a run that changes hands in the middle is read on, either way', async () => {
    const [here, there] = [makeTails(), makeTails()];
    const runId = await insertRun();
    here.begin(runId, 0);
    const readers = [here, there].map((tails) => read(tails, runId));
    here.push(runId, await write(runId, 1, 20));
    // The word of what it wrote last never comes.
    await write(runId, 21, 23);
    here.end(runId);
    there.begin(runId, 23);
    there.push(runId, await write(runId, 24, 60));
    there.push(runId, await write(runId, 61, 99, { isEnd: true }));
    there.end(runId);
    expect(await Promise.all(readers)).toEqual([linesUpTo(99), linesUpTo(99)]);
  });

  test('the reading ends early where the log goes no further', async () => {
    const tails = makeTails();
    const { db } = world.database;
    const [deleted, swept] = [await insertRun(), await insertRun()];
    await write(deleted, 1, 3);
    await write(swept, 1, 10, { isEnd: true });
    await db.deleteFrom('run_log').where('run_id', '=', swept).where('seq', '<', 6).execute();
    const readers = [read(tails, deleted), read(tails, swept, 2)];
    await until(async () => tails.size < 2);
    await db.deleteFrom('runs').where('id', '=', deleted).execute();
    expect(await Promise.all(readers)).toEqual([[1, 2, 3], []]);
  });

  test('a reader who goes is let go, whether they have begun or not; others read on', async () => {
    const tails = makeTails();
    const runId = await insertRun();
    const [gone, unread] = [new AbortController(), new AbortController()];
    const reader = Array.fromAsync(tails.follow({ runId, from: 0, gone: gone.signal, ended: never }));
    tails.follow({ runId, from: 0, gone: unread.signal, ended: never });
    const other = read(tails, runId);
    gone.abort();
    unread.abort();
    expect(await reader).toEqual([]);
    await write(runId, 1, 2, { isEnd: true });
    expect(await other).toEqual([1, 2]);
    expect(tails.size).toBe(0);
  });

  test('a reader who may not read on stops at once, whatever is waiting', async () => {
    const tails = makeTails();
    const runId = await insertRun();
    await write(runId, 1, 100, { isEnd: true });
    const ended = new AbortController();
    const seen: number[] = [];
    for await (const { seq } of tails.follow({ runId, from: 0, gone: never, ended: ended.signal })) {
      seen.push(seq);
      if (seq === 3) ended.abort();
    }
    expect(seen).toEqual([1, 2, 3]);
  });

  test('when the process stops, readers are cut off', async () => {
    const tails = makeTails();
    const reader = read(tails, await insertRun());
    tails.close();
    await expect(reader).rejects.toMatchObject({ code: 'NOT_READY' });
  });
});

test('readers who take nothing cost no memory, however much is written', async () => {
  const world = await openChatWorld('postgres');
  const tails = createRunTails({ db: world.database.db, log: { error: () => undefined } });
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const used = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const runId = randomUUID();
  tails.begin(runId, 0);
  const readers = Array.from({ length: 100 }, () => tails.follow({ runId, from: 0, gone: never, ended: never }));
  const first = readers.map((reader) => reader.next());
  const before = used();
  // 50 MB.
  for (let seq = 1; seq <= 50_000; seq += 50) {
    const lines = Array.from({ length: 50 }, (_, index) => {
      // Made anew each time: a slice of one long text would share it.
      const text = Buffer.alloc(1000, `${seq + index} `).toString('latin1');
      return { seq: seq + index, sort: 2, text, isControl: false, isLast: false };
    });
    tails.push(runId, lines);
    await nextTurn();
  }
  expect((await Promise.all(first)).map(({ value }) => value?.seq)).toEqual(Array(100).fill(1));
  expect(used() - before).toBeLessThan(5_000_000);
  tails.close();
  await world.close();
});

test('while the store is away, readers wait', async () => {
  const world = await openChatWorld('postgres');
  const errors: object[] = [];
  const { db } = world.database;
  await sql`alter table run_log rename to elsewhere`.execute(db);
  const tails = createRunTails({ db, log: { error: (fields) => void errors.push(fields) } });
  const reader = Array.fromAsync(tails.follow({ runId: randomUUID(), from: 0, gone: never, ended: never }));
  await until(() => errors.length === 1);
  await sql`alter table elsewhere rename to run_log`.execute(db);
  // There is no such run.
  expect(await reader).toEqual([]);
  expect(errors).toHaveLength(1);
  await world.close();
});
