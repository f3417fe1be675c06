/** The account itself: its plan, what it may do, who may embed it, and its limits. */
import { z } from 'zod';
import { operation } from '../operation.ts';
import { noParametersSchema } from '../page.ts';
import { instantSchema } from './fields.ts';

/** The name of an account: part of the chat address. */
export const accountNameSchema = z
  .string()
  .regex(
    /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,62}$/,
    'must be 1 to 63 letters, digits, - and _, beginning with a letter or digit',
  );

/** The plans. Chat needs one of the last two (service.md 1). */
export const planSchema = z.enum(['starter', 'premium', 'enterprise']);

const isLocal = (hostname: string): boolean => ['localhost', '127.0.0.1', '[::1]'].includes(hostname);

/** True for `scheme://host[:port]` exactly as a browser sends it: https, or http of the machine itself. */
function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.origin !== text || text.includes('*')) return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLocal(url.hostname));
}

/** An origin, such as `https://app.example.com`. */
export const originSchema = z
  .string()
  .max(255)
  .refine(
    isOrigin,
    'must be https://host or https://host:port in lower case, without a path or wildcard; http for localhost only',
  );

const unique = (items: readonly string[]): boolean => new Set(items).size === items.length;

/** Origins whose pages may call with an embed token. */
export const allowedOriginsSchema = z.array(originSchema).max(100).refine(unique, 'must not hold an item twice');

/** Who may show the embedded pages in a frame: origins, or `self` for the server's own pages. */
export const frameAncestorsSchema = z
  .array(z.union([z.literal('self'), originSchema]))
  .max(100)
  .refine(unique, 'must not hold an item twice');

const limitSchema = z.int().min(0).max(10_000_000).nullable();
const rateSchema = z.int().min(1).max(10_000_000).nullable();

/** The limits of an account; null: the one of the process holds (settings.md). */
export const accountLimitsSchema = z.object({
  externalUsersMax: limitSchema,
  ephemeralUsersMax: limitSchema,
  keyRequestsPerMinuteMax: rateSchema,
  userRequestsPerMinuteMax: rateSchema,
});

/** An account. */
export const accountSchema = z.object({
  id: z.int(),
  name: z.string(),
  // Text, since what an installation had stored before stays readable.
  plan: z.string(),
  useCreatorMode: z.boolean(),
  allowedOrigins: z.array(z.string()),
  frameAncestors: z.array(z.string()),
  limits: accountLimitsSchema,
  threadRetentionDays: z.int().nullable(),
  createdAt: instantSchema,
});
export type Account = z.infer<typeof accountSchema>;

const changesSchema = z
  .object({
    name: accountNameSchema.describe('Part of the chat address, which changes with it.'),
    plan: planSchema,
    useCreatorMode: z.boolean().describe('Whether sessions in creator mode are minted.'),
    allowedOrigins: allowedOriginsSchema.describe(
      'Origins whose pages may call with an embed token; replaces the list.',
    ),
    frameAncestors: frameAncestorsSchema.describe(
      'Origins, or `self`, whose pages may frame the embedded ones; replaces the list.',
    ),
    limits: accountLimitsSchema.partial().describe('What is left out stays; null: the limit of the process.'),
    threadRetentionDays: z
      .int()
      .min(1)
      .max(36_500)
      .nullable()
      .describe('Threads that nobody wrote in for so many days are deleted; null: never.'),
  })
  .partial();
/** What is left out stays. */
export type AccountChanges = z.infer<typeof changesSchema>;

/** The account that the key belongs to. */
export const accountOperations = {
  get: operation({
    id: 'getAccount',
    command: 'account get',
    tag: 'account',
    summary: 'Read the settings of the account',
    method: 'GET',
    path: '/api/v1/account',
    params: noParametersSchema,
    query: noParametersSchema,
    status: 200,
    reply: accountSchema,
  }),
  update: operation({
    id: 'updateAccount',
    command: 'account update',
    tag: 'account',
    summary: 'Change settings of the account',
    method: 'PATCH',
    path: '/api/v1/account',
    params: noParametersSchema,
    query: noParametersSchema,
    body: changesSchema,
    status: 200,
    reply: accountSchema,
    audit: 'account.update',
  }),
};
