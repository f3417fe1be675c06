/** The management API: routes made from the operations that the contract declares (management-api.md). */
import { embedTenantNameSchema } from '@inlay/contract/embed.ts';
import { errorCodes } from '@inlay/contract/error.ts';
import type { Operation } from '@inlay/contract/operation.ts';
import type { FastifyError, FastifyRequest, FastifySchema } from 'fastify';
import { z } from 'zod';
import type { AdminCall } from '../admin/change.ts';
import type { Context } from '../context.ts';
import { InlayError } from '../errors.ts';
import { appendAuditEntry } from '../store/audit-log.ts';
import { actorOf, requireApiKey } from './authenticate.ts';
import { codeOfIssues, failureOf, issuesOf } from './error-response.ts';
import { countedOf } from './limit-requests.ts';
import { type App, errorReplies } from './route.ts';

/** Whose account is meant, and what the path names, parsed. */
export interface ManagePath<Params> {
  readonly accountId: number;
  readonly params: Params;
}

/** What the handler of an operation gets: who calls, and what was sent, parsed. A use case takes it as it is. */
export interface ManageCall<Params, Query, Body> extends AdminCall, ManagePath<Params> {
  readonly query: Query;
  /** Do not read it in an operation that declares none: that throws. */
  readonly body: Body;
  /** The address of this server as clients know it, without a trailing slash. */
  readonly baseUrl: string;
}

/** What an operation may add to its route. */
export interface ManageOptions<Params> {
  /**
   * Throws NOT_FOUND when what the path names is not there: asked before the body is read, as the order of checks demands
   * (http-api.md). The use case still looks for itself.
   */
  readonly requirePath?: (path: ManagePath<Params>) => Promise<unknown>;
}

/**
 * Registers the route of an operation: for admin keys of the whole account, validated by the operation's shapes. A path
 * parameter that does not have its shape is a 404. Success is audited by the use case, in its transaction; here every refusal
 * (4xx) of an operation that changes something is, with its code, except those of the rate limit, and as many as the log keeps.
 * @param handler returns the reply; for 204 nothing.
 */
export function manage<
  Params extends z.ZodObject,
  Query extends z.ZodObject,
  Body extends z.ZodType,
  Reply extends z.ZodType,
>(
  app: App,
  context: Context,
  operation: Operation<Params, Query, Body, Reply>,
  handler: (call: ManageCall<z.output<Params>, z.output<Query>, z.output<Body>>) => Promise<z.input<Reply>>,
  { requirePath }: ManageOptions<z.output<Params>> = {},
): void {
  const paramsOf = (request: FastifyRequest): z.output<Params> => {
    const parsed = operation.params.safeParse(request.params);
    if (!parsed.success) throw new InlayError('NOT_FOUND', 'What the path names does not exist');
    return parsed.data;
  };
  app.route({
    method: operation.method,
    url: operation.path,
    exposeHeadRoute: false,
    config: { credential: 'admin-key' },
    schema: describe(operation),
    // The shapes are applied below, where their types are known.
    validatorCompiler: () => (value) => ({ value }),
    onRequest: async (request) => {
      const params = paramsOf(request);
      await requirePath?.({ accountId: requireApiKey(request).accountId, params });
    },
    onError: async (request, _reply, error) => {
      if (operation.audit !== undefined) await auditRefusal(context, request, operation.audit, error);
    },
    handler: async (request, reply) => {
      const query = parse(operation.query, 'query', request.query);
      const body =
        operation.body === undefined ? undefined : { parsed: parse(operation.body, 'body', request.body ?? undefined) };
      const { db, clock, config } = context;
      const result = await handler({
        db,
        clock,
        accountId: requireApiKey(request).accountId,
        actor: actorOf(request),
        params: paramsOf(request),
        query,
        get body() {
          if (body === undefined) throw new Error(`The operation ${operation.id} takes no body.`);
          return body.parsed;
        },
        baseUrl: config.publicUrl ?? `${request.protocol}://${request.host}`,
      });
      // Whoever has changed something finds it so at once on this node; elsewhere it takes up to a second.
      if (operation.audit !== undefined) await context.changes.catchUp();
      return reply.code(operation.status).send(operation.status === 204 ? null : result);
    },
  });
}

/**
 * @throws InlayError INVALID_REQUEST, or the code of the limit that is passed, with an issue for each thing that is wrong in the
 * query or body.
 */
function parse<Shape extends z.ZodType>(shape: Shape, place: 'query' | 'body', value: unknown): z.output<Shape> {
  const { data, error } = shape.safeParse(value);
  if (error === undefined) return data;
  throw new InlayError(codeOfIssues(error.issues), `The ${place} does not have the required shape`, {
    issues: issuesOf(error.issues),
  });
}

/** The description of an operation, as it goes into the OpenAPI document. */
function describe({ id, tag, summary, params, query, body, status, reply }: Operation): FastifySchema {
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(Object.keys(params.shape).length === 0 ? {} : { params }),
    ...(Object.keys(query.shape).length === 0 ? {} : { querystring: query }),
    ...(body === undefined ? {} : { body }),
    response: {
      [status]: reply ?? z.null().describe('Done.'),
      ...errorReplies(400, 401, 403, 404, 409, 413, 415, 429, 500, 503),
    },
  };
}

/** Keeps who was refused what. It must not turn a refusal into something else: its own failure goes to the log. */
async function auditRefusal(
  { db, clock, log, rateLimits }: Context,
  request: FastifyRequest,
  action: string,
  error: FastifyError,
): Promise<void> {
  const { caller } = request;
  const { code, retryAfterSeconds } = failureOf(error);
  const isRefusal = errorCodes[code][0] >= 400 && errorCodes[code][0] < 500;
  if (caller === null || !isRefusal || retryAfterSeconds !== undefined) return;
  if (!rateLimits.countRefusal(countedOf(caller))) return;
  const { object, details } = namedBy(request.params, action);
  try {
    await appendAuditEntry(
      db,
      { accountId: caller.accountId, actor: actorOf(request), action, object, result: code, details },
      clock(),
    );
  } catch (err) {
    log.error({ err, requestId: request.id }, 'a refusal could not be audited');
  }
}

/**
 * What a path may name. Only what could be an id or the name of an embed tenant goes into the audit log: anybody can put
 * anything into a path, a secret too.
 */
const pathSchema = z.object({
  id: z
    .union([z.string().regex(/^\d{1,10}$/), z.uuid()])
    .nullable()
    .catch(null),
  embedTenantName: embedTenantNameSchema.nullable().catch(null),
});

/** The object of an action as the path names it; of a thing in an embed tenant the details name that. */
function namedBy(params: unknown, action: string) {
  const [kind = action] = action.split('.');
  const { id, embedTenantName } = pathSchema.parse(params ?? {});
  if (kind === 'embed-tenant') return { object: { kind, id, name: embedTenantName }, details: {} };
  return { object: { kind, id, name: null }, details: embedTenantName === null ? {} : { embedTenantName } };
}
