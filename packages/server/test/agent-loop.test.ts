import { SemanticError } from '@inlay/semantic/semantic-error.ts';
import { describe, expect, test } from 'vitest';
import { type AgentDependencies, type AgentInput, runAgent } from '../src/agent/agent-loop.ts';
import type { AgentEvent } from '../src/agent/events.ts';
import { InlayError } from '../src/errors.ts';
import { testLimits, toolThat } from './chat-world.ts';
import { call, type ScriptStep, say, scripted, stall } from './scripted-language-model.ts';

const input: AgentInput = {
  messages: [{ role: 'user', content: 'question' }],
  resultIds: [],
  principal: { accountId: 1, userId: 1, sessionId: null, apiKeyId: null, scopeId: null, securityContext: {} },
  deploymentId: 1,
  requestId: 'req_1',
  signal: new AbortController().signal,
};

const failing = toolThat('failing', async () => {
  throw new SemanticError('MEMBER_NOT_FOUND', 'No such member.');
});
const breaking = toolThat('breaking', async () => {
  throw new Error('relation "secrets" does not exist');
});
const working = toolThat('working', async (given) => ({ given }));

function agent(
  turns: Parameters<typeof scripted>[0],
  more: Partial<AgentDependencies> & { readonly input?: Partial<AgentInput> } = {},
) {
  const errors: object[] = [];
  const languageModel = scripted(turns);
  const dependencies: AgentDependencies = {
    languageModel,
    tools: [failing, breaking, working],
    ground: async () => ({ today: '2026-01-01', relations: [], valueMatches: [], toolNames: { meta: 'm', sql: 's' } }),
    log: { error: (fields) => void errors.push(fields) },
    ...more,
    limits: { ...testLimits, ...more.limits },
  };
  const events = Array.fromAsync(runAgent(dependencies, { ...input, ...more.input }));
  return { events, errors, languageModel };
}

/** Every message is opened once and closed once; the end comes before the usage; the usage is last. */
function checkShape(events: readonly AgentEvent[]): void {
  const open = new Set<string>();
  for (const event of events) {
    if (event.type === 'text-delta' || event.type === 'tool-start') open.add(event.messageId);
    if (event.type === 'text-end' || event.type === 'tool-end') expect(open.delete(event.messageId)).toBe(true);
    if (event.type === 'final') expect(open.size).toBe(0);
  }
  expect(open.size).toBe(0);
  expect(events.slice(-2).map(({ type }) => type)).toEqual([
    expect.stringMatching(/^(final|aborted|failed)$/),
    'usage',
  ]);
}

const endOf = async (run: { events: Promise<AgentEvent[]> }): Promise<AgentEvent | undefined> => {
  const events = await run.events;
  checkShape(events);
  return events.at(-2);
};
const resultsOf = async (run: { events: Promise<AgentEvent[]> }): Promise<unknown[]> =>
  (await run.events).flatMap((event) => (event.type === 'tool-end' ? [JSON.parse(event.result)] : []));

describe('a run', () => {
  test('feeds results back and ends with the last text', async () => {
    const run = agent([
      [say('First'), say(' look.'), call('working', { a: 1 }), call('working', { b: 2 }, 'second')],
      [{ type: 'tokens', input: 10, output: 3 }, say('Done.')],
    ]);
    expect(await endOf(run)).toMatchObject({ type: 'final', text: 'Done.' });
    expect((await run.events).map(({ type }) => type)).toEqual([
      ...['text-delta', 'text-delta', 'text-end', 'tool-start', 'tool-end', 'tool-start', 'tool-end'],
      ...['text-delta', 'text-end', 'final', 'usage'],
    ]);
    expect(run.languageModel.requests[1]?.messages.slice(1)).toEqual([
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
      usage: { models: ['builtin-analyst'], llmCalls: 2, inputTokens: 10, outputTokens: 3, totalTokens: 13 },
    });
  });

  test('without a word ends with one that says so', async () => {
    const run = agent([[call('working', {})], []]);
    expect(await endOf(run)).toMatchObject({ type: 'final', text: 'The run ended without an answer.' });
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

  test('tells nothing of the inside of a failed tool', async () => {
    const run = agent([[call('breaking', {})], [say('Sorry.')]]);
    expect(await endOf(run)).toMatchObject({ type: 'final' });
    expect(await resultsOf(run)).toEqual([
      { error: { code: 'INTERNAL', message: 'The tool failed inside (request req_1).', hint: '' } },
    ]);
    expect(JSON.stringify([await run.events, run.languageModel.requests])).not.toContain('secrets');
    expect(run.errors).toMatchObject([{ requestId: 'req_1', tool: 'breaking' }]);
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

  test.each([
    ['turns', 'TOO_MANY_TURNS', { agentTurnsMax: 3 }, (): readonly ScriptStep[] => [call('working', {})]],
    [
      'tool calls',
      'TOO_MANY_TOOL_CALLS',
      { agentToolCallsMax: 3 },
      (): readonly ScriptStep[] => [call('working', {}), call('working', {})],
    ],
    [
      'tool calls in one turn',
      'TOO_MANY_TOOL_CALLS',
      { agentToolCallsMax: 3 },
      () => Array.from({ length: 5 }, () => call('working', {})),
    ],
    ['text', 'ANSWER_TOO_LONG', { textCharactersMax: 10 }, () => [say('eight ch'), say('nine chars')]],
    ['time', 'RUN_TIMEOUT', { runMs: 30 }, () => [say('well'), stall]],
    ['time in a tool', 'RUN_TIMEOUT', { runMs: 30 }, () => [call('hanging', {})]],
  ])('has a limit on %s: %s', async (_what, code, limits, turn) => {
    const hanging = toolThat('hanging', () => new Promise(() => undefined));
    const run = agent(turn, { limits: { ...testLimits, ...limits }, tools: [working, hanging] });
    expect(await endOf(run)).toMatchObject({ type: 'failed', code, requestId: 'req_1' });
  });

  test.each([
    ['while grounding', { ground: () => new Promise<never>(() => undefined) }, []],
    ['before a word', {}, [stall]],
    ['in mid-text', {}, [say('So far'), stall]],
    ['in a tool', { tools: [toolThat('hanging', () => new Promise(() => undefined))] }, [call('hanging', {})]],
  ])('is stopped %s', async (_what, more, steps) => {
    const stop = new AbortController();
    const run = agent([steps], { ...more, input: { signal: stop.signal } });
    await new Promise((resolve) => setImmediate(resolve));
    stop.abort(new InlayError('ABORTED', 'Stopped by the user.'));
    expect(await endOf(run)).toEqual({ type: 'aborted' });
    for (const signal of run.languageModel.signals) expect(signal.aborted).toBe(true);
  });

  test('is stopped before it begins', async () => {
    const signal = AbortSignal.abort(new InlayError('ABORTED', 'Stopped by the user.'));
    const run = agent([[say('never')]], { input: { signal } });
    expect(await endOf(run)).toEqual({ type: 'aborted' });
    expect(run.languageModel.requests).toEqual([]);
  });

  test('fails safely when the language model does', async () => {
    const run = agent([[say('So'), new Error('401 from https://key@host')]]);
    expect(await endOf(run)).toEqual({
      type: 'failed',
      code: 'LANGUAGE_MODEL_FAILED',
      message: 'The language model failed.',
      requestId: 'req_1',
    });
    expect(run.errors).toHaveLength(1);
  });

  test('fails safely when grounding does', async () => {
    const ground = async () => {
      throw new Error('connect ECONNREFUSED 10.0.0.1');
    };
    expect(await endOf(agent([], { ground }))).toMatchObject({
      type: 'failed',
      code: 'INTERNAL',
      message: 'Something failed inside.',
    });
    const gone = async () => {
      throw new InlayError('UNAUTHENTICATED', 'The session has ended.');
    };
    expect(await endOf(agent([], { ground: gone }))).toMatchObject({ type: 'failed', code: 'UNAUTHENTICATED' });
  });

  test('holds only text that the store can hold', async () => {
    const run = agent([[say('a\0b\ud800c')]]);
    expect(await endOf(run)).toMatchObject({ type: 'final', text: 'ab\ufffdc' });
  });

  test('that nobody reads on tells the language model to stop', async () => {
    const languageModel = scripted([[say('a'), say('b')]]);
    const dependencies: AgentDependencies = {
      languageModel,
      tools: [],
      ground: async () => ({ today: '', relations: [], valueMatches: [], toolNames: { meta: '', sql: '' } }),
      log: { error: () => undefined },
      limits: testLimits,
    };
    for await (const _event of runAgent(dependencies, input)) break;
    expect(languageModel.signals.map(({ aborted }) => aborted)).toEqual([true]);
  });
});
