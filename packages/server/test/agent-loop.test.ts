import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { AgentDependencies, AgentLimits } from '../src/agent/agent-dependencies.ts';
import { runAgent } from '../src/agent/agent-loop.ts';
import type { AgentEvent } from '../src/agent/events.ts';
import type { InsideModel } from '../src/agent/language-models/language-model.ts';
import type { AgentInput } from '../src/agent/run-agent.ts';
import { InlayError } from '../src/errors.ts';
import {
  checkShape,
  eventsOf,
  hanging,
  type Logged,
  loopDependencies,
  noGrounding,
  question,
  toolThat,
  working,
} from './loop-world.ts';
import { call, type ScriptStep, say, scripted, stall, wait } from './scripted-language-model.ts';

const think = (text: string): ScriptStep => ({ type: 'thinking', text });

interface More extends Partial<Omit<AgentDependencies, 'limits' | 'log'>> {
  readonly limits?: Partial<AgentLimits>;
  readonly input?: Partial<AgentInput>;
}

function agent(turns: Parameters<typeof scripted>[0], { input, ...more }: More = {}) {
  const logged: Logged[] = [];
  const languageModel = scripted(turns);
  const events = eventsOf(loopDependencies(languageModel, more, logged), input);
  return { events, logged, languageModel };
}

const endOf = async (run: { events: Promise<AgentEvent[]> }): Promise<AgentEvent | undefined> => {
  const events = await run.events;
  checkShape(events);
  return events.at(-2);
};
const resultsOf = async (run: { events: Promise<AgentEvent[]> }): Promise<unknown[]> =>
  (await run.events).flatMap((event) => (event.type === 'tool-end' ? [JSON.parse(event.result)] : []));
const typesOf = async (run: { events: Promise<AgentEvent[]> }): Promise<string[]> =>
  (await run.events).map(({ type }) => type);

describe('a run', () => {
  test('feeds results back and ends with the last text', async () => {
    const run = agent([
      [say('First'), say(' look.'), call('working', { a: 1 }), call('working', { b: 2 }, 'second')],
      [{ type: 'tokens', input: 10, output: 3 }, say('Done.')],
    ]);
    expect(await endOf(run)).toMatchObject({ type: 'final', text: 'Done.' });
    expect(await typesOf(run)).toEqual([
      ...['text-delta', 'text-delta', 'step', 'text-end', 'tool-start', 'tool-start'],
      ...['tool-end', 'step', 'tool-end', 'step', 'text-delta', 'step', 'text-end', 'final', 'usage'],
    ]);
    expect(run.languageModel.requests[1]?.messages.slice(1)).toMatchObject([
      {
        role: 'assistant',
        content: 'First look.',
        toolCalls: [
          { id: 'call-working', name: 'working', input: '{"a":1}' },
          { id: 'second', name: 'working', input: '{"b":2}' },
        ],
      },
      { role: 'tool', toolCallId: 'call-working', name: 'working', result: '{"given":{"a":1}}' },
      { role: 'tool', toolCallId: 'second', name: 'working', result: '{"given":{"b":2}}' },
    ]);
    expect((await run.events).at(-1)).toMatchObject({
      usage: {
        models: ['builtin-analyst'],
        llmCalls: 2,
        inputTokens: 10,
        outputTokens: 3,
        totalTokens: 13,
        queries: 2,
        rows: 4,
      },
    });
  });

  test('runs the calls of a turn at the same time, and tells each end as it comes', async () => {
    const second = Promise.withResolvers<void>();
    const first = toolThat('first', async () => {
      // Only ends if the other one runs beside it.
      await second.promise;
      return {};
    });
    const other = toolThat('other', async () => {
      second.resolve();
      return {};
    });
    const run = agent([[call('first', {}), call('other', {})], [say('Done.')]], { tools: [first, other] });
    expect(await endOf(run)).toMatchObject({ type: 'final' });
    const tools = (await run.events).filter((event) => event.type === 'tool-start' || event.type === 'tool-end');
    const [a, b, c, d] = tools.map(({ messageId }) => messageId);
    expect([c, d]).toEqual([b, a]);
    // The language model reads them in the order in which it called.
    expect(run.languageModel.requests[1]?.messages.slice(2)).toMatchObject([{ name: 'first' }, { name: 'other' }]);
  });

  test('says one message per turn, without the white space before its first word', async () => {
    const run = agent([
      [say('\n'), say(' \n'), call('working', {})],
      [say('\n\nSo'), call('working', {}), say(' far.')],
      [say('End')],
    ]);
    await endOf(run);
    expect((await run.events).flatMap((event) => (event.type === 'text-delta' ? [event.text] : []))).toEqual([
      ...['So', ' far.', 'End'],
    ]);
  });

  test('names the model that answered, and the one before it', async () => {
    const run = agent([
      [say('a'), call('working', {})],
      [{ type: 'model', name: 'second-best' }, say('b')],
    ]);
    expect((await run.events).at(-1)).toMatchObject({ usage: { models: ['builtin-analyst', 'second-best'] } });
  });

  test('gives back what the language model wants back, unless the store cannot keep it', async () => {
    const data = (value: string): ScriptStep => ({ type: 'turn-data', data: { signature: value } });
    const run = agent([
      [call('working', {}), data('abc')],
      [call('working', {}), data('a\0')],
      [call('working', {}), data('x'.repeat(2_000_000))],
      [say('Done.')],
    ]);
    await endOf(run);
    const turns = run.languageModel.requests[3]?.messages.filter(({ role }) => role === 'assistant');
    expect(turns).toMatchObject([{ turnData: { signature: 'abc' } }, { turnData: null }, { turnData: null }]);
  });

  test.each([
    ['nothing', [[call('working', {})], []]],
    ['white space', [[say(' \n')]]],
  ])('in which %s is said ends with a word that says so', async (_what, turns) => {
    expect(await endOf(agent(turns))).toMatchObject({ type: 'final', text: 'The run ended without an answer.' });
  });

  test('ends at the second equal call that fails, not at a different one', async () => {
    const run = agent([
      [call('failing', { a: 1 })],
      [call('failing', { a: 2 })],
      [call('failing', { a: 1 })],
      [say('never')],
    ]);
    expect(await endOf(run)).toMatchObject({ type: 'final', text: 'I could not answer this: No such member.' });
    expect(await resultsOf(run)).toHaveLength(3);
  });

  test('goes on after equal calls of one turn that fail, for it could not know', async () => {
    const run = agent([[call('failing', {}), call('failing', {})], [say('Well.')]]);
    expect(await endOf(run)).toMatchObject({ type: 'final', text: 'Well.' });
  });

  test('tells nothing of the inside of a failed tool', async () => {
    const run = agent([[call('breaking', {})], [say('Sorry.')]]);
    expect(await endOf(run)).toMatchObject({ type: 'final' });
    expect(await resultsOf(run)).toEqual([
      { error: { code: 'INTERNAL', message: 'The tool failed inside (request req_1).', hint: '' } },
    ]);
    expect(JSON.stringify([await run.events, run.languageModel.requests])).not.toContain('secrets');
    expect(run.logged).toMatchObject([{ level: 'error', fields: { requestId: 'req_1', tool: 'breaking' } }]);
  });

  test.each([
    ['an unknown tool', call('nothing', {}), 'TOOL_NOT_FOUND', '"{}"'],
    ['an input that is not JSON', call('working', '{"a":'), 'TOOL_INPUT_INVALID', '"{\\"a\\":"'],
    ['an input that is no object', call('working', '[1]'), 'TOOL_INPUT_INVALID', '"[1]"'],
    [
      'an input that is too long',
      call('working', `"${'x'.repeat(200_000)}"`),
      'TOOL_INPUT_INVALID',
      expect.any(String),
    ],
  ])('goes on after %s, and shows its input as JSON', async (_what, step, code, shown) => {
    const run = agent([[step], [say('Well.')]]);
    expect(await endOf(run)).toMatchObject({ type: 'final' });
    expect(await resultsOf(run)).toMatchObject([{ error: { code } }]);
    const start = (await run.events).find((event) => event.type === 'tool-start');
    expect(start).toMatchObject({ input: shown });
    expect(() => JSON.parse(start?.type === 'tool-start' ? start.input : '')).not.toThrow();
  });

  test('adds its last line to an answer that was made with calls', async () => {
    const seen: unknown[] = [];
    const closingLine: AgentDependencies['closingLine'] = (calls) => {
      seen.push(calls);
      return 'From the certified query.';
    };
    const run = agent([[say('Look.'), call('working', {}), call('failing', {})], [say('42')]], { closingLine });
    expect(await endOf(run)).toMatchObject({ type: 'final', text: '42\n\nFrom the certified query.' });
    expect(seen).toMatchObject([
      [
        { name: 'working', hasFailed: false },
        { name: 'failing', hasFailed: true },
      ],
    ]);
  });

  test('holds only text that the store can hold, also where a character comes in two pieces', async () => {
    const run = agent([[say('a\0b\ud800c'), say('\ud83d'), say('\ude00'), say('\ud83d')]]);
    expect(await endOf(run)).toMatchObject({ type: 'final', text: 'ab\ufffdc😀\ufffd' });
  });

  test('says words that come at one moment as one, in their order', async () => {
    const languageModel: InsideModel = {
      kind: 'inside',
      name: 'quick',
      async *stream() {
        yield { type: 'thinking', text: 'H' };
        yield { type: 'thinking', text: 'm' };
        yield { type: 'text', text: 'a' };
        yield { type: 'text', text: 'b' };
        yield { type: 'tokens', input: 1, output: 1 };
        yield { type: 'text', text: 'c' };
        await setImmediate();
        yield { type: 'text', text: 'd' };
      },
    };
    const events = await Array.fromAsync(runAgent(loopDependencies(languageModel, { showsThinking: true }), question));
    const said = events.flatMap((event) => ('text' in event ? [event.text] : []));
    expect(said).toEqual(['Hm', 'ab', 'c', 'd', 'abcd']);
  });

  test('that nobody reads on tells the language model to stop', async () => {
    const languageModel = scripted([[say('a'), say('b')]]);
    for await (const _event of runAgent(loopDependencies(languageModel), question)) break;
    expect(languageModel.signals.map(({ aborted }) => aborted)).toEqual([true]);
  });
});

describe('thoughts', () => {
  const turns = [[think('Hm'), think('m.'), say('Look.'), think(' More.'), call('working', {})], [say('Done.')]];

  test('are a message of their own where they are shown', async () => {
    const run = agent(turns, { showsThinking: true });
    expect(await endOf(run)).toMatchObject({ type: 'final', text: 'Done.' });
    expect((await typesOf(run)).slice(0, 7)).toEqual([
      ...['thinking-delta', 'thinking-delta', 'text-delta', 'thinking-delta', 'step', 'thinking-end', 'text-end'],
    ]);
    expect(await run.events).toContainEqual(expect.objectContaining({ type: 'thinking-delta', text: ' More.' }));
  });

  test('are nothing where they are not, but count as text', async () => {
    const run = agent(turns);
    await endOf(run);
    expect(JSON.stringify(await run.events)).not.toMatch(/thinking|Hm|More/);
    const long = agent([[think('x'.repeat(20)), say('never')]], { limits: { textCharactersMax: 10 } });
    expect(await endOf(long)).toMatchObject({ type: 'final', text: expect.stringContaining('10 characters') });
  });
});

describe('a cap is said, and is the answer', () => {
  const expected = (why: RegExp) => ({ type: 'final', text: expect.stringMatching(why) });
  const tokens = (input: number): ScriptStep => ({ type: 'tokens', input, output: 1 });

  test.each<[string, Partial<AgentLimits>, () => readonly ScriptStep[], RegExp, number]>([
    ['turns', { agentTurnsMax: 3 }, () => [call('working', {})], /^I stop here: .*turns.*\(3\)\.$/, 3],
    [
      'tool calls',
      { agentToolCallsMax: 3 },
      () => [call('working', {}), call('working', {})],
      /^I stop here: .*tool calls.*\(3\)\.$/,
      2,
    ],
    [
      'tool calls in one turn',
      { agentToolCallsMax: 3 },
      () => Array.from({ length: 5 }, () => call('working', {})),
      /tool calls/,
      0,
    ],
    [
      'tokens',
      { runTokensMax: 1000 },
      () => [tokens(600), call('working', {})],
      /^I stop here: .*tokens.*\(1000\)\.$/,
      2,
    ],
    [
      'text',
      { textCharactersMax: 10 },
      () => [say('eight ch'), say('nine chars')],
      /^eight chni\n\nI stop here: .*10/,
      0,
    ],
    ['text in a pair', { textCharactersMax: 3 }, () => [say('ab😀')], /^ab\n\nI stop here: /, 0],
    ['time', { runMs: 30 }, () => [say('well'), stall], /^well\n\nI stop here: .*0.03 seconds/, 0],
    ['time in a tool', { runMs: 30 }, () => [say('Look.'), call('hanging', {})], /^I stop here: /, 1],
  ])('%s', async (_what, limits, turn, why, results) => {
    const run = agent(turn, { limits, tools: [working, hanging] });
    expect(await endOf(run)).toMatchObject(expected(why));
    expect(await resultsOf(run)).toHaveLength(results);
    expect(run.logged).toMatchObject([{ level: 'info' }]);
    // It can be carried on from there: the run is over.
    const last = (await run.events).findLast((event) => event.type === 'step');
    expect(last).toMatchObject({ step: { kind: 'turn', toolCalls: [] } });
  });

  test('time is counted from when the run began', async () => {
    const late = new Date(question.startedAt.getTime() + 60_000);
    const run = agent([[say('never')]], { limits: { runMs: 60_000 }, clock: () => late });
    expect(await endOf(run)).toMatchObject(expected(/60 seconds/));
    expect(run.languageModel.requests).toEqual([]);
  });

  test('a tool that is cut short by it says so', async () => {
    const run = agent([[call('hanging', {})]], { limits: { runMs: 20 } });
    await endOf(run);
    expect(await resultsOf(run)).toMatchObject([{ error: { code: 'QUERY_TIMEOUT' } }]);
  });
});

describe('a run is stopped', () => {
  const places: readonly [string, Partial<AgentDependencies>, readonly ScriptStep[]][] = [
    ['while grounding', { ground: () => new Promise<never>(() => undefined) }, []],
    ['before a word', {}, [stall]],
    ['in mid-text', {}, [say('So far'), stall]],
    ['in mid-thought', { showsThinking: true }, [think('So far'), stall]],
    ['in two tools', {}, [call('hanging', {}), call('hanging', {}, 'other')]],
  ];

  test.each(places)('%s', async (_what, more, steps) => {
    const stop = new AbortController();
    const run = agent([steps], { ...more, input: { signal: stop.signal } });
    await setImmediate();
    stop.abort(new InlayError('ABORTED', 'Stopped by the user.'));
    expect(await endOf(run)).toEqual({ type: 'aborted' });
    for (const signal of run.languageModel.signals) expect(signal.aborted).toBe(true);
    for (const result of await resultsOf(run)) expect(result).toMatchObject({ error: { code: 'ABORTED' } });
    expect(run.logged).toEqual([]);
  });

  test.each(places)('%s to be carried on elsewhere, without a word', async (_what, more, steps) => {
    const stop = new AbortController();
    const run = agent([steps], { ...more, input: { signal: stop.signal } });
    await setImmediate();
    stop.abort(new InlayError('RUN_INTERRUPTED', 'The server stops.'));
    for (const type of await typesOf(run)) expect(type).toMatch(/^(text-delta|thinking-delta|tool-start|step)$/);
    for (const signal of run.languageModel.signals) expect(signal.aborted).toBe(true);
    expect(run.logged).toEqual([]);
  });

  test('before it begins', async () => {
    const signal = AbortSignal.abort(new InlayError('ABORTED', 'Stopped by the user.'));
    const run = agent([[say('never')]], { input: { signal } });
    expect(await endOf(run)).toEqual({ type: 'aborted' });
    expect(run.languageModel.requests).toEqual([]);
  });

  test('when the session ends, which is no error of ours', async () => {
    const stop = new AbortController();
    const run = agent([[say('So far'), stall]], { input: { signal: stop.signal } });
    await setImmediate();
    stop.abort(new InlayError('SESSION_ENDED', 'The session has ended.'));
    expect(await endOf(run)).toMatchObject({ type: 'failed', code: 'SESSION_ENDED' });
    expect(run.logged).toMatchObject([{ level: 'info', fields: { code: 'SESSION_ENDED' } }]);
  });
});

describe('a run fails safely', () => {
  test.each<[string, ScriptStep, string]>([
    ['cut off', new Error('401 from https://key@host'), 'LANGUAGE_MODEL_FAILED'],
    [
      'slow',
      new InlayError('LANGUAGE_MODEL_TIMEOUT', 'The language model did not answer in time.'),
      'LANGUAGE_MODEL_TIMEOUT',
    ],
  ])('when the language model is %s in mid-text', async (_what, failure, code) => {
    const run = agent([[say('So'), failure]]);
    expect(await endOf(run)).toMatchObject({ type: 'failed', code, requestId: 'req_1' });
    expect(JSON.stringify(await run.events)).not.toContain('key@host');
    expect(await typesOf(run)).toEqual(['text-delta', 'text-end', 'failed', 'usage']);
    expect((await run.events).at(-1)).toMatchObject({ usage: { models: ['builtin-analyst'], llmCalls: 1 } });
    expect(run.logged).toMatchObject([{ level: 'warn', fields: { code } }]);
  });

  test('when the language model is silent', async () => {
    const run = agent([[say('So'), wait(new Promise(() => undefined))]], { limits: { languageModelSilenceMs: 20 } });
    expect(await endOf(run)).toMatchObject({ type: 'failed', code: 'LANGUAGE_MODEL_TIMEOUT' });
  });

  test('when grounding does', async () => {
    const ground = async () => {
      throw new Error('connect ECONNREFUSED 10.0.0.1');
    };
    const broken = agent([], { ground });
    expect(await endOf(broken)).toMatchObject({
      type: 'failed',
      code: 'INTERNAL',
      message: 'Something failed inside.',
    });
    expect(broken.logged).toMatchObject([{ level: 'error' }]);
    const gone = async () => {
      throw new InlayError('UNAUTHENTICATED', 'The session has ended.');
    };
    expect(await endOf(agent([], { ground: gone }))).toMatchObject({ type: 'failed', code: 'SESSION_ENDED' });
  });

  test('and asks for what may be known once', async () => {
    let asked = 0;
    const ground = async () => {
      asked += 1;
      return noGrounding;
    };
    await endOf(agent([[call('working', {})], [call('working', {})], [say('Done.')]], { ground }));
    expect(asked).toBe(1);
  });
});
