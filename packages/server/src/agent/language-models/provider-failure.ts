/** What went wrong at a provider: for the operator's log and for what to do next, never for a client. */
import { APICallError } from '@ai-sdk/provider';
import { z } from 'zod';
import { InlayError, reasonOf } from '../../errors.ts';

const reasonCharactersMax = 300;

/** A failed attempt at a turn. */
export interface ProviderFailure {
  readonly code: 'LANGUAGE_MODEL_TIMEOUT' | 'LANGUAGE_MODEL_FAILED';
  /** The status of the answer; null: there was none, or it failed in the middle. */
  readonly status: number | null;
  /** Whether the same may work a little later. */
  readonly isTransient: boolean;
  /** How long the provider asks to be left alone, in milliseconds; null: it does not say. */
  readonly retryAfterMs: number | null;
  /** At most 300 characters, without the key. */
  readonly reason: string;
}

/** What a provider says of an error in the middle of a stream. */
const streamErrorSchema = z.object({
  message: z.string(),
  statusCode: z.number().nullish().catch(null),
  isRetryable: z.boolean().nullish().catch(null),
});

/**
 * What a failure is.
 * @param apiKey is cut out of the reason.
 * @param nowMs the time, against which a date in `Retry-After` counts.
 */
export function toProviderFailure(error: unknown, apiKey: string | null, nowMs: number): ProviderFailure {
  const failed = { code: 'LANGUAGE_MODEL_FAILED', status: null, retryAfterMs: null } as const;
  if (error instanceof InlayError && error.code === 'LANGUAGE_MODEL_TIMEOUT') {
    // Who was silent for so long is not asked again: the user has waited long enough.
    return { ...failed, code: error.code, isTransient: false, reason: error.message };
  }
  if (APICallError.isInstance(error)) {
    return {
      ...failed,
      status: error.statusCode ?? null,
      isTransient: error.isRetryable,
      retryAfterMs: readRetryAfter(error.responseHeaders ?? {}, nowMs),
      reason: toReason(error.message, apiKey),
    };
  }
  const told = streamErrorSchema.safeParse(error);
  if (!(error instanceof Error) && told.success) {
    const { message, statusCode, isRetryable } = told.data;
    return {
      ...failed,
      status: statusCode ?? null,
      isTransient: isRetryable ?? true,
      reason: toReason(message, apiKey),
    };
  }
  // A connection that broke, or an answer that is not what it should be.
  return { ...failed, isTransient: true, reason: toReason(reasonOf(error), apiKey) };
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

function toReason(text: string, apiKey: string | null): string {
  const plain = apiKey === null ? text : text.replaceAll(apiKey, '[hidden]');
  return plain.replaceAll(/\s+/g, ' ').slice(0, reasonCharactersMax);
}
