import { z } from 'zod';
import {
  emailSchema,
  externalIdSchema,
  groupsSchema,
  internalIdSchema,
  securityContextSchema,
  userAttributesSchema,
  userProfileSchema,
} from './user.ts';

/** The body of POST /api/v1/embed/generate-session (service.md 4.1). Rules between fields are checked by the server. */
export const generateSessionRequestSchema = z.object({
  deploymentId: z.int().positive(),
  externalId: externalIdSchema.optional(),
  internalId: internalIdSchema.optional(),
  email: emailSchema.optional(),
  userProfile: userProfileSchema.optional(),
  userAttributes: userAttributesSchema.optional(),
  groups: groupsSchema.optional(),
  securityContext: securityContextSchema.optional(),
});
export type GenerateSessionRequest = z.infer<typeof generateSessionRequestSchema>;

/** The reply: `sessionId` goes into the embed URL and is exchanged once for a token. */
export const generateSessionReplySchema = z.object({ sessionId: z.string() });

/** The body of POST /api/v1/embed/session/token. Absent when a Bearer token asks for its successor. */
export const sessionTokenRequestSchema = z.object({ sessionId: z.string().min(1).max(200) });

/** The reply: an embed token and the instant at which it ends. */
export const sessionTokenReplySchema = z.object({
  token: z.string().describe('Send it as `Authorization: Bearer <token>`.'),
  expiresAt: z.iso.datetime(),
});
