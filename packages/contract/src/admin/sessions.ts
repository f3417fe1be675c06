/** Embed sessions: who has one, and ending them. */
import { z } from 'zod';
import { operation } from '../operation.ts';
import {
  flagSchema,
  idSchema,
  jsonIdSchema,
  noParametersSchema,
  pageOf,
  pageQuerySchema,
  sortSchema,
} from '../page.ts';
import { filterSchema, instantSchema } from './fields.ts';

/**
 * `waiting` for the exchange of its sessionId; `active`; `revoked` by somebody; `ended`: everything else, such as its time, its
 * user or its API key.
 */
export const sessionStateSchema = z.enum(['waiting', 'active', 'ended', 'revoked']);

/** A session. `id` is not the sessionId, which is a secret and is not kept. */
export const sessionSchema = z.object({
  id: z.uuid(),
  state: sessionStateSchema,
  deploymentId: z.int(),
  userId: z.int(),
  externalId: z.string().nullable().describe('Null for internal users.'),
  username: z.string().nullable().describe('Null for external users.'),
  apiKeyId: z.int().describe('The key that minted it.'),
  embedTenantName: z.string().nullable(),
  isCreatorMode: z.boolean(),
  createdFrom: z.string().nullable().describe('The IP address that asked for it.'),
  createdAt: instantSchema,
  exchangedAt: instantSchema.nullable(),
  endsAt: instantSchema,
  revokedAt: instantSchema.nullable(),
});
export type Session = z.infer<typeof sessionSchema>;

const querySchema = pageQuerySchema.extend({
  sort: sortSchema(['createdAt'], '-createdAt'),
  userId: idSchema.optional().describe('Only sessions of this user.'),
  externalId: filterSchema.describe('Only sessions of the external user with exactly this externalId.'),
  apiKeyId: idSchema.optional().describe('Only sessions that this API key minted.'),
  embedTenantName: filterSchema.describe('Only sessions that name this embed tenant.'),
  deploymentId: idSchema.optional().describe('Only sessions on this deployment.'),
  isCreatorMode: flagSchema.optional().describe('Only sessions in creator mode, or only others.'),
  state: sessionStateSchema.optional().describe('Only sessions in this state.'),
});
/** What the list can be asked for. */
export type SessionQuery = z.infer<typeof querySchema>;

const targetsSchema = z
  .object({
    userId: jsonIdSchema.optional(),
    externalId: filterSchema,
    embedTenantName: filterSchema,
    apiKeyId: jsonIdSchema.optional(),
  })
  .refine(
    (target) =>
      [target.userId, target.externalId, target.embedTenantName, target.apiKeyId].filter((one) => one !== undefined)
        .length === 1,
    'must have exactly one of userId, externalId, embedTenantName and apiKeyId',
  );
/** Whose sessions to revoke: exactly one of the fields. */
export type SessionTarget = z.infer<typeof targetsSchema>;

const paramsSchema = z.object({ id: z.uuid() });
const tag = 'sessions';

/** Embed sessions. */
export const sessionOperations = {
  list: operation({
    id: 'listSessions',
    command: 'sessions list',
    tag,
    summary: 'List the sessions, ended ones too as long as they are kept',
    method: 'GET',
    path: '/api/v1/sessions',
    params: noParametersSchema,
    query: querySchema,
    status: 200,
    reply: pageOf(sessionSchema),
  }),
  get: operation({
    id: 'getSession',
    command: 'sessions get',
    tag,
    summary: 'Read a session',
    method: 'GET',
    path: '/api/v1/sessions/:id',
    params: paramsSchema,
    query: noParametersSchema,
    status: 200,
    reply: sessionSchema,
  }),
  revoke: operation({
    id: 'revokeSession',
    command: 'sessions revoke',
    tag,
    summary: 'Revoke a session: its token and open streams end within a second',
    method: 'DELETE',
    path: '/api/v1/sessions/:id',
    params: paramsSchema,
    query: noParametersSchema,
    status: 204,
    audit: 'session.revoke',
  }),
  revokeMany: operation({
    id: 'revokeSessions',
    command: 'sessions revoke-all',
    tag,
    summary: 'Revoke every session of a user, of an embed tenant, or of an API key',
    method: 'POST',
    path: '/api/v1/sessions/revoke',
    params: noParametersSchema,
    query: noParametersSchema,
    body: targetsSchema,
    status: 200,
    reply: z.object({ revoked: z.int().describe('How many had not ended before.') }),
    audit: 'session.revoke',
  }),
};
