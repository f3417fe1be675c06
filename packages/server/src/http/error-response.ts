/** Failures as replies: one place that decides what a client may read. */
import { STATUS_CODES } from 'node:http';
import { type ErrorBody, type ErrorCode, errorCodes, type Issue } from '@inlay/contract/error.ts';
import { agreedCode, limitCodeOf } from '@inlay/contract/limited.ts';
import { SemanticError } from '@inlay/semantic/semantic-error.ts';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { InlayError } from '../errors.ts';
import { isStoreAway } from '../store/store-away.ts';

/** How many issues a reply lists at most. */
const issuesMax = 50;

/** When a client may try again whose call failed because the store is away. */
const storeRetrySeconds = 1;

/** What the client gets, and whether the log has to tell what the client does not get to know, with its stack. */
export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly issues: readonly Issue[] | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly isLogged: boolean;
}

/** What anything thrown means to a client. What is not an expected failure says nothing of the inside. */
export function failureOf(error: unknown): Failure {
  if (error instanceof InlayError || error instanceof SemanticError) {
    const { code, message, hint } = error;
    const expected = error instanceof InlayError ? error : undefined;
    return {
      code,
      message: hint === '' ? message : `${message} ${hint}`,
      issues: expected?.issues?.slice(0, issuesMax),
      retryAfterSeconds: expected?.retryAfterSeconds,
      isLogged: isForLog(code, error.cause),
    };
  }
  if (hasZodFastifySchemaValidationErrors(error)) {
    const issues = error.validation.slice(0, issuesMax).map(({ instancePath, message }) => ({
      path: instancePath.slice(1).replaceAll('/', '.'),
      message: message ?? 'is not valid',
    }));
    const code = codeOfIssues(error.validation);
    return failure(code, `The ${error.validationContext ?? 'request'} does not have the required shape`, { issues });
  }
  if (isStoreAway(error)) {
    return failure('NOT_READY', 'The store does not answer; try again', {
      retryAfterSeconds: storeRetrySeconds,
      isLogged: true,
    });
  }
  switch (statusOf(error)) {
    case undefined:
    case 500:
      return failure('INTERNAL', 'Something failed inside; the request id leads to the log', { isLogged: true });
    case 413:
      return failure('PAYLOAD_TOO_LARGE', 'The body is larger than allowed');
    case 415:
      return failure('UNSUPPORTED_MEDIA_TYPE', 'The body must be application/json');
    case 503:
      return failure('NOT_READY', 'The server is stopping');
    default:
      return failure('INVALID_JSON', 'The body is not valid JSON');
  }
}

/** The body of the reply. `holdsMessage`: `error` holds the message, as on data API routes (http-api.md). */
export function errorBody(
  { code, message, issues }: Pick<Failure, 'code' | 'message' | 'issues'>,
  requestId: string,
  holdsMessage = false,
): ErrorBody {
  const statusCode = errorCodes[code][0];
  return {
    statusCode,
    error: holdsMessage ? message : (STATUS_CODES[statusCode] ?? 'Error'),
    message,
    code,
    requestId,
    ...(issues === undefined ? {} : { issues: [...issues] }),
  };
}

/** Problems that zod found, as issues: the path joined by dots. */
export function issuesOf(
  problems: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[],
): readonly Issue[] {
  return problems.slice(0, issuesMax).map(({ path, message }) => ({ path: path.map(String).join('.'), message }));
}

/** The code for problems of a shape: that of a limit when all of them are about passing it, else INVALID_REQUEST. */
export function codeOfIssues(problems: readonly object[]): ErrorCode {
  return agreedCode(problems.map(limitCodeOf)) ?? 'INVALID_REQUEST';
}

/** Codes of the warehouse and the store; where they have a cause, it says what happened there. */
const codesOfParts: ReadonlySet<ErrorCode> = new Set([
  'QUERY_FAILED',
  'NOT_READY',
  'WAREHOUSE_BUSY',
  'WAREHOUSE_UNAVAILABLE',
]);

/**
 * A failure that is ours to mend may still be expected, such as a data model that does not load. And what a part of ours said,
 * the warehouse or the store, is for the operator alone: the request id in the reply leads to it.
 */
function isForLog(code: ErrorCode, cause: unknown): boolean {
  return errorCodes[code][0] === 500 || (codesOfParts.has(code) && cause !== undefined);
}

function failure(code: ErrorCode, message: string, more: Partial<Failure> = {}): Failure {
  return { code, message, issues: undefined, retryAfterSeconds: undefined, isLogged: false, ...more };
}

/** The status that Fastify gave its own error; undefined for anything that is not one with a code of Fastify. */
function statusOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('statusCode' in error) || typeof error.statusCode !== 'number') return undefined;
  const isOfFastify = 'code' in error && typeof error.code === 'string' && error.code.startsWith('FST_');
  // The JSON parser's own errors have no code.
  return isOfFastify || error instanceof SyntaxError ? error.statusCode : undefined;
}
