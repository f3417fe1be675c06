import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cutConversation, estimateMessage, estimateTokens } from '../src/agent/cut-conversation.ts';
import type { ConversationMessage } from '../src/agent/language-models/language-model.ts';

const user = (content: string): ConversationMessage => ({ role: 'user', content });
const answer = (content: string): ConversationMessage => ({
  role: 'assistant',
  content,
  modelText: null,
  toolCalls: [],
  turnData: null,
});
/** A turn with calls, and their results. */
const calling = (id: string, results: readonly string[]): ConversationMessage[] => [
  {
    role: 'assistant',
    content: `turn ${id}`,
    modelText: null,
    toolCalls: results.map((_result, index) => ({ id: `${id}-${index}`, name: 'sql', input: '{"a":1}' })),
    turnData: { of: id },
  },
  ...results.map(
    (result, index): ConversationMessage => ({ role: 'tool', toolCallId: `${id}-${index}`, name: 'sql', result }),
  ),
];
const cost = (messages: readonly ConversationMessage[]): number =>
  messages.reduce((sum, message) => sum + estimateMessage(message), 0);

const words = fc.oneof(fc.string({ maxLength: 60 }), fc.string({ unit: 'binary', maxLength: 200 }));
const turns = fc.array(fc.array(words, { minLength: 1, maxLength: 3 }), { maxLength: 4 });
/** A thread: questions with turns and answers, and a last question whose run goes on. */
const conversation = fc
  .tuple(fc.array(fc.tuple(words, turns, words), { maxLength: 4 }), words, turns)
  .map(([earlier, question, own]) => {
    let count = 0;
    const all = (given: readonly (readonly string[])[]): ConversationMessage[] =>
      given.flatMap((results) => calling(`c${++count}`, results));
    return [
      ...earlier.flatMap(([asked, given, said]) => [user(asked), ...all(given), answer(said)]),
      user(question),
      ...all(own),
    ];
  });

describe('a conversation that is cut', () => {
  test('keeps every call with its result, and every result with its call', () => {
    fc.assert(
      fc.property(conversation, fc.nat(600), (messages, tokensMax) => {
        const cut = cutConversation(messages, tokensMax);
        const called = cut.flatMap((message) =>
          message.role === 'assistant' ? message.toolCalls.map(({ id }) => id) : [],
        );
        const told = cut.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : []));
        expect(told).toEqual(called);
      }),
    );
  });

  test('begins with a question, keeps the last one and the order, and fits', () => {
    fc.assert(
      fc.property(conversation, fc.nat(600), (messages, tokensMax) => {
        const cut = cutConversation(messages, tokensMax);
        const question = messages.findLast(({ role }) => role === 'user');
        const kept = cut.findLast(({ role }) => role === 'user');
        expect(cut[0]?.role).toBe('user');
        // Notes aside, what is left is the end of what there was, the turns of the last question being the nearer ones.
        if (cut.length > 1) expect(kept).toEqual(question);
        if (tokensMax >= 100) expect(cost(cut)).toBeLessThanOrEqual(tokensMax);
        const places = cut.flatMap((message) => (messages.includes(message) ? [messages.indexOf(message)] : []));
        expect(places).toEqual(places.toSorted((one, other) => one - other));
      }),
    );
  });

  test('is whole where it fits, and more room never leaves less', () => {
    fc.assert(
      fc.property(conversation, fc.nat(600), fc.nat(200), (messages, tokensMax, more) => {
        expect(cutConversation(messages, cost(messages))).toEqual(messages);
        const less = cutConversation(messages, tokensMax).length;
        expect(cutConversation(messages, tokensMax + more).length).toBeGreaterThanOrEqual(less);
      }),
    );
  });

  const long = 'x'.repeat(2000);
  const thread = [
    ...[user('first'), ...calling('a', ['1']), answer('one')],
    ...[user('second'), answer('two')],
    ...[user('third'), ...calling('b', ['2']), ...calling('c', ['3', '4'])],
  ];

  test('loses whole earlier questions first, then the older turns of the last one', () => {
    const kept = (tokensMax: number) =>
      cutConversation(thread, tokensMax).flatMap((message) => ('content' in message ? [message.content] : []));
    expect(kept(cost(thread) - 1)).toEqual(['second', 'two', 'third', 'turn b', 'turn c']);
    expect(kept(cost(thread.slice(4)) - 1)).toEqual(['third', 'turn b', 'turn c']);
    expect(kept(cost(thread.slice(6)) - 1)).toEqual(['third', 'turn c']);
  });

  test('says so where a result alone is too long', () => {
    const cut = cutConversation([user('q'), ...calling('a', [long])], 400);
    expect(cut).toMatchObject([
      { content: 'q' },
      { content: 'turn a' },
      { result: expect.stringContaining('too long') },
    ]);
  });

  test('says so where the question alone is too long, and cuts no character in two', () => {
    for (const tokensMax of [200, 201, 202]) {
      const [question] = cutConversation([user('ü€😀'.repeat(1000)), ...calling('a', [long])], tokensMax);
      const content = question?.role === 'user' ? question.content : '';
      expect(content).toMatch(/^(ü€😀)+(ü|ü€)?\n\[The rest of this message is left out: it is too long\.\]$/u);
      expect(cost([user(content)])).toBeLessThanOrEqual(tokensMax);
    }
  });
});

test('tokens are counted in bytes, not in characters', () => {
  expect(estimateTokens('abcd')).toBe(2);
  expect(estimateTokens('€€')).toBe(3);
  expect(estimateTokens('')).toBe(0);
});

test('what is far beyond what fits is not even made ready', () => {
  const thread = Array.from({ length: 50 }, (_, index) => [
    user(`q${index}`),
    ...calling(`c${index}`, ['x'.repeat(2000)]),
    answer('a'),
  ]);
  const asked = new Set<ConversationMessage>();
  const cut = cutConversation([...thread.flat(), user('last')], 4000, (message) => {
    asked.add(message);
    return message.role === 'tool' ? [{ ...message, result: 'short' }] : [message];
  });
  expect(cut.length).toBeGreaterThan(40);
  expect(asked.size).toBeGreaterThanOrEqual(cut.length - 1);
  expect(asked.size).toBeLessThanOrEqual(cut.length + 4);
});

test('a message of which nothing is left is as if it were not there', () => {
  const messages = [user('a'), answer(''), user('b'), ...calling('c', ['1']), answer('')];
  const toReady = (message: ConversationMessage) => ('content' in message && message.content === '' ? [] : [message]);
  expect(cutConversation(messages, 10_000, toReady)).toEqual([user('a'), user('b'), ...calling('c', ['1'])]);
});
