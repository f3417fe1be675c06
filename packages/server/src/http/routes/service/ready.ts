import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Context } from '../../../context.ts';
import { InlayError } from '../../../errors.ts';
import { ping } from '../../../store/database.ts';
import { type App, errorReplies } from '../../route.ts';

const answerMs = 2_000;

/** GET /readyz: the store and every opened warehouse answer, and the server is not stopping. */
export function readyRoute(app: App, { db, deployments }: Context): void {
  let isStopping = false;
  app.addHook('preClose', async () => {
    isStopping = true;
  });
  app.get(
    '/readyz',
    {
      config: { credential: 'none' },
      schema: {
        operationId: 'ready',
        tags: ['service'],
        summary: 'The store and every opened warehouse answer',
        response: { 200: z.object({ status: z.literal('ready') }), ...errorReplies(503) },
      },
    },
    async () => {
      if (isStopping) throw new InlayError('NOT_READY', 'The server is stopping');
      try {
        await within(answerMs, [ping(db), deployments.ping()]);
      } catch (cause) {
        throw new InlayError('NOT_READY', 'A part that the server needs does not answer', { cause });
      }
      return { status: 'ready' as const };
    },
  );
}

/** Resolves when all do. @throws the first failure, or an Error after `milliseconds`. */
async function within(milliseconds: number, answers: readonly Promise<void>[]): Promise<void> {
  const timer = new AbortController();
  const late = delay(milliseconds, undefined, { signal: timer.signal, ref: false }).then(() => {
    throw new Error(`No answer within ${milliseconds} ms.`);
  });
  try {
    await Promise.race([Promise.all(answers), late]);
  } finally {
    timer.abort();
    late.catch(() => undefined);
  }
}
