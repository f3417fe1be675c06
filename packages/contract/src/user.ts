/** Users, their groups, attributes and security contexts, as they stand in requests. */
import { z } from 'zod';
import { beyond, isWithinBytes, limitedBytes, limitedList, limitedText } from './limited.ts';
import type { Limits } from './limits.ts';
import { isStorableText } from './text.ts';

/** The type of an attribute definition; it never changes. */
export const attributeTypeSchema = z.enum(['string', 'number', 'boolean', 'string_array', 'number_array']);
export type AttributeType = z.infer<typeof attributeTypeSchema>;

/** The value of a user attribute as replies tell it: it was stored under the limits of its time. */
export const storedAttributeValueSchema = z.union([
  z.string(),
  z.number(),
  z.boolean(),
  z.array(z.string()),
  z.array(z.number()),
  z.null(),
]);
export type AttributeValue = z.infer<typeof storedAttributeValueSchema>;

/** Any JSON value. */
export const jsonSchema = z.json();

/**
 * An absolute http(s) URL; it is never fetched (service.md 4.1 rule 2). The parser of browsers mends too much: it adds slashes to
 * `https:a.example`, and drops line ends.
 */
function isPictureUrl(text: string): boolean {
  if (text !== text.trim() || !/^https?:\/\//i.test(text) || /\p{Cc}/u.test(text)) return false;
  return URL.canParse(text);
}

/** True when a JSON value has at most `levels` levels of lists and objects. */
function isWithinLevels(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((item) => isWithinLevels(levels - 1, item));
}

/** True when no text and no key of a JSON value holds what PostgreSQL's jsonb refuses. */
function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return isStorableText(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([key, item]) => isStorable(key) && isStorable(item));
}

/** The shapes under these limits. Build them once. */
export function userShapes(limits: Limits) {
  /** The name of a group, an attribute or another object, not empty. */
  const name = limitedText(limits, 'nameCharactersMax', 1);
  const displayName = limitedText(limits, 'displayNameCharactersMax');
  const description = limitedText(limits, 'descriptionCharactersMax');

  /** `externalId`: lower case, no white space or control characters anywhere (service.md 2.2). */
  const externalId = limitedText(limits, 'externalIdCharactersMax', 1).refine(
    (id) => !/[\s\p{Cc}]/u.test(id) && id === id.toLowerCase(),
    'must be lowercase and trimmed, without white space or control characters',
  );

  /** `internalId`: the username or email address of an internal user. */
  const internalId = limitedText(limits, 'internalIdCharactersMax', 1);
  const email = limitedText(limits, 'emailCharactersMax').pipe(z.email());

  /** How a user is shown; what is left out keeps its stored value (service.md 4.1 rule 2). */
  const userProfile = z.object({
    displayName: displayName.optional(),
    picture: limitedText(limits, 'pictureUrlCharactersMax')
      .refine(isPictureUrl, 'must be an absolute http:// or https:// URL')
      .optional(),
  });

  const attributeText = limitedBytes(limits, 'attributeStringBytesMax');
  /** The value of a user attribute; null clears it (service.md 2.3). Arrays hold one type. */
  const attributeValue = z.union([
    attributeText,
    z.number(),
    z.boolean(),
    limitedList(z.array(attributeText), limits, 'attributeItemsMax'),
    limitedList(z.array(z.number()), limits, 'attributeItemsMax'),
    z.null(),
  ]);

  /** Values to set on a user; that no name occurs twice the server checks (service.md 4.1 rule 4). */
  const userAttributes = limitedList(z.array(z.object({ name, value: attributeValue })), limits, 'attributesMax');

  /** Names of groups (service.md 4.1 rule 5). */
  const groups = limitedList(z.array(name), limits, 'groupsMax');

  /** A free JSON object that policies may read. */
  const securityContext = z
    .record(z.string(), jsonSchema)
    .refine(
      (value) => isWithinLevels(limits.securityContextDepthMax, value),
      beyond(limits, 'securityContextDepthMax', 'levels deep'),
    )
    .refine(
      (value) => isWithinBytes(JSON.stringify(value), limits.securityContextBytesMax),
      beyond(limits, 'securityContextBytesMax', 'bytes'),
    )
    .refine(isStorable, 'must not contain NUL or a lone surrogate');

  /** How long an ephemeral user lives. */
  const ephemeralTtlSeconds = z
    .int()
    .min(1)
    .refine((seconds) => seconds <= limits.ephemeralTtlSecondsMax, beyond(limits, 'ephemeralTtlSecondsMax', 'seconds'))
    .meta({ maximum: limits.ephemeralTtlSecondsMax });

  /** A group to make or change in an embed tenant (service.md 2.4). */
  const groupDefinition = z.object({ name, description: description.optional() });

  /** An attribute to make or change in an embed tenant (service.md 2.5). The server checks the default against the type. */
  const userAttributeDefinition = z.object({
    name,
    type: attributeTypeSchema,
    displayName: displayName.optional(),
    defaultValue: limitedBytes(limits, 'defaultValueBytesMax').optional(),
    description: description.optional(),
  });

  return {
    name,
    displayName,
    description,
    externalId,
    internalId,
    email,
    userProfile,
    attributeValue,
    userAttributes,
    groups,
    securityContext,
    ephemeralTtlSeconds,
    groupDefinition,
    userAttributeDefinition,
  };
}
export type UserShapes = ReturnType<typeof userShapes>;

export type UserProfile = z.infer<UserShapes['userProfile']>;
export type SecurityContextJson = z.infer<UserShapes['securityContext']>;
