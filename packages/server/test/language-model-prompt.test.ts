/** Conversations as providers take them, whatever the conversation holds; thoughts that go back; text in pieces. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ConversationMessage } from '../src/agent/language-models/language-model.ts';
import { createStorableText } from '../src/agent/language-models/storable.ts';
import { toPrompt } from '../src/agent/language-models/to-prompt.ts';
import { collectTurn, partsOf } from '../src/agent/language-models/turn-data.ts';

const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', ' ', 'née 🙂', 'a\0b', '\ud83d'));
const id = fc.oneof(fc.constantFrom('c1', 'c 1', 'call_0', ''), fc.string());
const anyCall = fc.record({
  id,
  name: fc.oneof(fc.constant('platformMeta'), anyText),
  input: fc.oneof(anyText, fc.json()),
});
const thought = fc.record({ kind: fc.constant('thought' as const), text: fc.string() });
const turnData = fc.oneof(
  fc.constant(null),
  fc.record({ by: fc.constantFrom('me', 'else'), parts: fc.array(thought, { maxLength: 2 }) }),
  fc.constant({ nonsense: true }),
);
const message: fc.Arbitrary<ConversationMessage> = fc.oneof(
  fc.record({ role: fc.constant('user' as const), content: anyText }),
  fc.record({
    role: fc.constant('assistant' as const),
    content: anyText,
    modelText: fc.constant(null),
    toolCalls: fc.uniqueArray(anyCall, { maxLength: 3, selector: (call) => call.id }),
    turnData,
  }),
  fc.record({ role: fc.constant('tool' as const), toolCallId: id, name: anyText, result: anyText }),
);

test('every conversation becomes a prompt that providers take', () => {
  fc.assert(
    fc.property(fc.array(message, { maxLength: 12 }), (messages) => {
      const { prompt } = toPrompt({ system: 'Be brief.', messages }, 'me', null);
      const seen = new Set<string>();
      for (const [index, { role, content }] of prompt.entries()) {
        if (role === 'system') expect(index).toBe(0);
        else expect(role).not.toBe(prompt[index - 1]?.role);
        expect(content.length).toBeGreaterThan(0);
        expect(JSON.stringify(content)).not.toMatch(/\\u0000|\\ud[89a-f]/);
        if (role !== 'assistant') continue;
        const calls = content.filter((part) => part.type === 'tool-call');
        for (const { toolCallId, toolName, input } of calls) {
          expect(seen.has(toolCallId)).toBe(false);
          seen.add(toolCallId);
          expect(`${toolCallId} ${toolName}`).toMatch(/^[\w-]{1,64} [\w-]{1,64}$/);
          expect(Object.prototype.toString.call(input)).toBe('[object Object]');
        }
        const next = prompt[index + 1];
        const results = next?.role === 'tool' ? next.content.filter((part) => part.type === 'tool-result') : [];
        expect(results.map(({ toolCallId }) => toolCallId)).toStrictEqual(calls.map(({ toolCallId }) => toolCallId));
      }
    }),
    { numRuns: 2000 },
  );
});

test('questions and answers are all there, in their order', () => {
  const clean = fc.string({ unit: fc.constantFrom('a', 'b', ' '), minLength: 1 }).filter((text) => text.trim() !== '');
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), clean)), (said) => {
      const messages = said.map(
        ([isUser, content]): ConversationMessage =>
          isUser
            ? { role: 'user', content }
            : { role: 'assistant', content, modelText: null, toolCalls: [], turnData: null },
      );
      const { prompt } = toPrompt({ system: '', messages }, 'me', null);
      const texts = prompt.flatMap(({ content }) =>
        typeof content === 'string' ? [content] : content.map((part) => (part.type === 'text' ? part.text : '')),
      );
      expect(texts.join('').replaceAll('\n\n', '')).toBe(said.map(([, text]) => text).join(''));
    }),
  );
});

describe('thoughts', () => {
  const write = (by: string) => {
    const turn = collectTurn(by);
    turn.add({ type: 'reasoning-start', id: '0' });
    turn.add({ type: 'reasoning-delta', id: '0', delta: 'Hm' });
    turn.add({ type: 'reasoning-delta', id: '0', delta: '', providerMetadata: { anthropic: { signature: 's' } } });
    turn.add({ type: 'reasoning-end', id: '0' });
    turn.add({ type: 'text-delta', id: '1', delta: 'I ' });
    turn.add({ type: 'text-delta', id: '1', delta: 'look.' });
    turn.add({ type: 'text-end', id: '1' });
    turn.add({ type: 'reasoning-start', id: '0', providerMetadata: { anthropic: { redactedData: 'r' } } });
    turn.add({ type: 'tool-call', toolCallId: 'c1', toolName: 'x', input: '{}' });
    return turn.end();
  };
  const assistant = (content: string, by: string): ConversationMessage => ({
    role: 'assistant',
    content,
    modelText: null,
    toolCalls: [{ id: 'c1', name: 'x', input: '{}' }],
    turnData: write(by),
  });
  const contentOf = (content: string, by = 'me') =>
    toPrompt({ system: '', messages: [assistant(content, by)] }, 'me', null);

  test('go back in the order in which they were written', () => {
    const { prompt, hasAllThoughts } = contentOf('I look.');
    expect(hasAllThoughts).toBe(true);
    expect(prompt[0]?.content).toStrictEqual([
      { type: 'reasoning', text: 'Hm', providerOptions: { anthropic: { signature: 's' } } },
      { type: 'text', text: 'I look.' },
      { type: 'reasoning', text: '', providerOptions: { anthropic: { redactedData: 'r' } } },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'x', input: {} },
    ]);
  });

  test('do not bring back a text that was changed since', () => {
    const { prompt } = contentOf('Cut.');
    expect(JSON.stringify(prompt)).not.toContain('I look.');
    expect(JSON.stringify(prompt)).toContain('Cut.');
  });

  test('go back to nobody else', () => {
    const { prompt, hasAllThoughts } = contentOf('I look.', 'somebody');
    expect(hasAllThoughts).toBe(false);
    expect(JSON.stringify(prompt)).not.toContain('Hm');
  });

  test('that are too long are not kept, and a turn without any needs none', () => {
    const long = collectTurn('me');
    for (let number = 0; number < 300; number++) {
      long.add({ type: 'reasoning-delta', id: '0', delta: 'x'.repeat(1000) });
    }
    expect(long.end()).toBeNull();
    const plain = collectTurn('me');
    plain.add({ type: 'text-delta', id: '0', delta: 'x' });
    plain.add({ type: 'tool-call', toolCallId: 'c1', toolName: 'x', input: '{}' });
    expect(plain.end()).toStrictEqual({ by: 'me', parts: [] });
  });

  test('that make no sense are none', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (data) => {
        const parts = partsOf(JSON.parse(JSON.stringify(data)), 'me');
        expect(parts).toBeNull();
      }),
    );
  });
});

test('text in pieces is the text, wherever it is cut', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.array(fc.nat(40)), (text, cuts) => {
      const places = [0, ...cuts.filter((cut) => cut < text.length).sort((one, other) => one - other), text.length];
      const writer = createStorableText();
      const pieces = places.slice(1).map((end, index) => writer.write(text.slice(places[index], end)));
      expect([...pieces, writer.end()].join('')).toBe(text.replaceAll('\0', ''));
    }),
  );
});

test('an input too deep to be written as JSON again is told as text', () => {
  const input = `{"searchQuery":"x","more":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
  const call = { id: 'c', name: 'platformMeta', input };
  const asking = { role: 'assistant', content: '', modelText: null, toolCalls: [call], turnData: null } as const;
  const { prompt } = toPrompt({ system: '', messages: [{ role: 'user', content: 'q' }, asking] }, 'me', null);
  expect(() => JSON.stringify(prompt)).not.toThrow();
  expect(JSON.stringify(prompt)).toContain('searchQuery');
});
