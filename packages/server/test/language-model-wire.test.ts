/** Language models over real HTTP, in both wire formats: what is sent, and what comes of an answer. */
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { ConversationMessage } from '../src/agent/language-models/language-model.ts';
import { InlayError } from '../src/errors.ts';
import { calls, says, scriptedKey, thinks, wireCall } from './language-model-server.ts';
import { busy, collect, done, openNetworkModel, question, saysAll, tokens, wires } from './language-model-world.ts';

export const failedWith = (code: string) => expect.objectContaining({ name: 'InlayError', code });

describe.each(wires)('%s', (wire) => {
  test('text, thoughts and parallel calls', async () => {
    const search = (id: string) => wireCall('platformMeta', { searchQuery: `revenue ${id} — “née” 🙂` }, id);
    await using world = await openNetworkModel(wire, [
      { steps: [thinks('Let me see.'), says('I look it up.'), { type: 'calls', calls: [search('c1'), search('c2')] }] },
    ]);
    const { events, error } = await collect(world.ask());
    expect(error).toBeNull();
    expect(events).toStrictEqual([
      { type: 'thinking', text: 'Let me see.' },
      { type: 'text', text: 'I look it up.' },
      { type: 'tool-call', id: 'c1', name: 'platformMeta', input: '{"searchQuery":"revenue c1 — “née” 🙂"}' },
      { type: 'tool-call', id: 'c2', name: 'platformMeta', input: '{"searchQuery":"revenue c2 — “née” 🙂"}' },
      tokens,
    ]);
  });

  test('the request: instructions, tools, the key in its header and nowhere else', async () => {
    await using world = await openNetworkModel(wire, [done], { entry: { temperature: 0, max_output_tokens: 500 } });
    expect((await collect(world.ask())).events).toStrictEqual([saysAll, tokens]);
    const [request] = world.server.requests;
    expect(request?.headers[wire === 'openai' ? 'authorization' : 'x-api-key']).toContain(scriptedKey);
    expect(request?.text).not.toContain(scriptedKey);
    expect(request?.body).toMatchObject({ model: 'scripted-1', stream: true, temperature: 0, max_tokens: 500 });
    expect(request?.text).toContain('You are an analyst.');
    expect(request?.text).toContain('"searchQuery":{"type":"string"}');
    // What every turn begins with is to be kept for the next one.
    if (wire === 'anthropic') expect(request?.text).toContain('"cache_control":{"type":"ephemeral"}');
    expect(await request?.ended).toBe('whole');
  });

  test('the turn after calls: results, thoughts, broken inputs, made-up names, ids that repeat', async () => {
    await using world = await openNetworkModel(wire, [
      { steps: [thinks('Hm.'), says('First.'), calls('platformMeta', { searchQuery: 'a' }, 'c1')] },
      done,
    ]);
    const { turnData } = await collect(world.ask());
    expect(turnData).not.toBeNull();
    const assistant = (content: string, toolCalls: readonly { id: string; name: string; input: string }[]) =>
      ({ role: 'assistant', content, modelText: null, toolCalls, turnData: null }) as const;
    const result = (toolCallId: string, name: string, text: string) =>
      ({ role: 'tool', toolCallId, name, result: text }) as const;
    const earlier = [
      question,
      assistant('', [
        { id: 'c1', name: 'no such.tool', input: '{"half":' },
        { id: 'c 2', name: 'platformMeta', input: '[1]' },
      ]),
      result('c1', 'no such.tool', 'unknown tool'),
      assistant('No.', []),
      { role: 'user', content: 'and by month?' },
    ] as const;
    const now = {
      ...assistant('First.', [{ id: 'c1', name: 'platformMeta', input: '{"searchQuery":"a"}' }]),
      turnData,
    };
    const { error } = await collect(world.ask([...earlier, now, result('c1', 'platformMeta', 'found a')]));
    expect(error).toBeNull();
    expect(world.server.requests[1]?.body['messages']).toMatchObject(wire === 'openai' ? openAiAfter : anthropicAfter);
  });
});

describe('the provider openai', () => {
  const entry = { provider: 'openai', model: 'gpt-5-mini' };
  test('text and calls', async () => {
    await using world = await openNetworkModel(
      'openai',
      [{ steps: [says('I look.'), calls('platformMeta', { a: 1 }, 'c1')] }],
      {
        entry,
      },
    );
    expect((await collect(world.ask())).events).toStrictEqual([
      { type: 'text', text: 'I look.' },
      { type: 'tool-call', id: 'c1', name: 'platformMeta', input: '{"a":1}' },
      tokens,
    ]);
    expect(world.server.requests[0]?.headers.authorization).toBe(`Bearer ${scriptedKey}`);
  });

  test.each([
    ['cut', { type: 'cut' }],
    ['ended without its end', { type: 'end' }],
    ['broken', { type: 'garbage' }],
    ['failed in the middle', { type: 'error', message: 'overloaded' }],
  ] as const)('a stream that is %s', async (_name, step) => {
    await using world = await openNetworkModel('openai', [busy(), { steps: [says('Half an '), step] }, done], {
      entry,
    });
    const { events, error } = await collect(world.ask());
    expect(events).toStrictEqual([{ type: 'text', text: 'Half an ' }]);
    expect(error).toEqual(failedWith('LANGUAGE_MODEL_FAILED'));
    expect(world.server.requests).toHaveLength(2);
  });

  test('abort before the first word', async () => {
    await using world = await openNetworkModel('openai', [{ steps: [{ type: 'stall' }] }], { entry });
    const stop = new AbortController();
    const collecting = collect(world.ask([question], stop.signal));
    while (world.server.requests.length === 0) await pause(5);
    stop.abort(new InlayError('ABORTED', 'Stopped.'));
    expect((await collecting).error).toEqual(failedWith('ABORTED'));
    expect(await world.server.requests[0]?.ended).toBe('left');
  });
});

test.each(wires)('%s: a long input of a tool is no silence', async (wire) => {
  await using world = await openNetworkModel(wire, [
    { steps: [calls('platformMeta', { searchQuery: 'x'.repeat(2000) })] },
  ]);
  let signs = 0;
  for await (const event of world.ask()) {
    if (event.type === 'tokens' && event.input + event.output === 0) signs += 1;
    if (event.type === 'tool-call') break;
  }
  expect(signs).toBeGreaterThan(100);
});

test('anthropic: a turn that another model began is gone on with without thinking', async () => {
  await using world = await openNetworkModel('anthropic', [done, done], {
    entry: { reasoning: 'low', model: 'claude-sonnet-4-5' },
  });
  const call = { id: 'c1', name: 'platformMeta', input: '{}' };
  const begun: readonly ConversationMessage[] = [
    question,
    { role: 'assistant', content: '', modelText: null, toolCalls: [call], turnData: { by: 'somebody', parts: [] } },
    { role: 'tool', toolCallId: 'c1', name: 'platformMeta', result: 'x' },
  ];
  await collect(world.ask());
  await collect(world.ask(begun));
  expect(world.server.requests.map(({ body }) => body['thinking'])).toMatchObject([
    { type: 'enabled' },
    { type: 'disabled' },
  ]);
});

const openAiAfter = [
  { role: 'system', content: 'You are an analyst.' },
  { role: 'user', content: 'revenue by channel' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [
      { id: 'c1', function: { name: 'no_such_tool', arguments: '{"input":"{\\"half\\":"}' } },
      { id: 'c_2', function: { name: 'platformMeta', arguments: '{"input":"[1]"}' } },
    ],
  },
  { role: 'tool', tool_call_id: 'c1', content: 'unknown tool' },
  { role: 'tool', tool_call_id: 'c_2', content: expect.stringContaining('ABORTED') },
  { role: 'assistant', content: 'No.' },
  { role: 'user', content: 'and by month?' },
  {
    role: 'assistant',
    content: 'First.',
    reasoning_content: 'Hm.',
    tool_calls: [{ id: 'c1_2', function: { name: 'platformMeta', arguments: '{"searchQuery":"a"}' } }],
  },
  { role: 'tool', tool_call_id: 'c1_2', content: 'found a' },
];

const anthropicAfter = [
  { role: 'user', content: [{ type: 'text', text: 'revenue by channel' }] },
  {
    role: 'assistant',
    content: [
      { type: 'tool_use', id: 'c1', name: 'no_such_tool', input: { input: '{"half":' } },
      { type: 'tool_use', id: 'c_2', name: 'platformMeta', input: { input: '[1]' } },
    ],
  },
  {
    role: 'user',
    content: [
      { type: 'tool_result', tool_use_id: 'c1', content: 'unknown tool' },
      { type: 'tool_result', tool_use_id: 'c_2', content: expect.stringContaining('ABORTED') },
    ],
  },
  { role: 'assistant', content: [{ type: 'text', text: 'No.' }] },
  { role: 'user', content: [{ type: 'text', text: 'and by month?' }] },
  {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'Hm.', signature: 'c2lnbmF0dXJl' },
      { type: 'text', text: 'First.' },
      { type: 'tool_use', id: 'c1_2', name: 'platformMeta', input: { searchQuery: 'a' } },
    ],
  },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1_2', content: 'found a' }] },
];
