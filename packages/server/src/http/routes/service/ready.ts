import { setTimeout as delay } from 'node:timers/promises';
import { errorBodySchema } from '@inlay/contract/error.ts';
import { z } from 'zod';
import type { Context } from '../../../context.ts';
import { InlayError } from '../../../errors.ts';
import { isHearing } from '../../../store/changes.ts';
import { ping } from '../../../store/database.ts';
import { errorBody, failureOf } from '../../error-response.ts';
import type { App } from '../../route.ts';

const answerMs = 2_000;

const partsSchema = z
  .array(z.object({ name: z.enum(['store', 'changes', 'warehouses']), ok: z.boolean() }))
  .describe(
    'What the server needs. Without `changes` it is ready all the same: it then reads everything from the store.',
  );

/** GET /readyz: the store and every opened warehouse answer, and the server is not stopping. */
export function readyRoute(app: App, { db, changes, deployments, draining, log }: Context): void {
  app.addHook('preClose', async () => draining.abort());
  app.get(
    '/readyz',
    {
      config: { credential: 'none' },
      schema: {
        operationId: 'ready',
        tags: ['service'],
        summary: 'The store and every opened warehouse answer',
        response: {
          200: z.object({ status: z.literal('ready'), parts: partsSchema }),
          503: {
            description: 'A part that the server needs does not answer, or it is stopping.',
            content: { 'application/json': { schema: errorBodySchema.extend({ parts: partsSchema }) } },
          },
        },
      },
    },
    async (request, reply) => {
      const answers = async (name: string, answer: Promise<void>): Promise<boolean> => {
        try {
          await within(answerMs, answer);
          return true;
        } catch (err) {
          log.warn({ err, requestId: request.id, part: name }, 'a part does not answer');
          return false;
        }
      };
      const [store, warehouses] = await Promise.all([
        answers('store', ping(db)),
        answers('warehouses', deployments.ping()),
      ]);
      const parts = [
        { name: 'store' as const, ok: store },
        { name: 'changes' as const, ok: isHearing(changes, performance.now()) },
        { name: 'warehouses' as const, ok: warehouses },
      ];
      if (store && warehouses && !draining.signal.aborted) return { status: 'ready' as const, parts };
      const why = draining.signal.aborted ? 'The server is stopping' : 'A part that the server needs does not answer';
      const failure = failureOf(new InlayError('NOT_READY', why));
      return reply.code(503).send({ ...errorBody(failure, request.id), parts });
    },
  );
}

/** Resolves with the answer. @throws what it does, or an Error after `milliseconds`. */
async function within(milliseconds: number, answer: Promise<void>): Promise<void> {
  const timer = new AbortController();
  const late = delay(milliseconds, undefined, { signal: timer.signal, ref: false }).then(() => {
    throw new Error(`No answer within ${milliseconds} ms.`);
  });
  try {
    await Promise.race([answer, late]);
  } finally {
    timer.abort();
    late.catch(() => undefined);
    answer.catch(() => undefined);
  }
}
