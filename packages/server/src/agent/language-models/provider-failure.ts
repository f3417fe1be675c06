/** What went wrong at a provider: for the operator's log and for what to do next, never for a client. */
import { AISDKError, APICallError } from '@ai-sdk/provider';
import { z } from 'zod';
import { codeOf, InlayError } from '../../errors.ts';

const codesMax = 4;

/** A failed attempt at a turn. */
export interface ProviderFailure {
  readonly code: 'LANGUAGE_MODEL_TIMEOUT' | 'LANGUAGE_MODEL_FAILED';
  /** The status of the answer; null: there was none, or it failed in the middle. */
  readonly status: number | null;
  /** Whether the same may work a little later. */
  readonly isTransient: boolean;
  /** How long the provider asks to be left alone, in milliseconds; null: it does not say. */
  readonly retryAfterMs: number | null;
  /** What kind of failure it is, in our words and in codes. Never a provider's words: they may echo what it was sent, rows as well. */
  readonly reason: string;
  /** The provider's own id of the request, by which it can be asked; null: it gave none. */
  readonly providerRequestId: string | null;
}

/** A provider's code for what went wrong, such as `context_length_exceeded`. A single word is none: it could be a value. */
const code = z
  .string()
  .max(64)
  .regex(/^[a-z]+(?:_[a-z]+)+$/)
  .nullish()
  .catch(null);

/** What a provider says of an error in the middle of a stream, its words left out. */
const streamErrorSchema = z.object({
  message: z.string(),
  type: code,
  code,
  statusCode: z.number().nullish().catch(null),
  isRetryable: z.boolean().nullish().catch(null),
});

/** What a provider answers with in place of a stream, its words left out. */
const refusalSchema = z.object({ error: z.object({ type: code, code }) });

/**
 * What a failure is.
 * @param nowMs the time, against which a date in `Retry-After` counts.
 */
export function toProviderFailure(error: unknown, nowMs: number): ProviderFailure {
  const failed = {
    code: 'LANGUAGE_MODEL_FAILED',
    status: null,
    retryAfterMs: null,
    providerRequestId: null,
  } as const;
  if (error instanceof InlayError && error.code === 'LANGUAGE_MODEL_TIMEOUT') {
    // Who was silent for so long is not asked again: the user has waited long enough.
    return { ...failed, code: error.code, isTransient: false, reason: error.message };
  }
  if (APICallError.isInstance(error)) {
    const { statusCode: status = null, responseHeaders = {} } = error;
    const refusal = refusalSchema.safeParse(error.data).data?.error;
    return {
      ...failed,
      status,
      isTransient: error.isRetryable,
      retryAfterMs: readRetryAfter(responseHeaders, nowMs),
      reason:
        status === null
          ? toReason('no connection', codesIn(error))
          : toReason('the provider refused', [refusal?.type, refusal?.code]),
      providerRequestId: readRequestId(responseHeaders),
    };
  }
  const told = streamErrorSchema.safeParse(error);
  if (!(error instanceof Error) && told.success) {
    const { type, code: own, statusCode, isRetryable } = told.data;
    return {
      ...failed,
      status: statusCode ?? null,
      isTransient: isRetryable ?? true,
      reason: toReason('the provider ended the stream with an error', [type, own]),
    };
  }
  return { ...failed, isTransient: true, reason: toBroken(error) };
}

/** A connection that broke, or an answer that is not what it should be. Texts of libraries may quote it; ours do not. */
function toBroken(error: unknown): string {
  if (error instanceof InlayError) return error.message;
  if (AISDKError.isInstance(error) || error instanceof SyntaxError) {
    return toReason('the answer is not what it should be', [error.name]);
  }
  if (!(error instanceof Error)) return 'the provider ended the stream with an error';
  return toReason('the connection broke', codesIn(error));
}

/** The system's or a library's codes of an error and of what caused it, such as `ECONNREFUSED`; outermost first. */
function codesIn(error: unknown): string[] {
  const codes: string[] = [];
  for (let at = error; at instanceof Error && codes.length < codesMax; at = at.cause) {
    const own = codeOf(at);
    if (typeof own === 'string' && /^[A-Z][A-Z0-9_]+$/.test(own)) codes.push(own);
    // A host name with two addresses fails with an error for each.
    if (at instanceof AggregateError) codes.push(...at.errors.flatMap(codesIn));
  }
  return codes;
}

const requestIdHeaders = ['request-id', 'x-request-id'];

function readRequestId(headers: Readonly<Record<string, string>>): string | null {
  const id = requestIdHeaders.map((name) => headers[name]).find((value) => value !== undefined);
  return id !== undefined && /^[\w-]{8,64}$/.test(id) ? id : null;
}

/** `Retry-After` in its forms: milliseconds, seconds, a date. */
function readRetryAfter(headers: Readonly<Record<string, string>>, nowMs: number): number | null {
  const milliseconds = Number.parseFloat(headers['retry-after-ms'] ?? '');
  if (milliseconds >= 0) return milliseconds;
  const text = headers['retry-after']?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? null : Math.max(0, date - nowMs);
}

function toReason(what: string, codes: readonly (string | null | undefined)[]): string {
  const known = new Set(codes.filter((one) => one !== null && one !== undefined));
  return known.size === 0 ? what : `${what}: ${[...known].slice(0, codesMax).join(', ')}`;
}
