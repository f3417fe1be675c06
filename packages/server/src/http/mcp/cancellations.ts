/**
 * Calls that a client may cancel. MCP names a call by a number of the client's own, and nothing ties one request to the next, so
 * that a call is found by its user and that number, on the node that it runs on.
 */
import { InlayError } from '../../errors.ts';

/** The calls of this process. */
export interface Cancellations {
  /** A call goes on, until it is disposed. `signal` aborts when it is cancelled. */
  enter(user: string, callId: string | number): Disposable & { readonly signal: AbortSignal };
  /** Cancels the call of the user with that id; none where two clients of the user use the same one at this moment. */
  cancel(user: string, callId: string | number): void;
}

/** No call goes on. */
export function createCancellations(): Cancellations {
  const calls = new Map<string, Set<AbortController>>();
  const keyOf = (user: string, callId: string | number): string => JSON.stringify([user, callId]);
  return {
    enter(user, callId) {
      const key = keyOf(user, callId);
      const controller = new AbortController();
      const going = calls.get(key) ?? new Set();
      calls.set(key, going.add(controller));
      return {
        signal: controller.signal,
        [Symbol.dispose]() {
          going.delete(controller);
          if (going.size === 0 && calls.get(key) === going) calls.delete(key);
        },
      };
    },
    cancel(user, callId) {
      const [only, ...others] = calls.get(keyOf(user, callId)) ?? [];
      if (others.length === 0) only?.abort(new InlayError('ABORTED', 'Cancelled by the client.'));
    },
  };
}
