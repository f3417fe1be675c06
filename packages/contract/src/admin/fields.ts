/** Shapes that several resources of the management API share. */
import { z } from 'zod';
import { pageQuerySchema, searchSchema, sortSchema } from '../page.ts';
import { textSchema } from '../text.ts';

/** The query of lists that are sorted by creation, the newest first, or by name. */
export const listQuerySchema = pageQuerySchema.extend({
  sort: sortSchema(['createdAt', 'name'], '-createdAt'),
  search: searchSchema,
});

/** The same for what an installation numbers by itself: by `id` in place of the creation, the highest first. */
export const numberedListQuerySchema = pageQuerySchema.extend({
  sort: sortSchema(['id', 'name'], '-id'),
  search: searchSchema,
});

/** A text to filter by; the list takes it exactly. */
export const filterSchema = textSchema.min(1).max(1024).optional();

/** An instant, as ISO 8601 in UTC. */
export const instantSchema = z.iso.datetime();
