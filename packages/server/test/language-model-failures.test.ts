/** Language models over real HTTP that fail, stall, are stopped or lead elsewhere, in both wire formats. */
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { boundedFetch } from '../src/agent/language-models/bounded-fetch.ts';
import { InlayError } from '../src/errors.ts';
import { openLog } from '../src/log.ts';
import {
  type LanguageModelServer,
  says,
  scriptedEntry,
  scriptedKey,
  type WireScript,
  type WireTurn,
} from './language-model-server.ts';
import { busy, collect, done, openNetworkModel, question, saysAll, tokens, wires } from './language-model-world.ts';

export const failedWith = (code: string) => expect.objectContaining({ name: 'InlayError', code });

describe.each(wires)('%s', (wire) => {
  test.each([
    ['cut', [says('Half an '), { type: 'cut' }]],
    ['ended without its end', [says('Half an '), { type: 'end' }]],
    ['broken', [says('Half an '), { type: 'garbage' }]],
    ['failed in the middle', [says('Half an '), { type: 'error', message: 'overloaded' }]],
  ] as const)('a stream that is %s is not begun anew', async (_name, steps) => {
    await using world = await openNetworkModel(wire, [{ steps }, done]);
    const { events, error } = await collect(world.ask());
    expect(events).toStrictEqual([{ type: 'text', text: 'Half an ' }]);
    expect(error).toEqual(failedWith('LANGUAGE_MODEL_FAILED'));
    expect(world.server.requests).toHaveLength(1);
  });

  test.each([
    ['429 with Retry-After', busy({ 'retry-after': '0' })],
    ['429', busy()],
    ['500', { status: 500 }],
    ['a stream that is cut before the first word', { steps: [{ type: 'cut' }] }],
    ['a stream that fails before the first word', { steps: [{ type: 'error', message: 'overloaded' }] }],
  ] satisfies readonly (readonly [string, WireTurn])[])('%s is tried again', async (_name, turn) => {
    await using world = await openNetworkModel(wire, [turn, turn, done]);
    const { events, error } = await collect(world.ask());
    expect(error).toBeNull();
    expect(events).toStrictEqual([saysAll, tokens]);
    expect(world.server.requests).toHaveLength(3);
    expect(world.told()).toContain('"attempt":1');
  });

  test('it gives up after its retries, and what is told holds neither the key nor what the provider said', async () => {
    const message = `You cannot use ${scriptedKey}, ${'x'.repeat(1000)}`;
    await using world = await openNetworkModel(wire, () => ({ status: 503, message }), { entry: { retries: 1 } });
    const { error } = await collect(world.ask());
    expect(error).toEqual(failedWith('LANGUAGE_MODEL_FAILED'));
    if (!(error instanceof InlayError)) throw new Error('not ours');
    expect(error.message).toBe('The language model failed.');
    const type = wire === 'openai' ? 'server_error' : 'api_error';
    expect(String(error.cause)).toBe(`Error: status 503: the provider refused: ${type}`);
    expect(world.server.requests).toHaveLength(2);
    expect(world.told()).toContain('"status":503');
    expect(world.told()).not.toContain(scriptedKey);
    expect(world.told()).not.toContain('You cannot');
  });

  test.each<[string, (echo: string) => WireTurn]>([
    ['a refusal', (message) => ({ status: 400, message, headers: { 'x-request-id': 'req_provider_7' } })],
    ['an error in the stream', (message) => ({ steps: [{ type: 'error', message }] })],
    ['an answer that cannot be read', (message) => ({ steps: [says(message), { type: 'garbage' }] })],
  ])('a provider that echoes what it was sent: none of it is told (%s)', async (name, turn) => {
    const script: WireScript = ({ text }) => turn(`Invalid: ${text}`);
    await using world = await openNetworkModel(wire, script, { entry: { retries: 0 } });
    const { error } = await collect(world.ask([{ role: 'user', content: 'SECRET-of-another is 4242424242' }]));
    const lines: string[] = [];
    openLog({ write: (line) => void lines.push(line) }).warn({ err: error }, 'a run failed');
    const told = `${world.told()}\n${lines.join('')}`;
    expect(told).toContain('LANGUAGE_MODEL_FAILED');
    expect(told).not.toMatch(/SECRET|42424|analyst|Invalid/);
    if (name !== 'a refusal') return;
    expect(told).toContain('"status":400');
    expect(told).toContain('"providerRequestId":"req_provider_7"');
  });

  test.each([
    ['a refusal', { status: 401, message: 'no' }],
    ['a Retry-After that is too long', busy({ 'retry-after': '3600' })],
  ] satisfies readonly (readonly [string, WireTurn])[])(
    '%s is not tried again: the fallback answers',
    async (_n, turn) => {
      const others = (server: LanguageModelServer) => [
        scriptedEntry(server, wire === 'openai' ? 'anthropic' : 'openai', { name: 'other', input_tokens_max: 5000 }),
      ];
      await using world = await openNetworkModel(wire, [turn, done], { entry: { fallback: 'other' }, others });
      expect(world.model.inputTokensMax).toBe(5000);
      const { events } = await collect(world.ask());
      expect(events).toStrictEqual([{ type: 'model', name: 'other' }, saysAll, tokens]);
      expect(world.server.requests.map((request) => request.wire)).toStrictEqual(
        wire === 'openai' ? ['openai', 'anthropic'] : ['anthropic', 'openai'],
      );
    },
  );

  test('a stall before the first word: the fallback answers, and the connection is let go', async () => {
    await using world = await openNetworkModel(wire, [{ steps: [{ type: 'stall' }] }, done], {
      entry: { fallback: 'other', first_token_seconds: 0.2 },
      others: (server) => [scriptedEntry(server, wire, { name: 'other' })],
    });
    const { events } = await collect(world.ask());
    expect(events).toStrictEqual([{ type: 'model', name: 'other' }, saysAll, tokens]);
    expect(await world.server.requests[0]?.ended).toBe('left');
  });

  test('a stall without a fallback is a time-out', async () => {
    await using world = await openNetworkModel(wire, () => ({ steps: [{ type: 'stall' }] }), {
      entry: { first_token_seconds: 0.2 },
    });
    const { error } = await collect(world.ask());
    expect(error).toEqual(failedWith('LANGUAGE_MODEL_TIMEOUT'));
    expect(world.server.requests).toHaveLength(1);
  });

  test('a turn that does not end is a time-out', async () => {
    await using world = await openNetworkModel(wire, [{ steps: [says('On and '), { type: 'stall' }] }], {
      entry: { turn_seconds: 1 },
    });
    const { events, error } = await collect(world.ask());
    expect(events).toStrictEqual([{ type: 'text', text: 'On and ' }]);
    expect(error).toEqual(failedWith('LANGUAGE_MODEL_TIMEOUT'));
    expect(await world.server.requests[0]?.ended).toBe('left');
  });

  test.each([
    ['before the first word', [{ type: 'stall' }]],
    ['in the middle', [says('On and '), { type: 'stall' }]],
  ] as const)('abort %s ends the stream and the connection', async (_name, steps) => {
    await using world = await openNetworkModel(wire, [{ steps }]);
    const stop = new AbortController();
    let said = 0;
    const asked = world.ask([question], stop.signal);
    async function* noted() {
      for await (const event of asked) {
        said += event.type === 'text' ? 1 : 0;
        yield event;
      }
    }
    const collecting = collect(noted());
    while (world.server.requests.length === 0 || said < steps.length - 1) await pause(5);
    const reason = new InlayError('ABORTED', 'Stopped.');
    stop.abort(reason);
    expect((await collecting).error).toBe(reason);
    expect(await world.server.requests[0]?.ended).toBe('left');
  });

  test('a reader that leaves ends the connection', async () => {
    const { promise: never } = Promise.withResolvers<void>();
    await using world = await openNetworkModel(wire, [{ steps: [says('On and '), { type: 'wait', for: never }] }]);
    for await (const event of world.ask()) if (event.type === 'text') break;
    expect(await world.server.requests[0]?.ended).toBe('left');
  });

  test('abort during a pause ends it', async () => {
    await using world = await openNetworkModel(wire, () => ({ status: 429, headers: { 'retry-after': '50' } }), {
      entry: { retries: 10 },
    });
    const stop = new AbortController();
    const collecting = collect(world.ask([question], stop.signal));
    while (!world.told().includes('"attempt":0')) await pause(5);
    stop.abort(new InlayError('ABORTED', 'Stopped.'));
    expect((await collecting).error).toEqual(failedWith('ABORTED'));
    expect(world.server.requests).toHaveLength(1);
  });

  test('a redirect is not followed: the key stays here', async () => {
    await using elsewhere = await openNetworkModel(wire, () => done);
    const location = `${elsewhere.server.url}/${wire === 'openai' ? 'chat/completions' : 'messages'}`;
    await using world = await openNetworkModel(wire, () => ({ status: 307, headers: { location } }), {
      entry: { retries: 0 },
    });
    expect((await collect(world.ask())).error).toEqual(failedWith('LANGUAGE_MODEL_FAILED'));
    expect(elsewhere.server.requests).toHaveLength(0);
  });
});

describe('answers have an end', () => {
  test.each(wires)('a turn with more tool calls than any run may make fails: %s', async (wire) => {
    const one = (index: number) => ({ id: `call_${index}`, name: 'platformMeta', input: ['{}'] });
    const turn = { steps: [{ type: 'calls', calls: Array.from({ length: 300 }, (_, index) => one(index)) }] } as const;
    await using world = await openNetworkModel(wire, () => turn, { entry: { retries: 0 } });
    const { error } = await collect(world.ask());
    expect(error).toEqual(failedWith('LANGUAGE_MODEL_FAILED'));
    expect(world.told()).toContain('more tool calls than allowed');
  });

  const ask = (server: LanguageModelServer) =>
    boundedFetch(`${server.url}/messages`, { method: 'POST', body: JSON.stringify({}) });
  /** Bytes that are read of an answer, until it ends or is cut off. */
  const read = async (response: Response): Promise<number> => {
    let bytes = 0;
    try {
      for await (const chunk of response.body ?? []) bytes += chunk.byteLength;
    } catch {
      return bytes;
    }
    return Number.POSITIVE_INFINITY;
  };

  test.each([
    ['a refusal', { status: 400, message: 'x'.repeat(1_000_000) }, 65_536],
    ['a turn', { steps: [{ type: 'text', pieces: Array(40).fill('x'.repeat(1_048_576)) }] }, 33_554_432],
  ] satisfies readonly (readonly [string, WireTurn, number])[])('%s', async (_name, turn, bytesMax) => {
    await using world = await openNetworkModel('anthropic', () => turn);
    expect(await read(await ask(world.server))).toBeLessThanOrEqual(bytesMax);
  });

  test('and below it are whole', async () => {
    await using world = await openNetworkModel('anthropic', () => done);
    expect(await (await ask(world.server)).text()).toContain('message_stop');
  });
});
