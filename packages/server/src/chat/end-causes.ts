/** Why a run, or its reader's stream, ends without an answer: what is the same wherever it ends. */
import type { ErrorCode } from '@inlay/contract/error.ts';
import { InlayError } from '../errors.ts';

/** What a run says that no process survived. */
export const interrupted = {
  code: 'RUN_INTERRUPTED' satisfies ErrorCode,
  message: 'The server stopped before the answer was complete.',
} as const;

/** The same as an error; as the reason of a signal: this process is not to write the run any more. */
export function interruption(): InlayError {
  return new InlayError(interrupted.code, interrupted.message);
}

/** The user has asked for the end. */
export function stoppedByUser(): InlayError {
  return new InlayError('ABORTED', 'Stopped by the user.');
}

/** A defect, as the client may know it. */
export function failedInside(): InlayError {
  return new InlayError('INTERNAL', 'Something failed inside.');
}
