import type { Frame } from '@inlay/contract/chat.ts';
import { createClient } from '@inlay/sdk/client.ts';
import { finalAnswer, foldFrames } from '@inlay/sdk/thread-state.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { chatIdOf } from '../chat-world.ts';
import { call, say, scriptedNetwork } from '../scripted-language-model.ts';
import { openTestServer, type TestServer } from '../test-server.ts';

const words = { queryTitle: 'Title', description: 'What it does', userRequest: 'what was asked' };
const sqlQuery = 'SELECT merchant, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 2 DESC';
const sessionSettings = {
  externalId: 'merchant-7',
  groups: ['merchant'],
  userAttributes: [{ name: 'merchant_id', value: 7 }],
};

/** It knows of the result no more than the label that it was told. */
const languageModel = scriptedNetwork(
  (messages) => {
    const result = messages.findLast(({ role }) => role === 'tool');
    const label = result?.role === 'tool' ? /q[0-9a-f]{8}/.exec(result.result)?.[0] : undefined;
    if (messages.at(-1)?.role === 'user') return [say('I look. '), call('platformSqlApi', { sqlQuery, ...words })];
    const text = `It is {{${label}.merchant[1]}} with {{${label}.revenue[1]}}.`;
    return (text.match(/.{1,7}/g) ?? []).map(say);
  },
  { isPrivate: true },
);

let server: TestServer;
beforeAll(async () => {
  server = await openTestServer({ languageModel });
});
afterAll(() => server.close());

test('a thread in private mode is whole for its user, and without values for the language model, also later', async () => {
  const credential = { kind: 'api-key', apiKey: server.apiKey } as const;
  const client = createClient({ baseUrl: server.url, credential });
  const ask = async (request: { chatId?: string; input?: string }): Promise<Frame[]> =>
    Array.fromAsync(await client.chat({ accountName: 'demo', agentId: 1 }, { ...request, sessionSettings }));

  const first = await ask({ input: 'who sells most?' });
  const chatId = chatIdOf(first);
  const result = first.flatMap(({ toolCall }) =>
    toolCall?.result === undefined ? [] : [JSON.parse(toolCall.result)],
  )[0];
  const [[merchant, revenue]] = result.data;
  expect(merchant).toMatch(/\w{4}/);
  const answer = `It is ${merchant} with ${revenue.toLocaleString('en-GB')}.`;
  expect(finalAnswer(first)).toBe(answer);
  // What came in pieces is what stands there whole.
  const pieces = first
    .filter(({ isDelta, sort }) => isDelta && sort === first.at(-3)?.sort)
    .map(({ content }) => content);
  expect(pieces.join('')).toBe(answer);

  await ask({ chatId, input: 'and now?' });
  const sent = JSON.stringify(languageModel.requests);
  expect(languageModel.requests.length).toBe(4);
  expect(sent).not.toContain(merchant);
  expect(sent).not.toContain(String(revenue));
  expect(sent).not.toContain(revenue.toLocaleString('en-GB'));
  const texts = languageModel.requests[3]?.messages.map((message) =>
    message.role === 'assistant' ? message.content : '',
  );
  expect(texts).toContainEqual(expect.stringMatching(/^It is \{\{q[0-9a-f]{8}\.merchant\[1\]\}\} with \{\{/));
  // A reader who comes later sees the values.
  const read = foldFrames(await ask({ chatId }));
  expect(read.messages.filter(({ content }) => content === answer).length).toBe(4);
});
