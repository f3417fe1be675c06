/** Internal users: people of the operator's own house, whose rights stand here and not in a session's call. */
import { z } from 'zod';
import { type BodyOf, operation, type QueryOf } from '../operation.ts';
import { flagSchema, idParamsSchema, noParametersSchema, pageOf } from '../page.ts';
import { storedAttributeValueSchema, type UserShapes } from '../user.ts';
import { filterSchema, instantSchema, listQuerySchema } from './fields.ts';

/** An internal user, with the tenant-wide memberships and the values that are stored. */
export const internalUserSchema = z.object({
  id: z.int(),
  username: z.string(),
  email: z.string().nullable(),
  isActive: z.boolean(),
  groups: z.array(z.string()),
  userAttributes: z.array(z.object({ name: z.string(), value: storedAttributeValueSchema })),
  createdAt: instantSchema,
});
export type InternalUser = z.infer<typeof internalUserSchema>;

const querySchema = listQuerySchema.extend({
  username: filterSchema.describe('Exactly this username, in any case.'),
  email: filterSchema.describe('Exactly this address, in any case.'),
  group: filterSchema.describe('Members of this tenant-wide group.'),
  isActive: flagSchema.optional().describe('Only those who are active, or are not.'),
});
const tag = 'internal users';

/** Internal users, under the limits of `user`. */
export function internalUserOperations({ internalId, email, groups, userAttributes }: UserShapes) {
  const bodySchema = z.object({
    username: internalId
      .refine((name) => name === name.trim(), 'must not begin or end with white space')
      .describe("Unique in the account in any case, beside all users' email addresses."),
    email,
    isActive: z.boolean().optional().describe('Default true. One who is not has no sessions and gets none.'),
    groups: groups.optional().describe('Names of tenant-wide groups: exactly these memberships.'),
    userAttributes: userAttributes.optional().describe('Values to set; those that are not named stay.'),
  });
  return {
    list: operation({
      id: 'listInternalUsers',
      command: 'internal-users list',
      tag,
      summary: 'List the internal users',
      method: 'GET',
      path: '/api/v1/internal-users',
      params: noParametersSchema,
      query: querySchema,
      status: 200,
      reply: pageOf(internalUserSchema),
    }),
    create: operation({
      id: 'createInternalUser',
      command: 'internal-users create',
      tag,
      summary: 'Make an internal user',
      method: 'POST',
      path: '/api/v1/internal-users',
      params: noParametersSchema,
      query: noParametersSchema,
      body: bodySchema,
      status: 201,
      reply: internalUserSchema,
      audit: 'internal-user.create',
    }),
    get: operation({
      id: 'getInternalUser',
      command: 'internal-users get',
      tag,
      summary: 'Read an internal user',
      method: 'GET',
      path: '/api/v1/internal-users/:id',
      params: idParamsSchema,
      query: noParametersSchema,
      status: 200,
      reply: internalUserSchema,
    }),
    update: operation({
      id: 'updateInternalUser',
      command: 'internal-users update',
      tag,
      summary: 'Change an internal user; one who is made inactive loses all sessions',
      method: 'PATCH',
      path: '/api/v1/internal-users/:id',
      params: idParamsSchema,
      query: noParametersSchema,
      body: bodySchema.partial(),
      status: 200,
      reply: internalUserSchema,
      audit: 'internal-user.update',
    }),
    delete: operation({
      id: 'deleteInternalUser',
      command: 'internal-users delete',
      tag,
      summary: 'Delete an internal user with sessions, threads, memberships and values',
      method: 'DELETE',
      path: '/api/v1/internal-users/:id',
      params: idParamsSchema,
      query: noParametersSchema,
      status: 204,
      audit: 'internal-user.delete',
    }),
  };
}
type InternalUserOperations = ReturnType<typeof internalUserOperations>;
/** What the list can be asked for. */
export type InternalUserQuery = QueryOf<InternalUserOperations['list']>;
/** A user to make. */
export type InternalUserBody = BodyOf<InternalUserOperations['create']>;
/** What is left out stays. */
export type InternalUserChanges = BodyOf<InternalUserOperations['update']>;
