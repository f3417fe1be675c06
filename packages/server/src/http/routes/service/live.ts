import { z } from 'zod';
import type { App } from '../../route.ts';

/** GET /livez: the process answers. */
export function liveRoute(app: App): void {
  app.get(
    '/livez',
    {
      config: { credential: 'none' },
      schema: {
        operationId: 'live',
        tags: ['service'],
        summary: 'The process answers',
        response: { 200: z.object({ status: z.literal('ok') }) },
      },
    },
    async () => ({ status: 'ok' as const }),
  );
}
