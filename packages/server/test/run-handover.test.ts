/** Runs that go from node to node, as their operator and their user see it: counts, aborts in between, caps at the same instant. */

import { randomUUID } from 'node:crypto';
import type { Frame } from '@inlay/contract/chat.ts';
import { foldFrames } from '@inlay/sdk/thread-state.ts';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { RunAgent } from '../src/agent/run-agent.ts';
import { noUsage } from '../src/chat/frames.ts';
import { closeFirstRuns } from '../src/chat/interrupted-runs.ts';
import { createPrometheusMetrics } from '../src/telemetry/prometheus-metrics.ts';
import { type Caller, type Chat, type ChatWorld, chatIdOf, openChatWorld, until } from './chat-world.ts';
import { databaseKinds } from './databases.ts';
import { answering, say, scripted, stall } from './scripted-language-model.ts';

/** Says a word, and then heeds nobody until it is let go, each time that it is begun. */
function deafAgent() {
  const letGo: (() => void)[] = [];
  const runAgent: RunAgent = async function* () {
    const { promise, resolve } = Promise.withResolvers<void>();
    letGo.push(resolve);
    yield { type: 'text-delta', messageId: 'a', text: 'Half' };
    await promise;
    yield { type: 'text-end', messageId: 'a' };
    yield { type: 'final', messageId: 'b', text: 'Half' };
    yield { type: 'usage', usage: noUsage };
  };
  return { runAgent, letGo };
}

describe.each(databaseKinds)('runs between nodes on %s', (kind) => {
  let world: ChatWorld;
  beforeAll(async () => {
    world = await openChatWorld(kind);
  });
  afterAll(() => world.close());
  const endAll = async (): Promise<void> => {
    const ended = { state: 'failed', ended_at: new Date() } as const;
    await world.database.db.updateTable('runs').set(ended).where('state', '=', 'running').execute();
  };
  afterEach(endAll);

  const languageModel = scripted(() => [say('Half '), stall]);
  const runOf = async (threadId: string) =>
    world.database.db.selectFrom('runs').selectAll().where('thread_id', '=', threadId).executeTakeFirstOrThrow();
  /** Begins a run that has said its first word. */
  async function ask(chat: Chat, caller: Caller = world.callers.ann) {
    const frames: Frame[] = [];
    const stream = await chat.open(caller, { input: 'why?' });
    const reading = (async () => {
      for await (const frame of stream) frames.push(frame);
    })();
    await until(() => frames.some(({ isDelta }) => isDelta === true));
    return { frames, reading, threadId: chatIdOf(frames) };
  }

  test('a run that one node leaves and another ends is begun once, carried on once, and ended once', async () => {
    const [left, taken] = [createPrometheusMetrics('1'), createPrometheusMetrics('1')];
    const one = world.chat({ languageModel, metrics: left });
    const two = world.chat({ languageModel: answering('Whole.'), metrics: taken });
    const { reading } = await ask(one);
    expect(one.runs.counts()).toEqual({ active: 1, waiting: 0 });
    await one.runs.close(0);
    expect(one.runs.counts()).toEqual({ active: 0, waiting: 0 });
    expect(await two.runs.carryOn()).toBe(1);
    await reading;
    const counts = async (metrics: typeof left) => {
      const { text } = await metrics.text();
      const names = ['started', 'left', 'carried_on', 'ended'];
      return names.map((name) =>
        [...text.matchAll(new RegExp(`^inlay_runs_${name}_total(?:\\{.*\\})? (\\d+)$`, 'gm'))].map(([, n]) =>
          Number(n),
        ),
      );
    };
    await until(async () => (await counts(taken))[3]?.[0] === 1);
    expect(await counts(left)).toEqual([[1], [1], [0], []]);
    expect(await counts(taken)).toEqual([[0], [0], [1], [1]]);
    expect((await taken.text()).text).toContain('inlay_runs_ended_total{state="completed"} 1');
    expect((await left.text()).text).toMatch(/^inlay_log_flush_duration_seconds_count [1-9]/m);
  });

  test('an abort on a node that has just lost the run to another reaches whoever carries it on', async () => {
    const { runAgent, letGo } = deafAgent();
    const one = world.chat({ languageModel, runAgent });
    const two = world.chat({ languageModel });
    const { frames, reading, threadId } = await ask(one);
    await world.keepAlive(two);
    expect(await two.runs.carryOn()).toBe(1);
    expect(await one.runs.carryOn()).toBe(0);
    // Its agent has not stopped yet.
    const aborting = one.abort(world.callers.ann, threadId);
    await until(async () => (await runOf(threadId)).abort_asked_at !== null);
    expect(await two.runs.carryOn()).toBe(0);
    await Promise.all([aborting, reading]);
    expect(frames.slice(-2).map(({ id }) => id)).toEqual(['__aborted__', '__usage__']);
    expect(foldFrames(frames).messages.filter(({ isInProcess }) => isInProcess)).toEqual([]);
    expect(await runOf(threadId)).toMatchObject({ state: 'aborted' });
    for (const end of letGo) end();
  });

  test('a run that can not be carried on ends, and what its readers have open is closed', async () => {
    const one = world.chat({ languageModel });
    const two = world.chat({ languageModel });
    const { frames, reading, threadId } = await ask(one);
    const elsewhere = two.read(world.callers.ann, { chatId: threadId });
    await one.runs.close(0);
    const { id } = await runOf(threadId);
    // A step that no version writes.
    await sql`insert into run_log (run_id, seq, sort, step, created_at)
      select run_id, max(seq) + 1, 0, '{"kind": "turn"}', now() from run_log where run_id = ${id} group by run_id`.execute(
      world.database.db,
    );
    expect(await two.runs.carryOn()).toBe(0);
    await reading;
    for (const read of [frames, await elsewhere]) {
      expect(read.slice(-2)).toMatchObject([{ id: '__error__', code: 'INTERNAL' }, { id: '__usage__' }]);
      expect(foldFrames(read).messages.map(({ content, isInProcess }) => [content, isInProcess])).toEqual([
        ['why?', false],
        ['Half ', false],
      ]);
    }
    expect(two.errors).toHaveLength(1);
    await until(() => two.runs.counts().active === 0);
    // And they stand in the thread.
    expect(foldFrames(await two.read(world.callers.ann, { chatId: threadId })).messages).toEqual(
      foldFrames(frames).messages,
    );
  });

  test('who reads a run of version 0.1 is told its end, and has nothing open', async () => {
    const { ann } = world.callers;
    const { db } = world.database;
    const chat = world.chat({ languageModel });
    const threadId = chatIdOf(await chat.read(ann, {}));
    const toolCall = JSON.stringify({ name: 'tool', input: '{}' });
    const runId = randomUUID();
    await sql`insert into runs (id, thread_id, user_id, agent_id, message_id, state, created_at)
      values (${runId}, ${threadId}, ${ann.principal.userId}, ${ann.agentId}, '1-message', 'running', now())`.execute(
      db,
    );
    await sql`insert into messages (thread_id, run_id, id, role, content, tool_call, is_in_process, sort, created_at)
      values (${threadId}, ${runId}, '1-message', 'user', 'why?', null, false, 1, now()),
        (${threadId}, ${runId}, 'text', 'assistant', 'Half ', null, true, 2, now()),
        (${threadId}, ${runId}, 'tool', 'assistant', '', ${toolCall}::text::jsonb, true, 3, now())`.execute(db);
    const frames: Frame[] = [];
    const stream = await chat.open(ann, { chatId: threadId });
    expect(await closeFirstRuns(db, 10_000, new Date())).toBe(1);
    for await (const frame of stream) frames.push(frame);
    expect(frames.at(-2)).toMatchObject({ id: '__error__', code: 'RUN_INTERRUPTED' });
    expect(foldFrames(frames).messages.map(({ content, isInProcess }) => [content, isInProcess])).toEqual([
      ['why?', false],
      ['Half ', false],
      ['', false],
    ]);
  });

  test.each(['agents', 'deployments', 'threads'] as const)(
    'a silent run ends when its %s are deleted',
    async (table) => {
      const { annElsewhere } = world.callers;
      const silent = scripted(() => [say('Half '), stall]);
      // Nothing else would stop it.
      const limits = { runMs: 600_000, languageModelSilenceMs: 600_000 };
      const chat = world.chat({ languageModel: silent, limits });
      const { db } = world.database;
      const { frames, reading, threadId } = await ask(chat, annElsewhere);
      const id = table === 'threads' ? threadId : annElsewhere.agentId;
      const kept = {
        agents: await db.selectFrom('agents').selectAll().where('id', '=', annElsewhere.agentId).execute(),
        deployments: await db.selectFrom('deployments').selectAll().where('id', '=', annElsewhere.agentId).execute(),
      };
      await sql`delete from ${sql.table(table)} where id = ${id}`.execute(db);
      await chat.runs.carryOn();
      await reading;
      expect(frames.slice(-2)).toMatchObject([{ id: '__error__', code: 'NOT_FOUND' }, { id: '__usage__' }]);
      expect(foldFrames(frames).messages.filter(({ isInProcess }) => isInProcess)).toEqual([]);
      expect(silent.signals).toMatchObject([{ aborted: true }]);
      expect(chat.runs.counts()).toEqual({ active: 0, waiting: 0 });
      if (table === 'deployments') {
        const rows = kept.deployments.map((row) => ({ ...row, warehouse: JSON.stringify(row.warehouse) }));
        await db.insertInto('deployments').values(rows).execute();
      }
      if (table !== 'threads') await db.insertInto('agents').values(kept.agents).execute();
    },
  );

  test('a run that comes back to a node whose first agent has not stopped yet is at work there once', async () => {
    const deaf = deafAgent();
    const one = world.chat({ languageModel, runAgent: deaf.runAgent });
    const two = world.chat({ languageModel });
    const { threadId, reading } = await ask(one);
    await world.keepAlive(two);
    expect(await two.runs.carryOn()).toBe(1);
    expect(await one.runs.carryOn()).toBe(0);
    await two.runs.close(0);
    const before = await runOf(threadId);
    expect(before.node_id).toBeNull();
    expect(await one.runs.carryOn()).toBe(1);
    await until(() => deaf.letGo.length === 2);
    deaf.letGo[0]?.();
    // Until the first has stopped, which nobody is told: turns of the event loop, not time.
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(await one.runs.carryOn()).toBe(0);
    deaf.letGo[1]?.();
    await reading;
    expect(await runOf(threadId)).toMatchObject({ state: 'completed', attempts: before.attempts + 1 });
  });

  test('calls of several users of one account at once cannot pass its cap', async () => {
    const { ann, bob } = world.callers;
    const callers = Array.from({ length: 12 }, (_, index) => (index % 2 === 0 ? ann : bob));
    // Whether statements meet is chance.
    for (let round = 0; round < 5; round += 1) {
      const chat = world.chat({ languageModel, runLimits: { runsPerAccountMax: 3 } });
      const results = await Promise.allSettled(callers.map((caller) => chat.open(caller, { input: 'x' })));
      const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.code] : []));
      expect(reasons).toEqual(Array.from({ length: 9 }, () => 'TOO_MANY_RUNS'));
      await chat.runs.close(0);
      await endAll();
    }
  });
});
