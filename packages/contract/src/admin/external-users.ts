/** External users: sessions and chats make them; here they are found, inspected, switched off, kept and deleted. */
import { z } from 'zod';
import { operation } from '../operation.ts';
import { flagSchema, idParamsSchema, noParametersSchema, pageOf } from '../page.ts';
import { storedAttributeValueSchema } from '../user.ts';
import { filterSchema, instantSchema, listQuerySchema } from './fields.ts';

const lifetimeSchema = z.enum(['persistent', 'ephemeral', 'expired']);

/** An external user. `expired`: refused everywhere, and soon removed. `expiresAt` is null for persistent ones. */
export const externalUserSchema = z.object({
  id: z.int(),
  externalId: z.string(),
  email: z.string().nullable(),
  displayName: z.string().nullable(),
  picture: z.string().nullable(),
  isActive: z.boolean(),
  lifetime: lifetimeSchema,
  expiresAt: instantSchema.nullable(),
  createdAt: instantSchema,
});
export type ExternalUser = z.infer<typeof externalUserSchema>;

/** With what is kept of the user in each scope; `embedTenantName` null is tenant-wide. `sessionCount`: those not ended. */
export const externalUserDetailsSchema = externalUserSchema.extend({
  scopes: z.array(
    z.object({
      embedTenantName: z.string().nullable(),
      groups: z.array(z.string()),
      userAttributes: z.array(z.object({ name: z.string(), value: storedAttributeValueSchema })),
    }),
  ),
  sessionCount: z.int(),
  threadCount: z.int(),
});
export type ExternalUserDetails = z.infer<typeof externalUserDetailsSchema>;

const changesSchema = z.object({
  isActive: z.boolean().optional().describe('One who is not has no sessions and gets none.'),
});
/** What is left out stays. */
export type ExternalUserChanges = z.infer<typeof changesSchema>;

const querySchema = listQuerySchema.extend({
  externalId: filterSchema.describe('Exactly this externalId.'),
  email: filterSchema.describe('Exactly this address, in any case.'),
  group: filterSchema.describe('Members of the group of this name: a tenant-wide one, or of `embedTenantName`.'),
  embedTenantName: filterSchema.describe(
    'The embed tenant whose `group` is meant; without `group`: users who have a membership or value there.',
  ),
  lifetime: lifetimeSchema.optional().describe('Only such users.'),
  isActive: flagSchema.optional().describe('Only those who are active, or are not.'),
});
/** What the list can be asked for. */
export type ExternalUserQuery = z.infer<typeof querySchema>;

const tag = 'external users';

/** External users. */
export const externalUserOperations = {
  list: operation({
    id: 'listExternalUsers',
    command: 'external-users list',
    tag,
    summary: 'List the external users',
    method: 'GET',
    path: '/api/v1/external-users',
    params: noParametersSchema,
    query: querySchema,
    status: 200,
    reply: pageOf(externalUserSchema),
  }),
  get: operation({
    id: 'getExternalUser',
    command: 'external-users get',
    tag,
    summary: 'Read an external user, with memberships and values of every scope',
    method: 'GET',
    path: '/api/v1/external-users/:id',
    params: idParamsSchema,
    query: noParametersSchema,
    status: 200,
    reply: externalUserDetailsSchema,
  }),
  update: operation({
    id: 'updateExternalUser',
    command: 'external-users update',
    tag,
    summary: 'Switch an external user off, which ends all sessions, or on again',
    method: 'PATCH',
    path: '/api/v1/external-users/:id',
    params: idParamsSchema,
    query: noParametersSchema,
    body: changesSchema,
    status: 200,
    reply: externalUserDetailsSchema,
    audit: 'external-user.update',
  }),
  persist: operation({
    id: 'persistExternalUser',
    command: 'external-users persist',
    tag,
    summary: 'Make an ephemeral user persistent, which counts towards the limit',
    method: 'POST',
    path: '/api/v1/external-users/:id/persist',
    params: idParamsSchema,
    query: noParametersSchema,
    status: 200,
    reply: externalUserDetailsSchema,
    audit: 'external-user.persist',
  }),
  delete: operation({
    id: 'deleteExternalUser',
    command: 'external-users delete',
    tag,
    summary: 'Delete an external user with sessions, threads, memberships and values of every scope',
    method: 'DELETE',
    path: '/api/v1/external-users/:id',
    params: idParamsSchema,
    query: noParametersSchema,
    status: 204,
    audit: 'external-user.delete',
  }),
};
