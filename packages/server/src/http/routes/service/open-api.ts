import { z } from 'zod';
import type { App } from '../../route.ts';

/** GET /api/openapi.json: this API, described from the schemas that validate. */
export function openApiRoute(app: App): void {
  app.get(
    '/api/openapi.json',
    {
      config: { credential: 'none' },
      schema: {
        operationId: 'openApi',
        tags: ['service'],
        summary: 'This description, as OpenAPI 3.1',
        response: { 200: z.looseObject({ openapi: z.string() }) },
      },
    },
    async (_request, reply) => {
      reply.type('application/json; charset=utf-8').serializer(JSON.stringify);
      return reply.send({ openapi: '3.1.0', ...app.swagger() });
    },
  );
}
