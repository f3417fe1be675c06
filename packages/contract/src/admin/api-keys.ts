/** API keys: their text is in the reply that makes it, and nowhere else. */
import { z } from 'zod';
import { type BodyOf, operation, type QueryOf } from '../operation.ts';
import {
  idParamsSchema,
  jsonIdSchema,
  noParametersSchema,
  pageOf,
  pageQuerySchema,
  searchSchema,
  sortSchema,
} from '../page.ts';
import type { UserShapes } from '../user.ts';
import { instantSchema } from './fields.ts';

/** What a key may do: an `admin` key manages the account, a `member` key only uses it. */
export const roleSchema = z.enum(['admin', 'member']);
/** `revoked` and `expired` keys open nothing. */
export const apiKeyStateSchema = z.enum(['active', 'expired', 'revoked']);

/** How long the earlier text of a rotated key may go on opening, and does when nothing is said. */
const overlapSecondsMax = 604_800;
const overlapSecondsDefault = 86_400;

/** An API key, without its text. `deploymentIds` null: every deployment of the account. */
export const apiKeySchema = z.object({
  id: z.int(),
  label: z.string().nullable(),
  role: roleSchema,
  prefix: z.string().describe('The beginning of the key, to tell keys apart.'),
  deploymentIds: z.array(z.int()).nullable(),
  state: apiKeyStateSchema,
  createdAt: instantSchema,
  expiresAt: instantSchema.nullable(),
  revokedAt: instantSchema.nullable(),
  previousEndsAt: instantSchema.nullable().describe('Until then the text before the last rotation opens as well.'),
});
export type ApiKey = z.infer<typeof apiKeySchema>;

/** The same with its text, which is shown this once. */
export const newApiKeySchema = apiKeySchema.extend({ key: z.string().describe('The API key. Shown this once.') });
export type NewApiKey = z.infer<typeof newApiKeySchema>;

const rotationSchema = z.object({
  overlapSeconds: z
    .int()
    .min(0)
    .max(overlapSecondsMax)
    .default(overlapSecondsDefault)
    .describe('How long the present text goes on opening; 0 ends it at once.'),
});

const querySchema = pageQuerySchema.extend({
  sort: sortSchema(['createdAt', 'label'], '-createdAt'),
  search: searchSchema,
  role: roleSchema.optional().describe('Only keys of this role.'),
  state: apiKeyStateSchema.optional().describe('Only keys in this state.'),
});
const tag = 'API keys';

/** API keys, under the limits of `user`: a label is a name. */
export function apiKeyOperations({ name }: UserShapes) {
  const bodySchema = z.object({
    label: name.nullish().describe('What the key is for; unique among the keys that are not revoked.'),
    role: roleSchema,
    deploymentIds: z
      .array(jsonIdSchema)
      .min(1)
      .max(500)
      .nullish()
      .describe('The deployments that it opens. A key with such a list manages nothing.'),
    expiresAt: z.iso.datetime({ offset: true }).nullish().describe('From this instant on it opens nothing.'),
  });
  return {
    list: operation({
      id: 'listApiKeys',
      command: 'keys list',
      tag,
      summary: 'List the API keys, revoked ones too',
      method: 'GET',
      path: '/api/v1/api-keys',
      params: noParametersSchema,
      query: querySchema,
      status: 200,
      reply: pageOf(apiKeySchema),
    }),
    create: operation({
      id: 'createApiKey',
      command: 'keys create',
      tag,
      summary: 'Make an API key; its text is in this reply only',
      method: 'POST',
      path: '/api/v1/api-keys',
      params: noParametersSchema,
      query: noParametersSchema,
      body: bodySchema,
      status: 201,
      reply: newApiKeySchema,
      audit: 'api-key.create',
    }),
    get: operation({
      id: 'getApiKey',
      command: 'keys get',
      tag,
      summary: 'Read an API key, without its text',
      method: 'GET',
      path: '/api/v1/api-keys/:id',
      params: idParamsSchema,
      query: noParametersSchema,
      status: 200,
      reply: apiKeySchema,
    }),
    update: operation({
      id: 'updateApiKey',
      command: 'keys update',
      tag,
      summary: 'Change the label of an API key',
      method: 'PATCH',
      path: '/api/v1/api-keys/:id',
      params: idParamsSchema,
      query: noParametersSchema,
      body: z.object({ label: name.nullish() }),
      status: 200,
      reply: apiKeySchema,
      audit: 'api-key.update',
    }),
    rotate: operation({
      id: 'rotateApiKey',
      command: 'keys rotate',
      tag,
      summary: 'Give an API key a new text; the present one opens for a while longer, and sessions go on',
      method: 'POST',
      path: '/api/v1/api-keys/:id/rotate',
      params: idParamsSchema,
      query: noParametersSchema,
      body: rotationSchema.prefault({}),
      status: 200,
      reply: newApiKeySchema,
      audit: 'api-key.rotate',
    }),
    revoke: operation({
      id: 'revokeApiKey',
      command: 'keys revoke',
      tag,
      summary: 'Revoke an API key at once, with every session that it minted',
      method: 'DELETE',
      path: '/api/v1/api-keys/:id',
      params: idParamsSchema,
      query: noParametersSchema,
      status: 204,
      audit: 'api-key.revoke',
    }),
  };
}
type ApiKeyOperations = ReturnType<typeof apiKeyOperations>;
/** What the list can be asked for. */
export type ApiKeyQuery = QueryOf<ApiKeyOperations['list']>;
/** A key to make. */
export type ApiKeyBody = BodyOf<ApiKeyOperations['create']>;
/** What is left out stays; null clears. */
export type ApiKeyChanges = BodyOf<ApiKeyOperations['update']>;
