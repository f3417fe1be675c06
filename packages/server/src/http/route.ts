/** What every route file uses to register itself: the app's type, and the parts of a description that they share. */
import { errorBodySchema } from '@inlay/contract/error.ts';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { CredentialRequirement } from './authenticate.ts';

/** The app, whose schemas are zod's. */
export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>;

const errorMeanings = {
  400: 'The request does not have the required shape, or breaks a rule; `code` and `issues` say which and where.',
  401: 'The credential is missing, malformed, unknown, expired or revoked.',
  403: 'The credential is valid, but not allowed to do this.',
  404: 'No such path, or what the request names does not exist for this credential.',
  405: 'The path does not have this method.',
  409: 'In conflict with what is going on.',
  413: 'The body is larger than allowed.',
  415: 'The body is not application/json.',
  429: 'A limit is reached.',
  500: 'Something failed inside; the request id leads to the log.',
  503: 'The server is starting or stopping, or a part that it needs does not answer.',
} as const;

type ErrorStatus = keyof typeof errorMeanings;
type ErrorReply = { description: string; content: { 'application/json': { schema: typeof errorBodySchema } } };

/**
 * The `response` entries of a route's schema for the error statuses that it may answer with. What may fail inside (500) may also
 * find the store away (503).
 */
export function errorReplies(...statuses: ErrorStatus[]): Partial<Record<ErrorStatus, ErrorReply>> {
  const replies: Partial<Record<ErrorStatus, ErrorReply>> = {};
  for (const status of statuses.includes(500) ? [...statuses, 503 as const] : statuses) {
    replies[status] = {
      description: errorMeanings[status],
      content: { 'application/json': { schema: errorBodySchema } },
    };
  }
  return replies;
}

/** The `security` entry of a route's schema: the names of open-api.ts. */
export function securityOf(credential: CredentialRequirement | 'embed-token'): Record<string, string[]>[] {
  const embedToken = [{ embedToken: [] }, { embedTokenScheme: [] }];
  switch (credential) {
    case 'none':
      return [];
    case 'api-key':
    case 'admin-key':
    case 'admin-role key':
      return [{ apiKey: [] }];
    case 'embed-token':
      return embedToken;
    case 'api-key or embed-token':
      return [{ apiKey: [] }, ...embedToken];
  }
}
