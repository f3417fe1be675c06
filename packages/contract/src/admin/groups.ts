/** Groups: the tenant-wide ones of an account. Those of an embed tenant have the same shape (service.md 4.2). */
import { z } from 'zod';
import { type BodyOf, operation, type QueryOf } from '../operation.ts';
import { idParamsSchema, noParametersSchema, pageOf } from '../page.ts';
import type { UserShapes } from '../user.ts';
import { filterSchema, instantSchema, listQuerySchema } from './fields.ts';

/** A group (http-api.md). `userCount`: its members. */
export const groupSchema = z.object({
  id: z.int(),
  name: z.string(),
  description: z.string().nullable(),
  userCount: z.int(),
  createdAt: instantSchema,
});
export type Group = z.infer<typeof groupSchema>;

/** The query of a list of groups. */
export const groupQuerySchema = listQuerySchema.extend({ name: filterSchema.describe('Exactly this name.') });

/** Tenant-wide groups, under the limits of `user`. */
export function groupOperations({ name, description }: UserShapes) {
  const bodySchema = z.object({ name, description: description.nullish() });
  return {
    list: operation({
      id: 'listGroups',
      command: 'groups list',
      tag: 'groups',
      summary: 'List the tenant-wide groups',
      method: 'GET',
      path: '/api/v1/groups',
      params: noParametersSchema,
      query: groupQuerySchema,
      status: 200,
      reply: pageOf(groupSchema),
    }),
    create: operation({
      id: 'createGroup',
      command: 'groups create',
      tag: 'groups',
      summary: 'Make a tenant-wide group',
      method: 'POST',
      path: '/api/v1/groups',
      params: noParametersSchema,
      query: noParametersSchema,
      body: bodySchema,
      status: 201,
      reply: groupSchema,
      audit: 'group.create',
    }),
    get: operation({
      id: 'getGroup',
      command: 'groups get',
      tag: 'groups',
      summary: 'Read a tenant-wide group',
      method: 'GET',
      path: '/api/v1/groups/:id',
      params: idParamsSchema,
      query: noParametersSchema,
      status: 200,
      reply: groupSchema,
    }),
    update: operation({
      id: 'updateGroup',
      command: 'groups update',
      tag: 'groups',
      summary: 'Rename or describe a tenant-wide group',
      method: 'PATCH',
      path: '/api/v1/groups/:id',
      params: idParamsSchema,
      query: noParametersSchema,
      body: bodySchema.partial(),
      status: 200,
      reply: groupSchema,
      audit: 'group.update',
    }),
    delete: operation({
      id: 'deleteGroup',
      command: 'groups delete',
      tag: 'groups',
      summary: 'Delete a tenant-wide group with its memberships',
      method: 'DELETE',
      path: '/api/v1/groups/:id',
      params: idParamsSchema,
      query: noParametersSchema,
      status: 204,
      audit: 'group.delete',
    }),
  };
}
type GroupOperations = ReturnType<typeof groupOperations>;
/** What lists of groups can be asked for. */
export type GroupQuery = QueryOf<GroupOperations['list']>;
/** A group to make. */
export type GroupBody = BodyOf<GroupOperations['create']>;
/** What is left out stays; null clears. */
export type GroupChanges = BodyOf<GroupOperations['update']>;
