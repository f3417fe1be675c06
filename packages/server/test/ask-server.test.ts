/** What the grading of answers asks of a server, with one that is busy, breaks off, or does not end. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { asUser } from '../src/cli/evaluate/ask-server.ts';
import type { AsUser } from '../src/cli/evaluate/evaluate-question.ts';

interface Asked {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}
type Replies = readonly ((reply: ServerResponse) => void)[];

/** Gives the replies one after the other, and tells what was asked. */
async function withServer(
  replies: Replies,
  work: (user: AsUser, asked: readonly Asked[]) => Promise<void>,
  runMs = 60_000,
): Promise<void> {
  const asked: Asked[] = [];
  const server = createServer(async (request, reply) => {
    asked.push({ path: request.url ?? '', body: JSON.parse(await text(request)) });
    const answer = replies[asked.length - 1];
    if (answer === undefined) reply.writeHead(204).end();
    else answer(reply);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  const user = asUser(
    { url, apiKey: 'sk-test' },
    {
      chatPath: '/chat',
      deploymentId: 1,
      branch: 'dev',
      sessionSettings: { externalId: 'u' },
      runMs,
      messageId: '1795000000000-message',
    },
  );
  try {
    await work(user, asked);
  } finally {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
}

const line = (frame: object): string => `${JSON.stringify({ role: 'assistant', content: '', sort: 1, ...frame })}\n`;
const cutoff = line({ id: '__cutoff__', state: { chatId: 'c1', isStreaming: true } });
const final = line({ id: 'f', content: 'Größe: 1', graphPath: ['final'] });
const usage = { models: [], llmCalls: 1, inputTokens: 2, outputTokens: 3, totalTokens: 5, queries: 0, rows: 0 };
const whole = cutoff + final + line({ id: '__usage__', type: 'usage', usage });
const busy = (reply: ServerResponse): void => {
  const body = { statusCode: 429, error: 'x', message: 'Too many.', code: 'TOO_MANY_RUNS', requestId: 'r' };
  reply.writeHead(429, { 'retry-after': '1' }).end(JSON.stringify(body));
};

describe('asUser', () => {
  test('asks again where the server is busy and where the stream breaks off, under the same message id', async () => {
    const replies: Replies = [
      busy,
      (reply) => reply.write(cutoff + final.slice(0, 30), () => reply.destroy()),
      (reply) => reply.end(whole),
    ];
    await withServer(replies, async (user, asked) => {
      expect(await user.ask('How big?')).toMatchObject({ text: 'Größe: 1', queries: [], failure: null, usage });
      expect(asked.map(({ path }) => path)).toEqual(Array(3).fill('/chat/stream-chat-state'));
      expect(asked.map(({ body }) => body)).toEqual(
        Array(3).fill({
          input: 'How big?',
          messageId: '1795000000000-message',
          sessionSettings: { externalId: 'u' },
          activeBranchName: 'dev',
        }),
      );
    });
  });

  test('stops a run that takes too long', async () => {
    const work = async (user: AsUser, asked: readonly Asked[]): Promise<void> => {
      await expect(user.ask('Q')).rejects.toThrow('There was no whole reply within 3 seconds.');
      expect(asked[1]).toEqual({
        path: '/chat/stream-chat-state/abort',
        body: { chatId: 'c1', sessionSettings: { externalId: 'u' } },
      });
    };
    await withServer([(reply) => reply.write(cutoff)], work, 2500);
  });

  test('says what the server says, without asking again', async () => {
    const refuse = (reply: ServerResponse): void => {
      const body = { statusCode: 404, error: 'x', message: 'Agent not found.', code: 'NOT_FOUND', requestId: 'r1' };
      reply.writeHead(404).end(JSON.stringify(body));
    };
    await withServer([refuse], async (user, asked) => {
      await expect(user.ask('Q')).rejects.toThrow('NOT_FOUND: Agent not found.\n  request id: r1');
      expect(asked).toHaveLength(1);
    });
    await withServer([(reply) => reply.end('<html>\n')], async (user) => {
      await expect(user.ask('Q')).rejects.toThrow('The server sent a line that is not known.');
    });
  });

  test('reads rows, a failure among them, and not more than can be compared', async () => {
    const schema = '{"schema":[{"name":"a","column_type":"Int64"}]}\n';
    await withServer(
      [(reply) => reply.end(`${schema}{"data":[[1]]}\n{"data":[[2],[null]]}\n`)],
      async (user, asked) => {
        expect(await user.query('SELECT 1')).toEqual({
          schema: [{ name: 'a', column_type: 'Int64' }],
          rows: [[1], [2], [null]],
        });
        expect(asked[0]).toEqual({
          path: '/api/v1/deployments/1/cubesql',
          body: { query: 'SELECT 1', sessionSettings: { externalId: 'u' }, branch: 'dev' },
        });
      },
    );
    await withServer([(reply) => reply.end(`${schema}{"error":"It broke."}\n`)], async (user) => {
      await expect(user.query('Q')).rejects.toThrow('It broke.');
    });
    const many = `{"data":[${Array(1001).fill('[1]').join()}]}\n`.repeat(100);
    await withServer([(reply) => reply.end(schema + many)], async (user) => {
      await expect(user.query('Q')).rejects.toThrow('It gives more than 100000 rows');
    });
  });
});
