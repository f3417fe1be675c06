/** The HTTP server: what holds for every route. The routes themselves are listed in routes.ts. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import fastifySwagger from '@fastify/swagger';
import { errorCodes } from '@inlay/contract/error.ts';
import { type FastifyBaseLogger, type FastifyReply, type FastifyRequest, fastify, LogController } from 'fastify';
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Context } from '../context.ts';
import { codeOf, InlayError } from '../errors.ts';
import { isDeeperThan, jsonDepthMax } from '../json-depth.ts';
import { authenticationHook, type CredentialRequirement } from './authenticate.ts';
import { allowOriginOf, answerPreflights } from './cors.ts';
import { errorBody, type Failure, failureOf } from './error-response.ts';
import { countFailure, limitRequests } from './limit-requests.ts';
import { observeRequests } from './observe-requests.ts';
import { openApiSettings } from './open-api.ts';
import { type App, errorReplies, securityOf } from './route.ts';
import { registerRoutes } from './routes.ts';
import { closeUnusedConnections } from './unused-connections.ts';

/** How long a client may take to send a whole request. */
const requestTimeoutMs = 60_000;

/** Sized for `X-Inlay-Session-Settings`, which may hold a security context of 16 KiB, in base64url, with more beside it. */
const headerBytesMax = 65_536;

/** On every reply: JSON is nothing to guess at, to frame, to load as a part of a page, or to keep. A route may say otherwise. */
const headersOfAll = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** A route as it was registered, for tests that go through all of them. */
export interface RegisteredRoute {
  readonly method: string;
  /** With `:parameters`. */
  readonly path: string;
  readonly credential: CredentialRequirement;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Every route of the app. */
    readonly registeredRoutes: readonly RegisteredRoute[];
  }
  interface FastifyContextConfig {
    /** On data API routes the `error` of an error body holds the message (http-api.md). */
    errorHoldsMessage?: boolean;
  }
}

/** The app, ready to listen. `close()` lets the requests under way end; meanwhile `/readyz` answers 503. */
export async function buildApp(context: Context): Promise<App> {
  const logger: FastifyBaseLogger = context.log;
  const app = fastify({
    // For what happens outside of a reply; requests have a line of our own.
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    bodyLimit: context.config.bodyBytesMax,
    requestTimeout: requestTimeoutMs,
    http: { maxHeaderSize: headerBytesMax },
    // A request on a connection that is still open while the server stops gets the answer of its route.
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: true },
    requestIdHeader: false,
    trustProxy: trustedProxiesOf(context.config),
    genReqId: requestIdOf,
    frameworkErrors: (_error, request, reply) => {
      sendFailure(context, request, reply, new InlayError('ROUTE_NOT_FOUND', 'No such path'));
    },
    clientErrorHandler: answerBrokenHttp,
  }).withTypeProvider<ZodTypeProvider>();
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  acceptJsonOnly(app);
  listRoutes(app);
  answerPreflights(app, context.db);
  closeUnusedConnections(app);

  observeRequests(app, context);
  app.decorateRequest('caller', null);
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(headersOfAll).header('x-request-id', request.id);
    // Before the body is read: a path that does not exist is that, whatever is sent to it. No name holds a NUL.
    if (request.is404 || /^[^?]*%00/.test(request.url)) throw new InlayError('ROUTE_NOT_FOUND', 'No such path');
  });
  app.addHook('onRequest', authenticationHook(context));
  app.addHook('onRequest', (request, reply) => allowOriginOf(context.db, request, reply, request.caller));
  limitRequests(app, context.rateLimits);
  app.setNotFoundHandler(() => {
    throw new InlayError('ROUTE_NOT_FOUND', 'No such path');
  });
  app.setErrorHandler(async (error, request, reply) => {
    // A page has to be able to read that its token has ended. The store may be what fails.
    if (request.caller === null) await allowOriginOf(context.db, request, reply, null).catch(() => undefined);
    sendFailure(context, request, reply, error);
    return reply;
  });

  await app.register(fastifySwagger, openApiSettings(context.config.publicUrl, context.shapes));
  registerRoutes(app, context);
  await app.ready();
  return app;
}

/**
 * As Fastify takes it. It ignores a number, since whoever reaches the port past the proxies could then say anything; the operator
 * who gives one promises that nobody does (settings.md).
 */
function trustedProxiesOf({ trustedProxies }: Context['config']) {
  if (trustedProxies === false) return false;
  if (typeof trustedProxies === 'number') return (_address: string, hop: number): boolean => hop < trustedProxies;
  return [...trustedProxies];
}

/** The client's own id where it is a sane one, so that both logs can be read together; else a new one. */
function requestIdOf(request: IncomingMessage): string {
  const sent = request.headers['x-request-id'];
  if (typeof sent === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(sent)) return sent;
  return `req_${randomBytes(12).toString('base64url')}`;
}

/** JSON bodies and no others. An empty one counts as none; keys that reach a prototype are refused by the parser. */
function acceptJsonOnly(app: App): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body.length === 0) return done(null, undefined);
    parse(request, body.toString(), (error, value) => {
      if (error !== null) done(error);
      else if (isDeeperThan(jsonDepthMax, value)) {
        done(new InlayError('INVALID_REQUEST', `The body has more than ${jsonDepthMax} levels`));
      } else done(null, value);
    });
  });
}

/**
 * Keeps the list of routes, and refuses one that does not say which credential it asks for. The description of a route
 * names that credential, unless the route describes another.
 */
function listRoutes(app: App): void {
  const routes: RegisteredRoute[] = [];
  app.decorate('registeredRoutes', routes);
  app.addHook('onRoute', (route) => {
    const { method, path, config, schema } = route;
    if (config?.credential === undefined) throw new Error(`The route ${path} does not state its credential.`);
    // Preflights are answered in one place for all (cors.ts).
    if (method === 'OPTIONS') return;
    for (const one of [method].flat()) routes.push({ method: one, path, credential: config.credential });
    // Whoever shows a credential may be told to come later.
    const isCounted = config.credential !== 'none' || config.isForPages === true;
    const response = { ...(isCounted ? errorReplies(429) : {}), ...Object(schema?.response) };
    route.schema = { security: securityOf(config.credential), ...schema, response };
  });
}

function sendFailure(
  { log, rateLimits, telemetry }: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  error: unknown,
): void {
  // Nobody is there to read it, and it is nobody's defect.
  const isGone = request.raw.destroyed && !request.raw.complete && codeOf(error) === 'ECONNRESET';
  const told = isGone ? new InlayError('ABORTED', 'The client has gone away') : error;
  const failure = limitedFailureOf(told, request, rateLimits);
  if (failure.isLogged) log.error({ err: error, requestId: request.id }, 'request failed');
  const body = errorBody(failure, request.id, request.routeOptions.config?.errorHoldsMessage);
  reply.header('x-request-id', request.id);
  if (body.statusCode === 401) reply.header('www-authenticate', 'Bearer');
  if (body.statusCode === 429) telemetry.metrics.requestLimited(failure.code);
  if (failure.retryAfterSeconds !== undefined) reply.header('retry-after', failure.retryAfterSeconds);
  reply.code(body.statusCode).type('application/json; charset=utf-8').send(body);
}

/** What is to be said of `error`; of a credential that did not open, one too many from its address, that. */
function limitedFailureOf(error: unknown, request: FastifyRequest, rateLimits: Context['rateLimits']): Failure {
  const failure = failureOf(error);
  const refusal = errorCodes[failure.code][0] === 401 ? countFailure(request, rateLimits) : null;
  return refusal === null ? failure : failureOf(refusal);
}

/** What is not HTTP reaches no route; it gets the same error body, and the connection ends. */
function answerBrokenHttp(error: Error & { readonly code?: string }, socket: Socket): void {
  if (!socket.writable || socket.bytesWritten > 0) {
    socket.destroy();
    return;
  }
  const requestId = `req_${randomBytes(12).toString('base64url')}`;
  const messages: Readonly<Record<string, string>> = {
    HPE_HEADER_OVERFLOW: `The headers are larger than ${headerBytesMax / 1024} KiB`,
    ERR_HTTP_REQUEST_TIMEOUT: `The request did not arrive within ${requestTimeoutMs / 1000} s`,
  };
  const message = messages[error.code ?? ''] ?? 'The request is not valid HTTP';
  const failure = { code: 'INVALID_REQUEST', message, issues: undefined } as const;
  const body = JSON.stringify(errorBody(failure, requestId));
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json; charset=utf-8\r\nX-Request-Id: ${requestId}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
