import type { ErrorCode, Issue } from '@inlay/contract/error.ts';
import { errorCodes } from '@inlay/contract/error.ts';

/**
 * An expected failure: a code of the one list, a message for people that is safe to show, and where it helps, issues (what
 * is wrong and where) or a hint. Whatever else is thrown is a defect and reaches a client as an opaque 500.
 */
export class InlayError extends Error {
  readonly code: ErrorCode;
  readonly statusCode: number;
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
    this.statusCode = errorCodes[code][0];
    this.issues = more.issues;
    this.hint = more.hint ?? '';
    this.retryAfterSeconds = more.retryAfterSeconds;
  }
}
