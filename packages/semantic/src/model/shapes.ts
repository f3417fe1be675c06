/** The shapes of cubes, their members and views as data teams write them in YAML. Keys that stand nowhere here are errors. */
import { z } from 'zod';
import { snakeCase } from './yaml-source.ts';

/** PostgreSQL's grammar, which reads the queries, cuts longer names: one would stand for another. */
export const nameCharactersMax = 63;

const name = z
  .string()
  .max(nameCharactersMax, `must have at most ${nameCharactersMax} characters`)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be a name: letters, digits and _, not beginning with a digit')
  .refine((text) => text !== 'CUBE', 'must not be CUBE: {CUBE} stands for the cube itself');

/** A text; what YAML reads as a number or truth value, such as `sql: 1`, is taken as it is written. */
const text = z
  .union([z.string(), z.number(), z.boolean()], 'must be a text')
  .transform(String)
  .refine((it) => it.length > 0, 'must not be empty');
const prose = z.union([z.string(), z.number()], 'must be a text').transform(String);
/** A map that holds a fragment. */
export const fragmentShape = z.strictObject({ sql: text });
const fragment = fragmentShape;
/** `count_distinct`, and `countDistinct` for those who write it so. */
const word = (values: readonly string[]) => z.string('must be a text').transform(snakeCase).pipe(z.enum(values));

const meta = z.record(z.string(), z.unknown(), 'must be a map of keys');
const described = {
  title: prose.optional(),
  description: prose.optional(),
  public: z.boolean().optional(),
  shown: z.boolean().optional(),
  meta: meta.optional(),
};
/** A word, or a map that has one under `type`: only that is kept. */
const format = z
  .union([z.string(), z.looseObject({ type: z.string() })], 'must be a word, or a map with a type')
  .transform((given) => (typeof given === 'string' ? given : given.type));
const list = z.array(z.unknown());
const texts = z.array(text);

/** What a cube says beside its members, whose lists are read item by item, so that one broken item hides no other. */
export const cubeShape = z.strictObject({
  name,
  sql_table: text.optional(),
  sql: text.optional(),
  sql_alias: text.optional(),
  extends: name.optional(),
  ...described,
  data_source: text.optional(),
  refresh_key: z.unknown().optional(),
  pre_aggregations: z.unknown().optional(),
  joins: list.optional(),
  dimensions: list.optional(),
  measures: list.optional(),
  segments: list.optional(),
  hierarchies: list.optional(),
  access_policy: list.optional(),
});
/** A cube as written, without its lists. */
export type CubeFile = z.output<typeof cubeShape>;

/** Names of relationships, with those of older versions of this format. */
export const relationships = {
  many_to_one: 'many_to_one',
  belongs_to: 'many_to_one',
  one_to_many: 'one_to_many',
  has_many: 'one_to_many',
  one_to_one: 'one_to_one',
  has_one: 'one_to_one',
} as const;

/** A join of a cube. */
export const joinShape = z.strictObject({
  name,
  sql: text,
  relationship: z
    .string('must be a text')
    .transform(snakeCase)
    .pipe(z.enum(['many_to_one', 'one_to_many', 'one_to_one', 'belongs_to', 'has_many', 'has_one'])),
});
/** A join as written. */
export type JoinFile = z.output<typeof joinShape>;

const label = z.union([text, fragment], 'must be a text, or a map with sql');

/** A dimension of a cube. */
export const dimensionShape = z.strictObject({
  name,
  type: z.enum(['string', 'number', 'time', 'boolean', 'geo', 'switch']),
  sql: text.optional(),
  ...described,
  format: format.optional(),
  primary_key: z.boolean().optional(),
  case: z
    .strictObject({
      when: z.array(z.strictObject({ sql: text, label })).min(1),
      else: z.strictObject({ label }).optional(),
    })
    .optional(),
  latitude: fragment.optional(),
  longitude: fragment.optional(),
  values: texts.min(1).optional(),
  sub_query: z.boolean().optional(),
  propagate_filters_to_sub_query: z.boolean().optional(),
  granularities: list.optional(),
  local_time: z.boolean().optional(),
  mask: z.unknown().optional(),
});
/** A dimension as written. */
export type DimensionFile = z.output<typeof dimensionShape>;

/** A unit of time that a time dimension declares. */
export const granularityShape = z.strictObject({
  name,
  title: prose.optional(),
  interval: text,
  offset: text.optional(),
  origin: text.optional(),
});

/** A measure of a cube. */
export const measureShape = z.strictObject({
  name,
  type: word([
    ...['count', 'count_distinct', 'count_distinct_approx', 'sum', 'avg', 'min', 'max'],
    ...['number', 'number_agg', 'string', 'time', 'boolean'],
  ]),
  sql: text.optional(),
  ...described,
  format: format.optional(),
  filters: z.array(fragment).optional(),
  rolling_window: z
    .strictObject({
      type: z.enum(['fixed', 'to_date', 'year_to_date', 'quarter_to_date', 'month_to_date']).optional(),
      trailing: text.optional(),
      leading: text.optional(),
      offset: z.enum(['start', 'end']).optional(),
      granularity: text.optional(),
    })
    .optional(),
  multi_stage: z.boolean().optional(),
  group_by: texts.optional(),
  reduce_by: texts.optional(),
  add_group_by: texts.optional(),
  time_shift: z
    .array(
      z.strictObject({
        time_dimension: text.optional(),
        interval: text.optional(),
        type: z.enum(['prior', 'next']).optional(),
        name: text.optional(),
      }),
    )
    .min(1)
    .optional(),
  case: z
    .strictObject({
      switch: text,
      when: z.array(z.strictObject({ value: text, sql: text })).min(1),
      else: fragment,
    })
    .optional(),
  drill_members: texts.optional(),
  mask: z.unknown().optional(),
});
/** A measure as written. */
export type MeasureFile = z.output<typeof measureShape>;

/** A segment of a cube. */
export const segmentShape = z.strictObject({ name, sql: text, ...described });
/** A segment as written. */
export type SegmentFile = z.output<typeof segmentShape>;

/** A hierarchy of a cube. */
export const hierarchyShape = z.strictObject({
  name,
  title: prose.optional(),
  public: z.boolean().optional(),
  levels: texts.min(1),
});
/** A hierarchy as written. */
export type HierarchyFile = z.output<typeof hierarchyShape>;

/** What a view says beside its lists. */
export const viewShape = z.strictObject({
  name,
  extends: name.optional(),
  ...described,
  cubes: list.optional(),
  folders: list.optional(),
  access_policy: list.optional(),
});
/** A view as written, without its lists. */
export type ViewFile = z.output<typeof viewShape>;

/** The members that a view takes from one cube. */
export const viewCubeShape = z.strictObject({
  join_path: z.string().regex(/^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/, 'must be cube names joined by dots'),
  includes: z.union([z.literal('*'), list], 'must be "*" or a list of members'),
  excludes: z.union([z.literal('*'), texts], 'must be a list of members').optional(),
  prefix: z.boolean().optional(),
  alias: name.optional(),
});
/** The members that a view takes from one cube, as written. */
export type ViewCubeFile = z.output<typeof viewCubeShape>;

/** A member that a view takes and describes anew. */
export const includedShape = z.strictObject({
  name,
  alias: name.optional(),
  title: prose.optional(),
  description: prose.optional(),
  format: format.optional(),
  meta: meta.optional(),
});
/** A member that a view takes, as written. */
export type IncludedFile = z.output<typeof includedShape>;

/** All members that a view takes by one path, in a folder. */
export const folderPathShape = z.strictObject({ join_path: viewCubeShape.shape.join_path });

/** A folder of a view. */
export const folderShape = z.strictObject({
  name: text,
  includes: z.union([z.literal('*'), list], 'must be "*" or a list'),
});
