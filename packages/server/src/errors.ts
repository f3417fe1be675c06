/** What goes wrong: failures that are expected, and what anything else that was thrown says of itself. */
import type { ErrorCode, Issue } from '@inlay/contract/error.ts';

/** What something thrown says of itself: for the operator, never for a client. */
export function reasonOf(error: unknown): string {
  // A host name with two addresses that both refuse gives an error without a message of its own.
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}

/** The code that the system or a driver put on an error, such as `ENOENT`; undefined when there is none. */
export function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/**
 * An expected failure: a code of the one list, a message for people that is safe to show, and where it helps, issues (what
 * is wrong and where) or a hint. Whatever else is thrown is a defect and reaches a client as an opaque 500.
 */
export class InlayError extends Error {
  readonly code: ErrorCode;
  readonly issues: readonly Issue[] | undefined;
  readonly hint: string;
  /** Seconds after which trying again makes sense; becomes `Retry-After`. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    more: { issues?: readonly Issue[]; hint?: string; retryAfterSeconds?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: more.cause });
    this.name = 'InlayError';
    this.code = code;
    this.issues = more.issues;
    this.hint = more.hint ?? '';
    this.retryAfterSeconds = more.retryAfterSeconds;
  }
}
