/**
 * Embed tenants: made by the first call that names them, listed, and deleted with all that is in their scope; and the groups and
 * user attributes in it.
 */
import { z } from 'zod';
import { operation } from '../operation.ts';
import { idParamsSchema, noParametersSchema, pageOf } from '../page.ts';
import { textSchema } from '../text.ts';
import { instantSchema, listQuerySchema } from './fields.ts';
import { groupQuerySchema, groupSchema } from './groups.ts';
import { userAttributeQuerySchema, userAttributeSchema } from './user-attributes.ts';

/** An embed tenant as it is listed. */
export const embedTenantSchema = z.object({ id: z.int(), name: z.string(), createdAt: instantSchema });
export type EmbedTenant = z.infer<typeof embedTenantSchema>;

/** With what belongs to its scope. `sessionCount`: those that have not ended and name it. */
export const embedTenantDetailsSchema = embedTenantSchema.extend({
  groupCount: z.int(),
  userAttributeCount: z.int(),
  threadCount: z.int(),
  sessionCount: z.int(),
});
export type EmbedTenantDetails = z.infer<typeof embedTenantDetailsSchema>;

/** One that no embed tenant can be called names none. */
const embedTenantParamsSchema = z.object({ embedTenantName: textSchema.max(255) });

/** What the list can be asked for. */
export type EmbedTenantQuery = z.infer<typeof listQuerySchema>;

const itemParamsSchema = embedTenantParamsSchema.extend(idParamsSchema.shape);

/** Embed tenants. */
export const embedTenantOperations = {
  list: operation({
    id: 'listEmbedTenants',
    command: 'embed-tenants list',
    tag: 'embed tenants',
    summary: 'List the embed tenants',
    method: 'GET',
    path: '/api/v1/embed-tenants',
    params: noParametersSchema,
    query: listQuerySchema,
    status: 200,
    reply: pageOf(embedTenantSchema),
  }),
  get: operation({
    id: 'getEmbedTenant',
    command: 'embed-tenants get',
    tag: 'embed tenants',
    summary: 'Read an embed tenant, and how much is in its scope',
    method: 'GET',
    path: '/api/v1/embed-tenants/:embedTenantName',
    params: embedTenantParamsSchema,
    query: noParametersSchema,
    status: 200,
    reply: embedTenantDetailsSchema,
  }),
  delete: operation({
    id: 'deleteEmbedTenant',
    command: 'embed-tenants delete',
    tag: 'embed tenants',
    summary: 'Delete an embed tenant with its groups, user attributes and threads, and revoke its sessions',
    method: 'DELETE',
    path: '/api/v1/embed-tenants/:embedTenantName',
    params: embedTenantParamsSchema,
    query: noParametersSchema,
    status: 204,
    audit: 'embed-tenant.delete',
  }),
  // What creator-mode calls have made in an embed tenant (service.md 4.2).
  listGroups: operation({
    id: 'listEmbedTenantGroups',
    command: 'embed-tenants groups list',
    tag: 'embed tenants',
    summary: 'List the groups of an embed tenant',
    method: 'GET',
    path: '/api/v1/embed-tenants/:embedTenantName/groups',
    params: embedTenantParamsSchema,
    query: groupQuerySchema,
    status: 200,
    reply: pageOf(groupSchema),
  }),
  deleteGroup: operation({
    id: 'deleteEmbedTenantGroup',
    command: 'embed-tenants groups delete',
    tag: 'embed tenants',
    summary: 'Delete a group of an embed tenant with its memberships',
    method: 'DELETE',
    path: '/api/v1/embed-tenants/:embedTenantName/groups/:id',
    params: itemParamsSchema,
    query: noParametersSchema,
    status: 204,
    audit: 'group.delete',
  }),
  listUserAttributes: operation({
    id: 'listEmbedTenantUserAttributes',
    command: 'embed-tenants user-attributes list',
    tag: 'embed tenants',
    summary: 'List the user attributes of an embed tenant',
    method: 'GET',
    path: '/api/v1/embed-tenants/:embedTenantName/user-attributes',
    params: embedTenantParamsSchema,
    query: userAttributeQuerySchema,
    status: 200,
    reply: pageOf(userAttributeSchema),
  }),
  deleteUserAttribute: operation({
    id: 'deleteEmbedTenantUserAttribute',
    command: 'embed-tenants user-attributes delete',
    tag: 'embed tenants',
    summary: 'Delete a user attribute of an embed tenant with its values',
    method: 'DELETE',
    path: '/api/v1/embed-tenants/:embedTenantName/user-attributes/:id',
    params: itemParamsSchema,
    query: noParametersSchema,
    status: 204,
    audit: 'user-attribute.delete',
  }),
};
