/**
 * Which pages may call with an embed token: those of the origins that an account lists (http-api.md). Calls with an API key get
 * no CORS headers, so that no browser lets a page make them. There are no cookies, hence no credentials in the sense of CORS.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Kysely, sql } from 'kysely';
import { z } from 'zod';
import { json } from '../store/json.ts';
import type { Schema } from '../store/schema.ts';
import type { Caller, CredentialRequirement } from './authenticate.ts';
import type { App } from './route.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Pages call the route, though it does not take an embed token in the header. */
    isForPages?: boolean;
    /** Headers that pages send on this route besides those of every route. */
    pageHeaders?: readonly string[];
  }
}

const allowedHeaders = 'authorization, content-type, x-request-id';
const exposedHeaders = 'x-request-id, retry-after';
/** How long a browser may keep the answer to a preflight. */
const maxAgeSeconds = 600;
/** Longer than any origin that an account can list. */
const originCharactersMax = 300;

const paramsSchema = z.object({ accountName: z.string().optional() }).catch({});

interface RouteConfig {
  readonly credential?: CredentialRequirement;
  readonly isForPages?: boolean;
  readonly pageHeaders?: readonly string[];
}

/**
 * Answers preflights of the routes that pages call. A preflight has no credential, so that the page may go on where the account
 * in the path lists its origin, or without one any account does; what the call then gets is up to {@link allowOriginOf}.
 * To be called before the routes are registered.
 */
export function answerPreflights(app: App, db: Kysely<Schema>): void {
  /** By path, the methods that pages call there. */
  const paths = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ method, url, config }) => {
    if (!isForPages(config ?? {})) return;
    const known = paths.get(url);
    const methods = known ?? new Set<string>();
    for (const one of [method].flat()) methods.add(one);
    if (known !== undefined) return;
    paths.set(url, methods);
    const headers = [allowedHeaders, ...(config?.pageHeaders ?? [])].join(', ');
    app.options(url, { config: { credential: 'none' }, schema: { hide: true } }, async (request, reply) => {
      reply.header('vary', 'Origin');
      const origin = originOf(request);
      if (origin !== null && (await isListed(db, origin, request))) {
        reply.headers({
          'access-control-allow-origin': origin,
          'access-control-allow-methods': [...methods].filter((one) => one !== 'HEAD').join(', '),
          'access-control-allow-headers': headers,
          'access-control-max-age': maxAgeSeconds,
        });
      }
      return reply.code(204).send();
    });
  });
}

/**
 * Lets the page read the reply where the account of the caller lists its origin. Where there is no caller, as with a token that
 * has expired, the reply holds nothing of an account, and the rule of the preflight decides.
 */
export async function allowOriginOf(
  db: Kysely<Schema>,
  request: FastifyRequest,
  reply: FastifyReply,
  caller: Caller | null,
): Promise<void> {
  if (!isForPages(request.routeOptions.config)) return;
  reply.header('vary', 'Origin');
  const origin = originOf(request);
  if (origin === null || caller?.kind === 'api-key' || /^api-key\b/i.test(request.headers.authorization ?? '')) return;
  const isAllowed =
    caller === null ? await isListed(db, origin, request) : caller.account.allowedOrigins.includes(origin);
  if (!isAllowed) return;
  reply.headers({ 'access-control-allow-origin': origin, 'access-control-expose-headers': exposedHeaders });
}

/**
 * Takes back what {@link allowOriginOf} allowed without knowing the caller, unless this account lists the origin: for a route that
 * looks at the credential itself.
 */
export function requireOriginOf(
  { allowedOrigins }: { readonly allowedOrigins: readonly string[] },
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const origin = originOf(request);
  if (origin !== null && !allowedOrigins.includes(origin)) reply.removeHeader('access-control-allow-origin');
}

function isForPages({ credential, isForPages: isSaid }: RouteConfig): boolean {
  return isSaid === true || credential === 'api-key or embed-token';
}

/** The origin of the page that calls; null without one, and for `null`, which every sandboxed page has. */
function originOf({ headers }: FastifyRequest): string | null {
  const { origin } = headers;
  return origin === undefined || origin === 'null' || origin.length > originCharactersMax ? null : origin;
}

/** Whether the account in the path lists the origin; without one in the path, whether any does. */
async function isListed(db: Kysely<Schema>, origin: string, { params }: FastifyRequest): Promise<boolean> {
  const { accountName = null } = paramsSchema.parse(params);
  const { rows } = await sql`
    select 1 from accounts
    where allowed_origins @> ${json([origin])} and coalesce(${accountName}::text, name) = name
    limit 1`.execute(db);
  return rows.length > 0;
}
