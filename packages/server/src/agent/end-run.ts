/** How a run ends that has no answer of its own: what is open is closed, and the user is told why. */
import { randomUUID } from 'node:crypto';
import { errorCodes } from '@inlay/contract/error.ts';
import { InlayError } from '../errors.ts';
import type { AgentDependencies } from './agent-dependencies.ts';
import { brokenOff } from './call-tools.ts';
import type { AgentEvent } from './events.ts';
import { LimitReached } from './limit-reached.ts';
import type { Progress } from './progress.ts';
import type { AgentInput } from './run-agent.ts';
import { sayItself, settleLeft } from './stream-turn.ts';

/**
 * The last events of a run that `cause` has ended, but for its usage: a cap that was met is said and is the answer; anything else
 * is `aborted` or `failed`, after what was begun is closed with what it has.
 * @returns false when the run is to be carried on elsewhere: then nothing was said and nothing closed
 */
export function* endRun(
  dependencies: AgentDependencies,
  { requestId, signal }: AgentInput,
  progress: Progress,
  cause: unknown,
): Generator<AgentEvent, boolean> {
  if (signal.aborted && cause === signal.reason && cause instanceof InlayError && cause.code === 'RUN_INTERRUPTED') {
    return false;
  }
  yield* settleLeft(progress);
  for (const messageId of progress.running) {
    yield { type: 'tool-end', messageId, result: brokenOff(cause, requestId) };
  }
  progress.running.clear();
  if (cause instanceof LimitReached) {
    dependencies.log.info({ requestId, limit: cause.message }, 'a run met a limit');
    yield* sayItself(dependencies, progress, cause.sentence);
    yield { type: 'final', messageId: randomUUID(), text: progress.lastText };
    return true;
  }
  if (progress.writer !== null) {
    yield* progress.writer.flush();
    yield* progress.writer.end();
  }
  for (const { kind, messageId } of progress.unfinished.splice(0)) {
    if (kind !== 'tool') yield { type: kind === 'text' ? 'text-end' : 'thinking-end', messageId };
  }
  yield toEnd(dependencies, cause, requestId);
  return true;
}

function toEnd({ log, languageModel }: AgentDependencies, cause: unknown, requestId: string): AgentEvent {
  const fields = { requestId, languageModel: languageModel.name };
  if (!(cause instanceof InlayError)) {
    log.error({ ...fields, err: cause }, 'a run failed');
    return { type: 'failed', code: 'INTERNAL', message: 'Something failed inside.', requestId };
  }
  // Whoever finds it first, the door to data or the watch: in a stream it is the same end.
  const { code, message } =
    cause.code === 'UNAUTHENTICATED' ? { code: 'SESSION_ENDED' as const, message: cause.message } : cause;
  if (code === 'ABORTED') return { type: 'aborted' };
  const [status] = errorCodes[code];
  // Codes of a stream's own are failures of the language model or of nodes; those of the server's own are for its operator.
  if (status >= 500) log.error({ ...fields, code, err: cause }, 'a run failed');
  else if (status === 200) log.warn({ ...fields, code, err: cause }, 'a run failed');
  else log.info({ ...fields, code }, 'a run ended early');
  return { type: 'failed', code, message, requestId };
}
