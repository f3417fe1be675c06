/** Connections that were opened in advance, as browsers do, and have asked nothing yet. */
import type { Socket } from 'node:net';
import type { App } from './route.ts';

/** Closes them when the app closes: Node does not count them as idle, and would wait a minute for each. */
export function closeUnusedConnections(app: App): void {
  const unused = new Set<Socket>();
  app.server.on('connection', (socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  app.server.on('request', ({ socket }) => unused.delete(socket));
  app.addHook('preClose', async () => {
    for (const socket of unused) socket.destroy();
  });
}
