/** Every route of the server, in one place. */
import type { Context } from '../context.ts';
import type { App } from './route.ts';
import { abortChatRoute } from './routes/chat/abort-chat.ts';
import { streamChatRoute } from './routes/chat/stream-chat.ts';
import { cubeSqlRoute } from './routes/data/cubesql.ts';
import { generateSessionRoute } from './routes/embed/generate-session.ts';
import { sessionTokenRoute } from './routes/embed/session-token.ts';
import { liveRoute } from './routes/service/live.ts';
import { openApiRoute } from './routes/service/open-api.ts';
import { readyRoute } from './routes/service/ready.ts';

const routes: readonly ((app: App, context: Context) => void)[] = [
  generateSessionRoute,
  sessionTokenRoute,
  streamChatRoute,
  abortChatRoute,
  cubeSqlRoute,
  liveRoute,
  readyRoute,
  openApiRoute,
];

/** Registers every route. */
export function registerRoutes(app: App, context: Context): void {
  for (const register of routes) register(app, context);
}
