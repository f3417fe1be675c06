/** The shape of data model files (YAML), as data teams write them. Keys that this version does not know are errors. */
import { z } from 'zod';

/** PostgreSQL's grammar, which reads the queries, cuts longer names: one would stand for another. */
export const nameCharactersMax = 63;
const name = z
  .string()
  .max(nameCharactersMax)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be a name: letters, digits and _');
const synonyms = z.strictObject({ synonyms: z.array(z.string()).optional() }).loose();
const described = {
  title: z.string().optional(),
  description: z.string().optional(),
  public: z.boolean().optional(),
  meta: synonyms.optional(),
};
const sql = z.string().min(1);

const policyValue = z.union([z.string(), z.number(), z.boolean()]);

/** A row filter as written; and/or nest. */
export type PolicyFilterFile =
  | { and: PolicyFilterFile[] }
  | { or: PolicyFilterFile[] }
  | { member: string; operator: string; values?: (string | number | boolean)[] | string | undefined };

const policyFilter: z.ZodType<PolicyFilterFile> = z.lazy(() =>
  z.union([
    z.strictObject({ and: z.array(policyFilter).min(1) }),
    z.strictObject({ or: z.array(policyFilter).min(1) }),
    z.strictObject({
      member: z.string(),
      operator: z.string(),
      values: z.union([z.array(policyValue), z.string()]).optional(),
    }),
  ]),
);

const memberList = z.union([z.literal('*'), z.array(name)]);

const policyEntry = z
  .strictObject({
    group: z.string().min(1).optional(),
    groups: z.array(z.string().min(1)).min(1).optional(),
    embed_tenants: z.boolean().optional(),
    row_level: z
      .union([
        z.strictObject({ allow_all: z.literal(true) }),
        z.strictObject({ filters: z.array(policyFilter).min(1) }),
      ])
      .optional(),
    member_level: z.strictObject({ includes: memberList.optional(), excludes: memberList.optional() }).optional(),
  })
  .refine((entry) => (entry.group === undefined) !== (entry.groups === undefined), 'needs either group or groups');

const accessPolicy = z.array(policyEntry).min(1).optional();

const cube = z
  .strictObject({
    name,
    sql_table: sql.optional(),
    sql: sql.optional(),
    ...described,
    joins: z
      .array(
        z.strictObject({
          name,
          relationship: z.enum(['many_to_one', 'one_to_many', 'one_to_one']),
          sql,
        }),
      )
      .optional(),
    dimensions: z
      .array(
        z.strictObject({
          name,
          sql,
          type: z.enum(['string', 'number', 'time', 'boolean']),
          primary_key: z.boolean().optional(),
          format: z.string().optional(),
          ...described,
        }),
      )
      .optional(),
    measures: z
      .array(
        z.strictObject({
          name,
          sql: sql.optional(),
          type: z.enum(['count', 'count_distinct', 'sum', 'avg', 'min', 'max', 'number']),
          filters: z.array(z.strictObject({ sql })).optional(),
          format: z.string().optional(),
          ...described,
        }),
      )
      .optional(),
    access_policy: accessPolicy,
  })
  .refine((it) => (it.sql_table === undefined) !== (it.sql === undefined), 'needs either sql_table or sql');

const view = z.strictObject({
  name,
  ...described,
  cubes: z
    .array(
      z.strictObject({
        join_path: z.string().regex(/^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/, 'must be cube names joined by dots'),
        includes: z.union([
          z.literal('*'),
          z.array(
            z.union([
              name,
              z.strictObject({
                name,
                alias: name.optional(),
                title: z.string().optional(),
                description: z.string().optional(),
                format: z.string().optional(),
              }),
            ]),
          ),
        ]),
        excludes: z.array(name).optional(),
        prefix: z.boolean().optional(),
        alias: name.optional(),
      }),
    )
    .min(1),
  access_policy: accessPolicy,
});

/** One model file: any number of cubes and views. */
export const modelFileSchema = z.strictObject({ cubes: z.array(cube).optional(), views: z.array(view).optional() });

/** A cube as written. */
export type CubeFile = z.infer<typeof cube>;
/** A view as written. */
export type ViewFile = z.infer<typeof view>;
/** An entry of an access policy as written. */
export type PolicyEntryFile = z.infer<typeof policyEntry>;
