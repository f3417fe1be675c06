/** What a language model over the network is sent, and what is made of what it writes. */
import { describe, expect, test, vi } from 'vitest';
import type { AgentEvent } from '../src/agent/events.ts';
import type { ConversationMessage } from '../src/agent/language-models/language-model.ts';
import { eventsOf, loopDependencies, noGrounding, toolThat } from './loop-world.ts';
import { call, type ScriptStep, say, scripted, scriptedNetwork } from './scripted-language-model.ts';

const rows = toolThat('rows', async () => ({
  uuid: 'abcdef01-2345',
  schema: [
    { name: 'channel', column_type: 'String' },
    { name: 'revenue', column_type: 'Int64' },
  ],
  data: Array.from({ length: 30 }, (_, index) => [`secret-${index}`, 7000 + index]),
  totalRows: 30,
}));

const asked = (content: string): ConversationMessage => ({ role: 'user', content });
const answered = (content: string, modelText: string | null): ConversationMessage => ({
  role: 'assistant',
  content,
  modelText,
  toolCalls: [],
  turnData: null,
});

const turns: readonly (readonly ScriptStep[])[] = [
  [call('rows', {})],
  [say('The first is {{qabcd'), say('ef01.channel[1]}}'), say(', of {{qabcdef01.totalRows}}.')],
];

const textOf = (events: readonly AgentEvent[]): string =>
  events.flatMap((event) => (event.type === 'text-delta' ? [event.text] : [])).join('');

describe('a language model over the network', () => {
  test('is sent the words for it, the tools, and results in a form of their own', async () => {
    const model = scriptedNetwork([[call('rows', {})], [say('Done.')]]);
    await eventsOf(loopDependencies(model, { tools: [rows], limits: { modelRowsMax: 3 } }));
    expect(model.requests[0]).toMatchObject({
      system: 'You are an analyst.',
      messages: [{ role: 'user', content: 'question' }],
      tools: [{ name: 'rows' }],
    });
    expect(model.requests[0]).not.toHaveProperty('context');
    const [, turn, result] = model.requests[1]?.messages ?? [];
    expect(turn).toMatchObject({ role: 'assistant', toolCalls: [{ id: 'call-rows', name: 'rows', input: '{}' }] });
    const shown = result?.role === 'tool' ? result.result : '';
    expect(shown).toContain('secret-2');
    expect(shown).not.toContain('secret-3');
    expect(shown).toMatch(/untrusted/);
  });

  test('is sent no more than it takes', async () => {
    const before = Array.from({ length: 200 }, (_, index) => [
      asked(`question ${index}`),
      answered('a'.repeat(100), null),
    ]);
    const model = scriptedNetwork([[say('Done.')]], { inputTokensMax: 2000 });
    await eventsOf(loopDependencies(model, { tools: [] }), { messages: [...before.flat(), asked('the last')] });
    const sent = model.requests[0]?.messages ?? [];
    expect(sent.at(-1)).toEqual(asked('the last'));
    expect(sent.length).toBeGreaterThan(10);
    expect(Buffer.byteLength(JSON.stringify(sent))).toBeLessThan(8000);
  });

  test('is not told the last lines that were added to its earlier answers', async () => {
    const model = scriptedNetwork([[say('Done.')]]);
    const turn = (id: string, said: string): ConversationMessage[] => [
      asked('q'),
      {
        role: 'assistant',
        content: '',
        modelText: null,
        turnData: null,
        toolCalls: [{ id, name: 'rows', input: `{"of":"${id}"}` }],
      },
      { role: 'tool', toolCallId: id, name: 'rows', result: '{}' },
      answered(said, null),
    ];
    await eventsOf(
      loopDependencies(model, { closingLine: (calls) => `Certified ${calls.map(({ input }) => input).join()}.` }),
      {
        messages: [
          ...turn('a', 'One.\n\nCertified {"of":"a"}.'),
          ...turn('b', 'Two.\n\nCertified {"of":"a"}.'),
          asked('c'),
        ],
      },
    );
    const said = model.requests[0]?.messages.flatMap((message) => ('content' in message ? [message.content] : []));
    expect(said).toEqual(['q', '', 'One.', 'q', '', 'Two.\n\nCertified {"of":"a"}.', 'c']);
  });

  test('is sent no message without anything in it', async () => {
    const model = scriptedNetwork([[say('Done.')]]);
    await eventsOf(loopDependencies(model), { messages: [asked('a'), answered(' ', null), asked('b')] });
    expect(model.requests[0]?.messages).toEqual([asked('a'), asked('b')]);
  });
});

describe('in private mode', () => {
  test.each([
    ['of the agent', true, false],
    ['of the operator', false, true],
  ])('%s no value reaches it, and its placeholders are filled in', async (_whose, isPrivate, modelIsPrivate) => {
    const model = scriptedNetwork(turns, { isPrivate: modelIsPrivate });
    const events = await eventsOf(loopDependencies(model, { tools: [rows], isPrivate }));
    // Message ids are random, and may hold any digits.
    const told = JSON.stringify(model.requests).replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, '');
    expect(told).not.toMatch(/secret|70\d\d/);
    expect(textOf(events)).toBe('The first is secret-0, of 30.');
    expect(events.at(-2)).toMatchObject({ type: 'final', text: 'The first is secret-0, of 30.' });
    expect(events.filter(({ type }) => type === 'text-end')).toMatchObject([
      { modelText: 'The first is {{qabcdef01.channel[1]}}, of {{qabcdef01.totalRows}}.' },
    ]);
    // The user sees all of it.
    expect(JSON.stringify(events)).toContain('secret-29');
  });

  test('it is told earlier answers as it wrote them, and none of which that is not known', async () => {
    const model = scriptedNetwork([[say('Done.')]]);
    const messages = [
      ...[asked('one'), answered('It is secret-1.', null)],
      ...[asked('two'), answered('It is secret-2.', 'It is {{q00000000.channel[1]}}.')],
      asked('three'),
    ];
    await eventsOf(loopDependencies(model, { isPrivate: true }), { messages });
    const sent = JSON.stringify(model.requests);
    expect(sent).not.toContain('secret');
    expect(sent).toContain('It is {{q00000000.channel[1]}}.');
  });

  test('the loop’s own words are no words of the model', async () => {
    const model = scriptedNetwork([[say('42')]]);
    const events = await eventsOf(loopDependencies(model, { isPrivate: true, closingLine: () => 'Certified.' }));
    expect(events.at(-2)).toMatchObject({ text: '42\n\nCertified.' });
    expect(events.find(({ type }) => type === 'text-end')).toMatchObject({ modelText: '42' });
  });

  test('of a run that is carried on it is told nothing that was said before private mode, nor is a later one', async () => {
    const open = scriptedNetwork([
      [say('I look at secret-0.'), call('rows', { channel: 'secret-1' })],
      [say('It is secret-2.'), call('rows', { channel: 'secret-3' }, 'more')],
      [say('Done.')],
    ]);
    const before = await eventsOf(loopDependencies(open, { tools: [rows] }));
    const steps = before.flatMap((event) => (event.type === 'step' ? [event.step] : []));
    const results = new Map(
      before.flatMap((event) => (event.type === 'tool-end' ? [[event.messageId, event.result] as const] : [])),
    );
    // As if its node had gone before the last turn, and private mode had been switched on meanwhile.
    const resume = { steps: steps.slice(0, 4), results, unfinished: [] };
    const model = scriptedNetwork([[call('rows', {})], [say('It is {{qabcdef01.channel[1]}}.')]]);
    const events = await eventsOf(loopDependencies(model, { tools: [rows], isPrivate: true }), { resume });
    expect(steps.map(({ kind }) => kind)).toEqual(['turn', 'tool', 'turn', 'tool', 'turn']);
    expect(JSON.stringify(model.requests)).not.toContain('secret');
    expect(textOf(events)).toBe('It is secret-0.');
    // The calls of the thread hold values: so the whole answer is of unknown origin.
    expect(events.filter(({ type }) => type === 'text-end')).toEqual([
      { type: 'text-end', messageId: expect.any(String) },
    ]);
  });

  test('a model inside this process is told everything, as no value leaves it', async () => {
    const model = scripted([[call('rows', {})], [say('{{qabcdef01.totalRows}}')]]);
    const events = await eventsOf(loopDependencies(model, { tools: [rows], isPrivate: true }));
    expect(JSON.stringify(model.requests)).toContain('secret-29');
    expect(textOf(events)).toBe('{{qabcdef01.totalRows}}');
  });
});

test('an earlier result is read once in a run, however many turns tell it, and names are indexed once', async () => {
  let indexed = 0;
  const relation = {
    name: 'sales',
    type: 'view',
    title: 'Sales',
    description: '',
    synonyms: [],
    get members() {
      indexed += 1;
      return [];
    },
  } as const;
  const search = (index: number): ConversationMessage[] => [
    asked(`q${index}`),
    {
      role: 'assistant',
      content: '',
      modelText: null,
      turnData: null,
      toolCalls: [{ id: `s${index}`, name: 'meta', input: '{}' }],
    },
    {
      role: 'tool',
      toolCallId: `s${index}`,
      name: 'meta',
      result: `{"searchQuery":"sales ${index}","cubes":[]}`,
    },
    answered('Two\n\nparagraphs.', null),
  ];
  const model = scriptedNetwork([...Array.from({ length: 4 }, () => [call('rows', {})]), [say('Done.')]]);
  const parse = vi.spyOn(JSON, 'parse');
  using _spied = { [Symbol.dispose]: () => parse.mockRestore() };
  const grounding = { ...noGrounding, context: { ...noGrounding.context, relations: [relation] } };
  await eventsOf(
    loopDependencies(model, { tools: [rows], closingLine: () => 'Certified.', ground: async () => grounding }),
    { messages: [...Array.from({ length: 10 }, (_, index) => search(index)).flat(), asked('last')] },
  );
  expect(model.requests).toHaveLength(5);
  expect(model.requests[4]?.messages.filter(({ role }) => role === 'tool')).toHaveLength(14);
  const read = parse.mock.calls.filter(([text]) => String(text).includes('"searchQuery":"sales '));
  expect(read).toHaveLength(10);
  expect(indexed).toBe(1);
});
