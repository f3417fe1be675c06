/** JSON as a parameter of a statement. */
import { type RawBuilder, sql } from 'kysely';

/** A bound JSON value that both databases read as jsonb, whatever their drivers make of a string. */
export const json = (value: unknown): RawBuilder<unknown> => sql`${JSON.stringify(value)}::text::jsonb`;

/** A JSON value. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };
