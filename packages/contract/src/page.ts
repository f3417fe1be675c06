/** Pages of a list: the same query parameters and the same reply for every list of the API (http-api.md). */
import { z } from 'zod';

/** Rows on a page: 1–500, 50 when left out. */
export const pageRowsMax = 500;
export const pageRowsDefault = 50;

/** `first` and `after`, as they stand in a URL. What a list can be sorted and filtered by, it adds. */
export const pageQuerySchema = z.object({
  first: z.coerce.number().int().min(1).max(pageRowsMax).default(pageRowsDefault).describe('Rows on the page.'),
  after: z.string().min(1).max(2048).optional().describe('`endCursor` of the page before; opaque.'),
});
export type PageQuery = z.infer<typeof pageQuerySchema>;

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
  readonly items: readonly Item[];
  readonly pageInfo: z.infer<typeof pageInfoSchema>;
}
