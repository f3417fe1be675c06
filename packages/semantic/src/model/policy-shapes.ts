/** The shapes of access policies as they are written. Keys that stand nowhere here are errors: a policy is never half understood. */
import { z } from 'zod';

const names = z.array(z.string().min(1)).min(1);
const memberList = z.union([z.literal('*'), z.array(z.string())], 'must be "*" or a list of members').optional();
const members = z.strictObject({ includes: memberList, excludes: memberList });

/** One entry of a policy. */
export const policyEntryShape = z.strictObject({
  group: z.string().min(1).optional(),
  groups: names.optional(),
  embed_tenants: z.boolean().optional(),
  conditions: z.array(z.strictObject({ if: z.union([z.string(), z.boolean()], 'must be a text') })).optional(),
  row_level: z
    .strictObject({ allow_all: z.literal(true).optional(), filters: z.array(z.unknown()).min(1).optional() })
    .refine(
      (it) => (it.allow_all === undefined) !== (it.filters === undefined),
      'takes allow_all: true, or filters: one of the two',
    )
    .optional(),
  member_level: members.optional(),
  member_masking: members.optional(),
});
/** An entry as written. */
export type PolicyEntryFile = z.output<typeof policyEntryShape>;

/** A comparison in a row filter. */
export const policyFilterShape = z.strictObject({
  member: z.string(),
  operator: z.string(),
  values: z
    .union(
      [z.array(z.union([z.string(), z.number(), z.boolean()])), z.string()],
      'must be a list of texts, numbers and truth values',
    )
    .optional(),
});

/** `and` or `or` around further filters. */
export const policyGroupShape = z.strictObject({
  and: z.array(z.unknown()).min(1).optional(),
  or: z.array(z.unknown()).min(1).optional(),
});
