/** The shapes of requests under the limits of a process. */
import { chatShapes } from './chat.ts';
import { dataShapes } from './data.ts';
import { embedShapes } from './embed.ts';
import type { Limits } from './limits.ts';
import { userShapes } from './user.ts';

/** Builds them all: once per process, since it takes some milliseconds. */
export function createShapes(limits: Limits) {
  const user = userShapes(limits);
  return { user, embed: embedShapes(limits, user), chat: chatShapes(limits, user), data: dataShapes(limits) };
}
export type Shapes = ReturnType<typeof createShapes>;
