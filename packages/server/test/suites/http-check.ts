/** Calls over real HTTP for the suites, and what has to hold of every reply, whichever route gave it. */
import { type ErrorBody, errorBodySchema, errorCodes } from '@inlay/contract/error.ts';

/** A request of a suite. `body` goes out as it is; {@link jsonCall} makes one from a value. */
export interface HttpCall {
  readonly method: string;
  /** Begins with a slash; may hold a query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
}

/** A reply, read to its end. */
export interface HttpReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed text of a JSON reply; null for an empty one and for any other type. */
  readonly json: unknown;
}

/** How long a reply may take, to its last byte, before the suites call it a hang. */
export const replyDeadlineMs = 60_000;

/**
 * Sends a request and reads the reply to its end.
 * @throws Error when there is none within {@link replyDeadlineMs}, or the connection breaks, or JSON is announced and not sent.
 */
export async function callHttp(url: string, call: HttpCall): Promise<HttpReply> {
  const reply = await fetch(url + call.path, {
    method: call.method,
    headers: { ...call.headers },
    signal: AbortSignal.timeout(replyDeadlineMs),
    ...(call.body === undefined ? {} : { body: call.body }),
  });
  const text = await reply.text();
  const isJson = reply.headers.get('content-type')?.startsWith('application/json') === true && text !== '';
  return { status: reply.status, headers: reply.headers, text, json: isJson ? JSON.parse(text) : null };
}

/** A call with a JSON body; `authorization` undefined: without a credential, `body` undefined: without a body. */
export function jsonCall(method: string, path: string, authorization?: string, body?: unknown): HttpCall {
  return {
    method,
    path,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(authorization === undefined ? {} : { authorization }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
}

/** What is wrong with a reply in itself: the shape of its error body, its headers, its lines. Empty when all is right. */
export function problemsOf(reply: HttpReply): readonly string[] {
  return reply.status >= 400 ? errorProblems(reply) : successProblems(reply);
}

function errorProblems({ status, headers, json }: HttpReply): readonly string[] {
  const parsed = errorBodySchema.strict().safeParse(json);
  if (!parsed.success)
    return [`not an error body: ${parsed.error.issues.map(({ path }) => path.join('.')).join(', ')}`];
  const body: ErrorBody = parsed.data;
  const problems: string[] = [];
  const known = Object.entries(errorCodes).find(([code]) => code === body.code)?.[1];
  if (body.statusCode !== status) problems.push(`statusCode ${body.statusCode} in a reply ${status}`);
  if (known === undefined) problems.push(`the code ${body.code} is not in the list`);
  else if (known[0] !== status) problems.push(`the code ${body.code} belongs to ${known[0]}`);
  if (body.message.trim() === '') problems.push('an empty message');
  if (body.error.trim() === '') problems.push('an empty error');
  if (body.requestId === '' || body.requestId !== headers.get('x-request-id'))
    problems.push('requestId and header differ');
  if (status === 401 && headers.get('www-authenticate') !== 'Bearer') problems.push('401 without WWW-Authenticate');
  if (status >= 500 && body.code === 'INTERNAL' && body.issues !== undefined)
    problems.push('a 500 tells of the inside');
  if (body.code === 'EXTERNAL_USER_LIMIT' && headers.has('retry-after'))
    problems.push('a limit that waiting does not end');
  return problems;
}

function successProblems({ status, headers, text, json }: HttpReply): readonly string[] {
  const problems: string[] = [];
  const type = headers.get('content-type') ?? '';
  if (headers.get('x-request-id') === null) problems.push('no x-request-id');
  if (status === 204 && text !== '') problems.push('204 with a body');
  if (status === 200 && type.startsWith('application/json') && json === null) problems.push('an empty JSON reply');
  if (type.startsWith('application/x-ndjson')) {
    if (!text.endsWith('\n')) problems.push('the last line does not end');
    const lines = text.split('\n').slice(0, -1);
    if (lines.length === 0) problems.push('no line');
    if (!lines.every(isJsonObject)) problems.push('a line that is not an object of JSON');
  }
  return problems;
}

function isJsonObject(line: string): boolean {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
