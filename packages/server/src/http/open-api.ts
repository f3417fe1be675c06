/** The description of the HTTP API: OpenAPI 3.1, made from the schemas that validate. */
import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import { abortRequestSchema, frameSchema } from '@inlay/contract/chat.ts';
import { errorBodySchema } from '@inlay/contract/error.ts';
import { mcpMessageSchema } from '@inlay/contract/mcp.ts';
import type { Shapes } from '@inlay/contract/shapes.ts';
import { jsonSchema } from '@inlay/contract/user.ts';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';
import manifest from '../../package.json' with { type: 'json' };

/** The settings of the plugin that makes the description. `publicUrl` undefined: addresses are relative. */
export function openApiSettings(publicUrl: string | undefined, shapes: Shapes): FastifyDynamicSwaggerOptions {
  const schemaRegistry = z.registry<{ id: string }>();
  // It refers to itself, which only a named schema can.
  schemaRegistry.add(jsonSchema, { id: 'Json' });
  schemaRegistry.add(errorBodySchema, { id: 'Error' });
  schemaRegistry.add(shapes.embed.generateSessionRequest, { id: 'GenerateSessionRequest' });
  schemaRegistry.add(shapes.data.cubeSqlRequest, { id: 'CubeSqlRequest' });
  schemaRegistry.add(shapes.chat.chatRequest, { id: 'ChatRequest' });
  schemaRegistry.add(abortRequestSchema, { id: 'AbortRequest' });
  schemaRegistry.add(frameSchema, { id: 'Frame' });
  schemaRegistry.add(mcpMessageSchema, { id: 'McpMessage' });
  return {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Inlay',
        version: manifest.version,
        license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
        description:
          'Embedded analytics: sessions for your users, an analyst that streams its answers, and their data.',
      },
      servers: [{ url: publicUrl ?? '/' }],
      components: {
        securitySchemes: {
          apiKey: {
            type: 'apiKey',
            in: 'header',
            name: 'Authorization',
            description: '`Api-Key <key>`: an API key of the account. For servers only.',
          },
          embedToken: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'JWT',
            description: 'A token of an embed session. It acts as that one user.',
          },
          embedTokenScheme: {
            type: 'apiKey',
            in: 'header',
            name: 'Authorization',
            description: '`Embed-Token <token>`: the same token, for clients whose Bearer is taken.',
          },
        },
      },
    },
    transform: createJsonSchemaTransform({ schemaRegistry, zodToJsonConfig }),
    transformObject: createJsonSchemaTransformObject({ schemaRegistry, zodToJsonConfig }),
  };
}

/** The plugin looks for descriptions and limits in its own registry only; ours stand with the schemas (`describe`, `meta`). */
const zodToJsonConfig = {
  override({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: z.core.JSONSchema.BaseSchema }): void {
    Object.assign(jsonSchema, z.globalRegistry.get(zodSchema));
    // What cannot be written as JSON Schema comes as an empty branch, which would allow anything.
    if (jsonSchema.anyOf !== undefined) {
      jsonSchema.anyOf = jsonSchema.anyOf.filter((branch) => Object.keys(branch).length > 0);
    }
  },
};
