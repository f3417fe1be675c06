/** A thread as one state that stays right when the connection does not. Browser-safe. */
import type { ChatRequest } from '@inlay/contract/chat.ts';
import type { AgentAddress, CallOptions, Client, ForUser } from './client.ts';
import { InlayClientError } from './errors.ts';
import { applyFrame, emptyThread, type ThreadState } from './thread-state.ts';

/** What may be said about following. */
export interface FollowOptions extends CallOptions {
  /** What is known of the thread; its messages stay while it is read anew. */
  readonly state?: ThreadState;
  /** Times in a row that the server may not be reached before this gives up. 8 when left out. */
  readonly attemptsMax?: number;
  /** The first wait before coming back, in milliseconds; doubled each time, 8 s at most. 250 when left out. */
  readonly waitMs?: number;
}

const waitMsMax = 8000;

/**
 * The thread after each frame, up to the end of the run that goes on in it, whatever happens to the connection on the way: a
 * message that is sent has an id of its own (`messageId`), so that sending it again joins the answer that it began; without `input`
 * the thread is read again. Nothing is asked twice, lost or doubled.
 * @throws InlayClientError when the server refuses the call, or CONNECTION_LOST when it cannot be reached; and what the signal says.
 */
export async function* followThread(
  client: Pick<Client, 'chat'>,
  agent: AgentAddress,
  request: ForUser<ChatRequest>,
  { signal, state = emptyThread, attemptsMax = 8, waitMs = 250 }: FollowOptions = {},
): AsyncGenerator<ThreadState, void, undefined> {
  const { input, messageId = newMessageId() } = request;
  const repeatable = input === undefined ? request : { ...request, messageId };
  let thread = state;
  let chatId = request.chatId;
  for (let failures = 0; ; ) {
    try {
      const again = chatId === undefined ? repeatable : { ...repeatable, chatId };
      let isKnown = false;
      for await (const frame of await client.chat(agent, again, signal === undefined ? {} : { signal })) {
        failures = 0;
        thread = applyFrame(thread, frame);
        isKnown ||= frame.id === '__cutoff__';
        chatId = thread.chatId ?? chatId;
        yield thread;
      }
      if (isKnown && !thread.isStreaming) return;
      // Ended without its last line: whoever wrote it has stopped, and another carries it on.
      throw new InlayClientError('The stream ended before the answer did.', { code: 'STREAM_INCOMPLETE' });
    } catch (error) {
      signal?.throwIfAborted();
      const seconds = retryAfter(error);
      if (seconds === null) throw error;
      failures += 1;
      if (failures > attemptsMax) {
        throw new InlayClientError('The server cannot be reached.', { code: 'CONNECTION_LOST', cause: error });
      }
      await pause(Math.max(Math.min(waitMs * 2 ** (failures - 1), waitMsMax), seconds * 1000), signal);
    }
  }
}

/** Unique among the messages of a user to an agent: milliseconds, and chance for those of the same one. */
function newMessageId(): string {
  const chance = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
  return `${Date.now()}${String(chance % 10_000_000).padStart(7, '0')}-message`;
}

/** Seconds after which coming back may help; null when it does not. */
function retryAfter(error: unknown): number | null {
  // What `fetch` and its streams throw when there is no server any more.
  if (error instanceof TypeError) return 0;
  if (!(error instanceof InlayClientError)) return null;
  const { code, statusCode, retryAfterSeconds = 0 } = error;
  if (code === 'STREAM_INCOMPLETE') return 0;
  return statusCode !== undefined && [429, 502, 503, 504].includes(statusCode) ? retryAfterSeconds : null;
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done);
  });
  signal?.throwIfAborted();
}
