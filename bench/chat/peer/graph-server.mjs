/** The peer's own server over the graph beside it, in its folder. A program to be forked: places for runs. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { startServer } from '@langchain/langgraph-api/server';
import { serveParent } from '../child.ts';

/** The peer cannot say which port the system gave it. */
async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}

const port = await freePort();
const { cleanup } = await startServer({
  port,
  host: '127.0.0.1',
  nWorkers: Number(process.argv[2]),
  cwd: process.cwd(),
  graphs: { bench: './peer/graph.mjs:graph' },
});
serveParent({ url: `http://127.0.0.1:${port}` }, () => Promise.reject(new Error('not known')), cleanup);
