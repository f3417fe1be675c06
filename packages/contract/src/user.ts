import { z } from 'zod';
import { limits } from './limits.ts';

const utf8Bytes = (text: string): number => new TextEncoder().encode(text).length;

/** Text that PostgreSQL can store and that is well-formed Unicode: no NUL, no lone surrogate. */
const plainText = z
  .string()
  // biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is the one that the store cannot hold
  .refine((text) => !/\u0000/.test(text) && text.isWellFormed(), 'must not contain NUL or a lone surrogate');

/** The name of a group or attribute: 1–128 characters. */
export const nameSchema = plainText.min(1).max(limits.nameCharactersMax);

/** `externalId`: 1–255 characters, lower case, no white space or control characters anywhere (service.md 2.2). */
export const externalIdSchema = plainText
  .min(1)
  .max(limits.externalIdCharactersMax)
  .refine(
    (id) => !/[\s\p{Cc}]/u.test(id) && id === id.toLowerCase(),
    'must be lowercase and trimmed, without white space or control characters',
  );

/** `internalId`: the username or email address of an internal user. */
export const internalIdSchema = plainText.min(1).max(limits.emailCharactersMax);

export const emailSchema = plainText.max(limits.emailCharactersMax).pipe(z.email());

/** An absolute http(s) URL; it is never fetched (service.md 4.1 rule 2). */
const pictureSchema = plainText.max(limits.pictureUrlCharactersMax).refine((text) => {
  if (text !== text.trim()) return false;
  const url = URL.parse(text);
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:');
}, 'must be an absolute http:// or https:// URL');

export const userProfileSchema = z.object({
  displayName: plainText.max(limits.displayNameCharactersMax).optional(),
  picture: pictureSchema.optional(),
});
export type UserProfile = z.infer<typeof userProfileSchema>;

const attributeText = plainText.refine(
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
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
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

export const userAttributesSchema = z
  .array(z.object({ name: nameSchema, value: attributeValueSchema }))
  .max(limits.attributesMax);

export const groupsSchema = z.array(nameSchema).max(limits.groupsMax);
