/** Inlay with a language model in the process that says scripts. A program to be forked: [database URL] [API key]. */
import type { LanguageModel } from '../../packages/server/src/agent/language-models/language-model.ts';
import { openBenchServer } from '../open-server.ts';
import { serveParent } from './child.ts';
import { addEndlessAgent, endlessQuery } from './endless-query.ts';
import { microseconds, readScript, say } from './script.ts';

const languageModel: LanguageModel = {
  kind: 'inside',
  name: 'scripted',
  async *stream({ messages }, signal) {
    const asked = messages.findLast(({ role }) => role === 'user');
    const question = asked?.role === 'user' ? asked.content : '';
    if (question === 'endless') {
      yield { type: 'tool-call', id: '1', name: 'platformSqlApi', input: JSON.stringify(endlessQuery) };
      return;
    }
    for await (const text of say(readScript(question), signal)) yield { type: 'text', text };
  },
};

const [, , databaseUrl = '', apiKey = ''] = process.argv;
const server = await openBenchServer({
  languageModel,
  ...(databaseUrl === '' ? {} : { databaseUrl }),
  ...(apiKey === '' ? {} : { apiKey }),
  // What is measured is how much it takes, not how much it allows.
  environment: {
    INLAY_RUNS_MAX: '10000',
    INLAY_RUNS_WAITING_MAX: '10000',
    INLAY_RUNS_PER_USER_MAX: '100',
    INLAY_RUNS_PER_ACCOUNT_MAX: '100000',
    INLAY_TEXT_CHARACTERS_MAX: '2000000',
  },
});
const warehouse = await addEndlessAgent(server.context);

/** Queries in the engine of the endless agent, and when the last one had left it: a query settles only then. */
let running = 0;
let settledAt = 0;
const query = warehouse.query.bind(warehouse);
Object.assign(warehouse, {
  async query(...args: Parameters<typeof query>) {
    running += 1;
    try {
      return await query(...args);
    } finally {
      running -= 1;
      settledAt = microseconds();
    }
  },
});

serveParent(
  { url: `${server.url}/api/v1/public/demo/agents/1/chat/stream-chat-state`, apiKey: server.apiKey },
  async ({ kind }) => {
    if (kind !== 'engine') throw new Error('not known');
    const deadline = performance.now() + 10_000;
    while (running > 0 && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 5));
    if (running > 0) throw new Error('The engine has not let go.');
    return { at: settledAt };
  },
  async () => await server[Symbol.asyncDispose](),
);
