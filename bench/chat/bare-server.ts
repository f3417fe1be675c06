/** The floor: `node:http` that writes the same lines, one write each, and does and keeps nothing else. A program to be forked. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { serveParent } from './child.ts';
import { readScript, say } from './script.ts';

const chatId = '3a579a0c-8f97-4da1-8f17-2f3aacd2be8b';
const id = 'bf6cf314-0000-4000-8000-000000000000';
const graphPath = ['platform_data_analyst_agent'];
const lineOf = (frame: object): string => `${JSON.stringify(frame)}\n`;

/** Those whose stream can be stopped, by the user of their question. */
const aborts = new Map<string, AbortController>();

const server = createServer(async (request, reply) => {
  const { input, sessionSettings } = JSON.parse(await text(request));
  const user = String(sessionSettings?.externalId);
  if (request.url?.endsWith('/abort') === true) {
    aborts.get(user)?.abort();
    reply.writeHead(204).end();
    return;
  }
  const abort = new AbortController();
  aborts.set(user, abort);
  reply.writeHead(200, { 'content-type': 'application/x-ndjson' });
  const write = async (frame: object): Promise<void> => {
    if (!reply.write(lineOf(frame))) await once(reply, 'drain');
  };
  const role = 'assistant';
  await write({ id: '__cutoff__', role, content: '', sort: 0, state: { chatId, isStreaming: true } });
  await write({
    id: '1795166823502-message',
    role: 'user',
    content: input,
    isDelta: false,
    isInProcess: false,
    sort: 1,
  });
  let content = '';
  try {
    for await (const piece of say(readScript(input), abort.signal)) {
      content += piece;
      await write({ id, role, content: piece, graphPath, isDelta: true, isInProcess: true, sort: 2 });
    }
    await write({ id, role, content, graphPath, isDelta: false, isInProcess: false, sort: 2 });
    await write({ id: `${id}f`, role, content, graphPath: ['final'], isDelta: false, isInProcess: false, sort: 3 });
  } catch {
    await write({ id: '__aborted__', type: 'abort', role, content: '', sort: 3, code: 'chat_aborted' });
  }
  reply.end(lineOf({ id: '__usage__', type: 'usage', role, content: '', sort: 4, usage: {} }));
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port }: Pick<AddressInfo, 'port'> = Object(server.address());
serveParent(
  { url: `http://127.0.0.1:${port}/chat/stream-chat-state` },
  () => Promise.reject(new Error('not known')),
  async () => server.closeAllConnections(),
);
