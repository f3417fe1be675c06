/** Pages of a list: the same query parameters and the same reply for every list of the API (http-api.md). */
import { z } from 'zod';
import { isStorableText } from './text.ts';

/** Rows on a page: 1–500, 50 when left out. */
export const pageRowsMax = 500;
const pageRowsDefault = 50;

/** `first` and `after`, as they stand in a URL. What a list can be sorted and filtered by, it adds. */
export const pageQuerySchema = z.object({
  first: z.coerce.number().int().min(1).max(pageRowsMax).default(pageRowsDefault).describe('Rows on the page.'),
  after: z.string().min(1).max(2048).optional().describe('`endCursor` of the page before; opaque.'),
});

/**
 * `sort`, the same grammar for every list: one of the names, ascending, or with `-` before it descending.
 * @param preset what holds when the parameter is left out: newest first wherever there is such an order.
 */
export const sortSchema = <const Name extends string>(names: readonly Name[], preset: Name | `-${Name}`) =>
  z
    .enum(names.flatMap((name) => [name, `-${name}`] as const))
    .optional()
    .meta({ description: 'What the list is sorted by; with `-` before it, descending.', default: preset })
    .transform((sort) => sort ?? preset);

/** `search`: text that occurs in a name of the object, whatever the case. */
export const searchSchema = z
  .string()
  .min(1)
  .max(255)
  .refine(isStorableText, 'must not contain NUL or a lone surrogate')
  .optional()
  .describe('Text that occurs in a name of the object, whatever the case.');

/** A truth value in a URL: `true` or `false`. */
export const flagSchema = z.enum(['true', 'false']).transform((text) => text === 'true');

/** An id in JSON: 1 to 2147483647. */
export const jsonIdSchema = z.int().min(1).max(2_147_483_647);

/** An id in a path or query: the same, in decimal without leading zeros. */
export const idSchema = z.preprocess(
  (text) => (typeof text === 'string' && /^[1-9]\d{0,9}$/.test(text) ? Number(text) : text),
  jsonIdSchema,
);

/** The path parameters of an object that has an integer id. */
export const idParamsSchema = z.object({ id: idSchema });

/** The path or query parameters of an operation that has none. */
export const noParametersSchema = z.object({});

/** Where a page stands. The cursors are null on an empty page. */
export const pageInfoSchema = z.object({
  hasNextPage: z.boolean(),
  hasPreviousPage: z.boolean(),
  startCursor: z.string().nullable(),
  endCursor: z.string().nullable(),
});

/** The reply of a list of `item`. */
export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ items: z.array(item), pageInfo: pageInfoSchema });

/** A page of `Item`. */
export interface Page<Item> {
  readonly items: Item[];
  readonly pageInfo: z.infer<typeof pageInfoSchema>;
}
