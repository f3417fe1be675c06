/** User attributes: the tenant-wide ones of an account. Those of an embed tenant have the same shape (service.md 4.2). */
import { z } from 'zod';
import { type BodyOf, operation, type QueryOf } from '../operation.ts';
import { idParamsSchema, noParametersSchema, pageOf } from '../page.ts';
import { attributeTypeSchema, type UserShapes } from '../user.ts';
import { filterSchema, instantSchema, listQuerySchema } from './fields.ts';

/** An attribute definition (http-api.md). `defaultValue` is text, whatever the type (service.md 2.5). */
export const userAttributeSchema = z.object({
  id: z.int(),
  name: z.string(),
  type: attributeTypeSchema,
  displayName: z.string().nullable(),
  defaultValue: z.string().nullable(),
  description: z.string().nullable(),
  createdAt: instantSchema,
});
export type UserAttribute = z.infer<typeof userAttributeSchema>;

/** The query of a list of attributes. */
export const userAttributeQuerySchema = listQuerySchema.extend({
  name: filterSchema.describe('Exactly this name.'),
  type: attributeTypeSchema.optional().describe('Only attributes of this type.'),
});

/** Tenant-wide user attributes, under the limits of `user`. */
export function userAttributeOperations({ name, displayName, description, userAttributeDefinition }: UserShapes) {
  const bodySchema = z.object({
    name,
    type: attributeTypeSchema,
    displayName: displayName.nullish(),
    defaultValue: userAttributeDefinition.shape.defaultValue
      .nullable()
      .describe('For users of whom no value was ever stored. Numbers as decimal text, arrays as JSON text.'),
    description: description.nullish(),
  });
  const changesSchema = bodySchema.partial().extend({
    type: attributeTypeSchema.optional().describe('Immutable: only the type that it has.'),
  });
  return {
    list: operation({
      id: 'listUserAttributes',
      command: 'user-attributes list',
      tag: 'user attributes',
      summary: 'List the tenant-wide user attributes',
      method: 'GET',
      path: '/api/v1/user-attributes',
      params: noParametersSchema,
      query: userAttributeQuerySchema,
      status: 200,
      reply: pageOf(userAttributeSchema),
    }),
    create: operation({
      id: 'createUserAttribute',
      command: 'user-attributes create',
      tag: 'user attributes',
      summary: 'Define a tenant-wide user attribute',
      method: 'POST',
      path: '/api/v1/user-attributes',
      params: noParametersSchema,
      query: noParametersSchema,
      body: bodySchema,
      status: 201,
      reply: userAttributeSchema,
      audit: 'user-attribute.create',
    }),
    get: operation({
      id: 'getUserAttribute',
      command: 'user-attributes get',
      tag: 'user attributes',
      summary: 'Read a tenant-wide user attribute',
      method: 'GET',
      path: '/api/v1/user-attributes/:id',
      params: idParamsSchema,
      query: noParametersSchema,
      status: 200,
      reply: userAttributeSchema,
    }),
    update: operation({
      id: 'updateUserAttribute',
      command: 'user-attributes update',
      tag: 'user attributes',
      summary: 'Change a tenant-wide user attribute, but not its type',
      method: 'PATCH',
      path: '/api/v1/user-attributes/:id',
      params: idParamsSchema,
      query: noParametersSchema,
      body: changesSchema,
      status: 200,
      reply: userAttributeSchema,
      audit: 'user-attribute.update',
    }),
    delete: operation({
      id: 'deleteUserAttribute',
      command: 'user-attributes delete',
      tag: 'user attributes',
      summary: 'Delete a tenant-wide user attribute with its values',
      method: 'DELETE',
      path: '/api/v1/user-attributes/:id',
      params: idParamsSchema,
      query: noParametersSchema,
      status: 204,
      audit: 'user-attribute.delete',
    }),
  };
}
type UserAttributeOperations = ReturnType<typeof userAttributeOperations>;
/** What lists of attributes can be asked for. */
export type UserAttributeQuery = QueryOf<UserAttributeOperations['list']>;
/** An attribute to make. */
export type UserAttributeBody = BodyOf<UserAttributeOperations['create']>;
/** What is left out stays; null clears. */
export type UserAttributeChanges = BodyOf<UserAttributeOperations['update']>;
