import { z } from 'zod';
import { limits } from './limits.ts';
import { isStorableText, textSchema } from './text.ts';

const utf8Bytes = (text: string): number => new TextEncoder().encode(text).length;

/** The name of a group or attribute: 1–128 characters. */
export const nameSchema = textSchema.min(1).max(limits.nameCharactersMax);

/** `externalId`: 1–255 characters, lower case, no white space or control characters anywhere (service.md 2.2). */
export const externalIdSchema = textSchema
  .min(1)
  .max(limits.externalIdCharactersMax)
  .refine(
    (id) => !/[\s\p{Cc}]/u.test(id) && id === id.toLowerCase(),
    'must be lowercase and trimmed, without white space or control characters',
  );

/** `internalId`: the username or email address of an internal user. */
export const internalIdSchema = textSchema.min(1).max(limits.emailCharactersMax);

/** An email address of at most 320 characters. */
export const emailSchema = textSchema.max(limits.emailCharactersMax).pipe(z.email());

/** An absolute http(s) URL; it is never fetched (service.md 4.1 rule 2). */
const pictureSchema = textSchema.max(limits.pictureUrlCharactersMax).refine((text) => {
  if (text !== text.trim()) return false;
  const url = URL.parse(text);
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:');
}, 'must be an absolute http:// or https:// URL');

/** How a user is shown; what is left out keeps its stored value (service.md 4.1 rule 2). */
export const userProfileSchema = z.object({
  displayName: textSchema.max(limits.displayNameCharactersMax).optional(),
  picture: pictureSchema.optional(),
});
export type UserProfile = z.infer<typeof userProfileSchema>;

const attributeText = textSchema.refine(
  (text) => utf8Bytes(text) <= limits.attributeStringBytesMax,
  `must be at most ${limits.attributeStringBytesMax} bytes`,
);

/** The value of a user attribute; null clears it (service.md 2.3). Arrays hold one type. */
export const attributeValueSchema = z.union([
  attributeText,
  z.number(),
  z.boolean(),
  z.array(attributeText).max(limits.attributeItemsMax),
  z.array(z.number()).max(limits.attributeItemsMax),
  z.null(),
]);
export type AttributeValue = z.infer<typeof attributeValueSchema>;

/** The type of an attribute definition; it never changes. */
export const attributeTypeSchema = z.enum(['string', 'number', 'boolean', 'string_array', 'number_array']);
export type AttributeType = z.infer<typeof attributeTypeSchema>;

const jsonDepth = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? 1 + Math.max(0, ...Object.values(value).slice(0, limits.securityContextBytesMax).map(jsonDepth))
    : 0;

/** True when no text and no key of a JSON value holds what PostgreSQL's jsonb refuses. */
function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return isStorableText(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([key, item]) => isStorable(key) && isStorable(item));
}

/** Any JSON value. */
export const jsonSchema = z.json();

/** A free JSON object that policies may read; at most 16 KiB and 8 levels. */
export const securityContextSchema = z
  .record(z.string(), jsonSchema)
  .refine(
    (value) => utf8Bytes(JSON.stringify(value)) <= limits.securityContextBytesMax,
    `must be at most ${limits.securityContextBytesMax} bytes`,
  )
  .refine((value) => jsonDepth(value) <= limits.securityContextDepthMax, {
    message: `must be at most ${limits.securityContextDepthMax} levels deep`,
  })
  .refine(isStorable, 'must not contain NUL or a lone surrogate');
export type SecurityContextJson = z.infer<typeof securityContextSchema>;

/** Values to set on a user, 500 at most; that no name occurs twice the server checks (service.md 4.1 rule 4). */
export const userAttributesSchema = z
  .array(z.object({ name: nameSchema, value: attributeValueSchema }))
  .max(limits.attributesMax);

/** Names of groups, 500 at most (service.md 4.1 rule 5). */
export const groupsSchema = z.array(nameSchema).max(limits.groupsMax);
