/** A cap on runs that a run has met. */
import type { ErrorCode } from '@inlay/contract/error.ts';

/** Ends a run with an answer that says so: not a failure. `why` completes the sentence "I stop here: …". */
export class LimitReached extends Error {
  /** The whole sentence, for the user. */
  readonly sentence: string;
  /** With which the tool calls end that were under way. */
  readonly code: ErrorCode;

  constructor(why: string, code: ErrorCode = 'QUERY_TIMEOUT') {
    super(why);
    this.name = 'LimitReached';
    this.code = code;
    this.sentence = `I stop here: ${why}.`;
  }
}
