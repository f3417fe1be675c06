/** Embed sessions on the wire: minting one, and exchanging it for a token. */
import { z } from 'zod';
import { beyond } from './limited.ts';
import type { Limits } from './limits.ts';
import type { UserShapes } from './user.ts';

/** The name of an embed tenant (service.md 4.1). */
export const embedTenantNameSchema = z
  .string()
  .regex(
    /^[a-z][a-z0-9-]{3,34}[a-z0-9]$/,
    'must have 5 to 36 of a-z, 0-9 and -, begin with a letter and end with a letter or digit',
  );

/** True for a language tag of BCP 47. */
function isLocale(text: string): boolean {
  try {
    return Intl.getCanonicalLocales(text).length === 1;
  } catch {
    return false;
  }
}

/** True for the name of a timezone of the IANA database; an offset such as `+01:00` is none. */
function isTimezone(text: string): boolean {
  if (!/^[a-z]/i.test(text)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
    return true;
  } catch {
    return false;
  }
}

/** What a session allows and how it looks; what is left out is not restricted, or the default (http-api.md). */
export const embedSessionSettingsSchema = z.strictObject({
  allowAi: z.boolean().optional().describe('false: no chat.'),
  allowExport: z.boolean().optional().describe('false: no download of data.'),
  locale: z.string().max(64).refine(isLocale, 'must be a language tag of BCP 47, such as de-CH').optional(),
  timezone: z
    .string()
    .max(64)
    .refine(isTimezone, 'must be the name of an IANA timezone, such as UTC')
    .optional()
    .describe('Where days begin in queries that name none.'),
  branchName: z.string().min(1).max(255).optional().describe('A branch of the data model.'),
  theme: z.enum(['light', 'dark', 'auto']).optional(),
});
export type EmbedSessionSettings = z.infer<typeof embedSessionSettingsSchema>;

/** The shapes under these limits. Build them once. */
export function embedShapes(limits: Limits, user: UserShapes) {
  /** The body of POST /api/v1/embed/generate-session (service.md 4.1). Rules between fields are checked by the server. */
  const generateSessionRequest = z
    .object({
      deploymentId: z.int().positive(),
      externalId: user.externalId.optional(),
      internalId: user.internalId.optional(),
      email: user.email.optional(),
      userProfile: user.userProfile.optional(),
      embedTenantName: embedTenantNameSchema.optional(),
      creatorMode: z.boolean().optional(),
      userAttributes: user.userAttributes.optional(),
      groups: user.groups.optional(),
      userAttributeDefinitions: z
        .array(user.userAttributeDefinition)
        .meta({ maxItems: limits.definitionsMax })
        .optional(),
      groupDefinitions: z.array(user.groupDefinition).meta({ maxItems: limits.definitionsMax }).optional(),
      securityContext: user.securityContext.optional(),
      settings: embedSessionSettingsSchema.optional(),
      isEphemeral: z.boolean().optional(),
      ephemeralTtlSeconds: user.ephemeralTtlSeconds.optional(),
    })
    .refine(
      ({ groupDefinitions = [], userAttributeDefinitions = [] }) =>
        groupDefinitions.length + userAttributeDefinitions.length <= limits.definitionsMax,
      { path: ['groupDefinitions'], ...beyond(limits, 'definitionsMax', 'with userAttributeDefinitions') },
    );
  return { generateSessionRequest };
}
export type GenerateSessionRequest = z.infer<ReturnType<typeof embedShapes>['generateSessionRequest']>;

/** The reply: `sessionId` goes into the embed URL and is exchanged once for a token. */
export const generateSessionReplySchema = z.object({ sessionId: z.string() });

/** The body of POST /api/v1/embed/session/token. Absent when a Bearer token asks for its successor. */
export const sessionTokenRequestSchema = z.object({ sessionId: z.string().min(1).max(200) });

/** The body of POST /api/v1/embed/session/revoke. */
export const revokeSessionRequestSchema = z.object({ sessionId: z.string().min(1).max(200) });

/** The reply: an embed token and the instant at which it ends. */
export const sessionTokenReplySchema = z.object({
  token: z.string().describe('Send it as `Authorization: Bearer <token>`.'),
  expiresAt: z.iso.datetime(),
});
