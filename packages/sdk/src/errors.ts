/** What goes wrong between a client and the server. */
import type { Issue } from '@inlay/contract/error.ts';

/** What is known of a failure besides its message. */
export interface InlayClientErrorDetails {
  /** A code of the server's list, or one of the client's own: `STREAM_INVALID`, `STREAM_INCOMPLETE`, `REPLY_INVALID`, `CONNECTION_LOST`. */
  readonly code: string;
  /** The HTTP status; absent when the failure is not an HTTP error. */
  readonly statusCode?: number;
  /** Leads to the server's log. */
  readonly requestId?: string;
  readonly issues?: readonly Issue[];
  /** Seconds to wait before trying again, from `Retry-After`. */
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
}

/** A call that failed. `message` is for people; decide by `code`. */
export class InlayClientError extends Error {
  readonly code: string;
  readonly statusCode: number | undefined;
  readonly requestId: string | undefined;
  readonly issues: readonly Issue[];
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, details: InlayClientErrorDetails) {
    super(message, { cause: details.cause });
    this.name = 'InlayClientError';
    this.code = details.code;
    this.statusCode = details.statusCode;
    this.requestId = details.requestId;
    this.issues = details.issues ?? [];
    this.retryAfterSeconds = details.retryAfterSeconds;
  }
}
