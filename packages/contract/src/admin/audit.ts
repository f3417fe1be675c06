/** The audit log: who did what to which thing, when, from where, and with which result. */
import { z } from 'zod';
import { operation } from '../operation.ts';
import { noParametersSchema, pageOf, pageQuerySchema, sortSchema } from '../page.ts';
import { filterSchema, instantSchema } from './fields.ts';

/** `operator`: at the command line on the store itself; `server`: the process on its own. */
export const actorKindSchema = z.enum(['api-key', 'user', 'operator', 'server']);

/** One thing done or refused. Nothing in it is a secret or the value of a user attribute. */
export const auditEntrySchema = z.object({
  id: z.string().describe('A whole number, as text.'),
  at: instantSchema,
  actor: z.object({
    kind: actorKindSchema,
    id: z.string().nullable(),
    name: z.string().nullable(),
    address: z.string().nullable().describe('The IP address of the request.'),
  }),
  action: z.string().describe('The kind of the object and the deed: `api-key.create`.'),
  object: z.object({ kind: z.string(), id: z.string().nullable(), name: z.string().nullable() }).nullable(),
  result: z.string().describe('`OK`, or the error code with which it was refused.'),
  requestId: z.string().nullable(),
  details: z.record(z.string(), z.unknown()),
});
export type AuditEntryJson = z.infer<typeof auditEntrySchema>;

const instantFilter = z.iso
  .datetime({ offset: true, error: 'must be a date and time with a zone, such as 2026-01-31T00:00:00Z' })
  .optional();
const querySchema = pageQuerySchema.extend({
  sort: sortSchema(['at'], '-at'),
  from: instantFilter.describe('Only what was done at this instant or later: `2026-01-31T00:00:00Z`.'),
  to: instantFilter.describe('Only what was done before this instant: `2026-02-01T00:00:00Z`.'),
  actorKind: actorKindSchema.optional().describe('Only what such actors did.'),
  actorId: filterSchema.describe('Only what the actor with this id did.'),
  objectKind: filterSchema.describe('Only what was done to such objects: `group`.'),
  objectId: filterSchema.describe('Only what was done to the object with this id.'),
  action: filterSchema.describe('Only this deed: `group.delete`.'),
  result: filterSchema.describe('Only this result: `OK`, or an error code.'),
});
/** What the list can be asked for. */
export type AuditQuery = z.infer<typeof querySchema>;

/** The audit log; it is only read. */
export const auditOperations = {
  list: operation({
    id: 'listAuditLog',
    command: 'audit list',
    tag: 'audit log',
    summary: 'Read the audit log',
    method: 'GET',
    path: '/api/v1/audit-log',
    params: noParametersSchema,
    query: querySchema,
    status: 200,
    reply: pageOf(auditEntrySchema),
  }),
};
