/** The log writer on both stores: what is durable when, what goes together, and what a node that lost a run may still write. */
import { randomUUID } from 'node:crypto';
import type { Frame } from '@inlay/contract/chat.ts';
import { type CompiledQuery, type Kysely, PostgresQueryCompiler, sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { handOnRuns } from '../src/chat/claim-runs.ts';
import { type Message, messageFrame, noUsage } from '../src/chat/frames.ts';
import type { LogEntry } from '../src/chat/log-entries.ts';
import { createLogWriter, type RunLog } from '../src/chat/log-writer.ts';
import { insertRun } from '../src/chat/run-store.ts';
import type { LogLine } from '../src/chat/thread-log.ts';
import type { Schema } from '../src/store/schema.ts';
import { noMetrics } from '../src/telemetry/telemetry.ts';
import { type ChatWorld, openChatWorld, readMessages, testRunLimits, until } from './chat-world.ts';
import { databaseKinds } from './databases.ts';

const now = new Date('2026-05-01T10:00:00Z');

function text(id: string, content: string, sort = 2): Message {
  return {
    id,
    role: 'assistant',
    content,
    graphPath: ['agent'],
    toolCall: null,
    thinking: null,
    modelText: null,
    isInProcess: true,
    sort,
  };
}
const delta = (id: string, content: string, sort = 2): LogEntry => ({
  frame: { ...messageFrame(text(id, content, sort)), isDelta: true },
  closed: null,
  voided: null,
  step: null,
});
const whole = (message: Message): LogEntry => {
  const closed = { ...message, isInProcess: false };
  return { frame: messageFrame(closed), closed, voided: null, step: null };
};
const usageLine: LogEntry = {
  frame: { id: '__usage__', type: 'usage', role: 'assistant', content: '', sort: 9, usage: noUsage },
  closed: null,
  voided: null,
  step: null,
};
const ended = { state: 'completed', usage: noUsage, error: null } as const;

describe.each(databaseKinds)('the log writer on %s', (kind) => {
  let world: ChatWorld;
  beforeAll(async () => {
    world = await openChatWorld(kind);
  });
  afterAll(() => world.close());

  const nodeId = randomUUID();

  /** A writer that can be watched, and be kept from reaching the store. */
  function openWriter(leaseMs = 10_000) {
    const statements: CompiledQuery[] = [];
    const pushed = new Map<string, LogLine[]>();
    const left: string[] = [];
    const errors: object[] = [];
    const warnings: object[] = [];
    let failure: Error | null = null;
    const db = world.database.db.withPlugin({
      transformQuery({ node, queryId }) {
        if (failure !== null) throw failure;
        statements.push(new PostgresQueryCompiler().compileQuery(node, queryId));
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    const writer = createLogWriter({
      db,
      clock: () => now,
      log: { error: (fields) => void errors.push(fields), warn: (fields) => void warnings.push(fields) },
      metrics: noMetrics,
      nodeId,
      leaseMs,
      readers: {
        begin: (id) => void pushed.set(id, []),
        push: (id, lines) => void pushed.get(id)?.push(...lines),
        end: (id) => void left.push(id),
      },
    });
    return {
      writer,
      statements,
      left,
      errors,
      warnings,
      linesOf: (id: string): Frame[] => (pushed.get(id) ?? []).map((line) => JSON.parse(line.text)),
      fail: (error: Error | null) => {
        failure = error;
      },
    };
  }

  async function begin(): Promise<{ id: string; threadId: string }> {
    const { principal, agentId } = world.callers.ann;
    const run = {
      nodeId,
      runId: randomUUID(),
      principal,
      agent: { id: agentId, deploymentId: agentId },
      branch: null,
      threadId: null,
      messageId: `${randomUUID()}-message`,
      input: 'x',
      title: 'x',
      requestId: 'req_test',
    };
    const limits = { ...testRunLimits, runsPerUserMax: 10_000, runsPerAccountMax: 10_000 };
    const inserted = await insertRun(world.database.db, run, limits, now);
    if (inserted.kind !== 'inserted') throw new Error(inserted.kind);
    return { id: run.runId, threadId: inserted.threadId };
  }
  const logOf = (runId: string, db: Kysely<Schema> = world.database.db) =>
    db
      .selectFrom('run_log')
      .select(['seq', 'sort', 'line', 'step'])
      .where('run_id', '=', runId)
      .orderBy('seq')
      .execute();
  const stateOf = async (runId: string) =>
    (await world.database.db.selectFrom('runs').select('state').where('id', '=', runId).executeTakeFirst())?.state;
  const open = (writer: ReturnType<typeof openWriter>['writer'], id: string, onLost = () => undefined): RunLog =>
    writer.open({ id, attempts: 1 }, 0, onLost);

  test('what many runs say at once is one statement, and what one message says meanwhile one line', async () => {
    const { writer, statements, linesOf } = openWriter();
    const runs = await Promise.all(Array.from({ length: 20 }, begin));
    const logs = runs.map(({ id }) => open(writer, id));
    for (const log of logs) for (const word of ['So', ' it', ' is']) log.append(delta('a', word));
    await writer.idle();
    expect(statements).toHaveLength(1);
    for (const { id } of runs) {
      expect(linesOf(id).map(({ content }) => content)).toEqual(['So it is']);
      expect((await logOf(id)).map(({ seq, line }) => [seq, JSON.parse(line ?? '').content])).toEqual([
        [1, 'So it is'],
      ]);
    }
  });

  test('messages, kinds and steps stay apart; what waits behind a statement under way goes with the next', async () => {
    const { writer, statements, linesOf } = openWriter();
    const { id, threadId } = await begin();
    const log = open(writer, id);
    const thought: LogEntry = {
      frame: { ...messageFrame({ ...text('t', '', 2), thinking: 'Hm' }), isDelta: true },
      closed: null,
      voided: null,
      step: null,
    };
    const step = { kind: 'tool', messageId: 'x\0\ud800', failure: null, usage: { ...noUsage } } as const;
    log.append(thought);
    await until(() => statements.length === 1);
    for (const entry of [thought, thought, delta('a', 'A', 3), delta('b', 'B', 4), delta('a', 'a', 3)])
      log.append(entry);
    log.append({ frame: null, step });
    log.append(delta('a', 'aa', 3));
    log.append(whole(text('a', 'Aaaa', 3)));
    await log.end([usageLine], ended);
    expect(statements).toHaveLength(2);
    expect(linesOf(id).map(({ thinking, content }) => thinking ?? content)).toEqual([
      'Hm',
      'HmHm',
      'A',
      'B',
      'a',
      'aa',
      'Aaaa',
      '',
    ]);
    const rows = await logOf(id);
    expect(rows.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(rows[5]).toMatchObject({ line: null, sort: 0, step: { ...step, messageId: 'x\ufffd\ufffd' } });
    expect(await stateOf(id)).toBe('completed');
    expect((await readMessages(world.database.db, threadId)).map(({ content }) => content)).toEqual(['x', 'Aaaa']);
  });

  test('no reader sees a line that is not durable', async () => {
    const { db } = world.database;
    const { id } = await begin();
    const seen: [line: number, durable: number][] = [];
    const looks: Promise<unknown>[] = [];
    const writer = createLogWriter({
      db,
      clock: () => now,
      log: { error: () => undefined, warn: () => undefined },
      metrics: noMetrics,
      nodeId,
      leaseMs: 10_000,
      readers: {
        begin: () => undefined,
        push: (_id, lines) =>
          void looks.push(logOf(id).then((rows) => seen.push([lines.at(-1)?.seq ?? 0, rows.at(-1)?.seq ?? 0]))),
        end: () => undefined,
      },
    });
    const log = open(writer, id);
    for (let index = 0; index < 10; index += 1) {
      log.append(delta(`m${index}`, 'x', 2 + index));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await writer.idle();
    await Promise.all(looks);
    expect(Math.max(...seen.map(([line]) => line))).toBe(10);
    for (const [line, durable] of seen) expect(durable).toBeGreaterThanOrEqual(line);
  });

  test('a run that is another’s now takes nothing, not even an end, and its writer is told; the others of the batch go on', async () => {
    const { writer, linesOf, left } = openWriter();
    const [lost, kept, gone] = [await begin(), await begin(), await begin()];
    const told: string[] = [];
    const logs = [lost, kept, gone].map(({ id }) => open(writer, id, () => void told.push(id)));
    await world.database.db.updateTable('runs').set({ attempts: 2 }).where('id', '=', lost.id).execute();
    await world.database.db.deleteFrom('threads').where('id', '=', gone.threadId).execute();
    for (const log of logs) log.append(whole(text('a', 'Said.')));
    await Promise.all(logs.map((log) => log.end([usageLine], ended)));
    expect(told.sort()).toEqual([lost.id, gone.id].sort());
    expect(logs.map(({ isLost }) => isLost)).toEqual([true, false, true]);
    expect([linesOf(lost.id).length, linesOf(kept.id).length, linesOf(gone.id).length]).toEqual([0, 2, 0]);
    expect(await logOf(lost.id)).toEqual([]);
    expect([await stateOf(lost.id), await stateOf(kept.id)]).toEqual(['running', 'completed']);
    expect((await readMessages(world.database.db, lost.threadId)).map(({ content }) => content)).toEqual(['x']);
    expect(left.sort()).toEqual([lost.id, kept.id, gone.id].sort());
  });

  test('the store is away for a moment: the same lines are written once it is back, each once', async () => {
    const { writer, linesOf, fail, errors, warnings } = openWriter();
    const { id } = await begin();
    const log = open(writer, id);
    fail(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }));
    log.append(delta('a', 'One'));
    await until(() => warnings.length === 1);
    log.append(delta('a', ' two'));
    fail(null);
    await log.end([whole(text('a', 'One two')), usageLine], ended);
    expect(linesOf(id).map(({ content }) => content)).toEqual(['One', ' two', 'One two', '']);
    expect((await logOf(id)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
    expect([warnings.length, errors.length]).toEqual([1, 0]);
  });

  test('a statement that was committed, but whose answer was lost, is repeated without harm', async () => {
    const { id } = await begin();
    let isFirst = true;
    const pushed: number[] = [];
    const db = world.database.db.withPlugin({
      transformQuery: ({ node }) => node,
      transformResult: async ({ result }) => {
        if (!isFirst) return result;
        isFirst = false;
        throw Object.assign(new Error('reset'), { code: 'ECONNRESET' });
      },
    });
    const readers = {
      begin: () => undefined,
      push: (_id: string, lines: readonly LogLine[]) => void pushed.push(...lines.map(({ seq }) => seq)),
      end: () => undefined,
    };
    const writer = createLogWriter({
      db,
      clock: () => now,
      log: { error: () => undefined, warn: () => undefined },
      metrics: noMetrics,
      nodeId,
      leaseMs: 10_000,
      readers,
    });
    const log = open(writer, id);
    log.append(delta('a', 'One'));
    await log.end([whole(text('a', 'One')), usageLine], ended);
    expect([log.isLost, pushed, await stateOf(id)]).toEqual([false, [1, 2, 3], 'completed']);
    expect(await logOf(id)).toHaveLength(3);
  });

  test('away for longer than the lease: the runs are given up, silently', async () => {
    const { writer, left, fail } = openWriter(50);
    const { id } = await begin();
    const told: string[] = [];
    const log = open(writer, id, () => void told.push(id));
    fail(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }));
    log.append(delta('a', 'One'));
    await until(() => log.isLost);
    expect([told, left]).toEqual([[id], [id]]);
    await log.end([usageLine], ended);
    await log.room();
    expect(await stateOf(id)).toBe('running');
  });

  test('one run that the store refuses does not keep the others from being written', async () => {
    const { writer, linesOf, errors } = openWriter();
    const [bad, good] = [await begin(), await begin()];
    const logs = [bad, good].map(({ id }) => open(writer, id));
    // No column of the store holds such a number.
    logs[0]?.append(whole(text('a', 'Bad.', 3_000_000_000)));
    logs[1]?.append(whole(text('a', 'Good.')));
    await writer.idle();
    expect(logs.map(({ isLost }) => isLost)).toEqual([true, false]);
    expect([linesOf(bad.id).length, linesOf(good.id).length, errors.length]).toEqual([0, 1, 1]);
  });

  test('an agent that writes faster than the store takes has to wait', async () => {
    const { writer, fail, linesOf } = openWriter();
    const { id } = await begin();
    const log = open(writer, id);
    fail(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }));
    let characters = 0;
    let hasRoom = false;
    for (let isFull = false; !isFull; ) {
      log.append(delta('a', 'x'.repeat(10_000)));
      characters += 10_000;
      const room = log.room().then(() => {
        hasRoom = true;
      });
      hasRoom = false;
      await new Promise((resolve) => setImmediate(resolve));
      isFull = !hasRoom;
      if (isFull) {
        fail(null);
        await room;
      }
      if (characters > 2_000_000) throw new Error('it never had to wait');
    }
    await writer.idle();
    expect(linesOf(id).reduce((sum, { content }) => sum + content.length, 0)).toBe(characters);
  });

  test('a message that is said again replaces what was kept of it, and is not there meanwhile', async () => {
    const { writer } = openWriter();
    const { db } = world.database;
    const { id, threadId } = await begin();
    const log = open(writer, id);
    const contents = async () => (await readMessages(db, threadId)).map(({ content }) => content);
    const restart: LogEntry = { frame: messageFrame(text('a', '')), closed: null, voided: 2, step: null };
    log.append(whole(text('a', 'Old.')));
    await writer.idle();
    log.append(restart);
    await writer.idle();
    expect(await contents()).toEqual(['x']);
    for (const content of ['Newer.', 'Newest.']) {
      log.append(restart);
      log.append(whole(text('a', content)));
    }
    await writer.idle();
    expect(await contents()).toEqual(['x', 'Newest.']);
    log.append(whole(text('b', 'More.', 3)));
    log.append({ ...restart, voided: 3 });
    await writer.idle();
    expect(await contents()).toEqual(['x', 'Newest.']);
  });

  test('a log that was dropped takes nothing more, and the run can be handed on', async () => {
    const { writer, linesOf, left } = openWriter();
    const { id } = await begin();
    const log = open(writer, id);
    log.append(delta('a', 'One'));
    await writer.idle();
    log.append(delta('a', ' two'));
    log.drop();
    log.append(delta('a', ' three'));
    await log.end([usageLine], ended);
    await writer.idle();
    expect([linesOf(id).length, left]).toEqual([1, [id]]);
    expect(await logOf(id)).toHaveLength(1);
    await handOnRuns(world.database.db, nodeId);
    const { rows } = await sql`select state, node_id, attempts from runs where id = ${id}::uuid`.execute(
      world.database.db,
    );
    expect(rows).toEqual([{ state: 'running', node_id: null, attempts: 0 }]);
  });
});
