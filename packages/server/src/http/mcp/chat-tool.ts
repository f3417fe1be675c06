/** The tool `chat`: asks an agent of the deployment, waits for its answer, and tells how it goes on meanwhile. */
import { type Frame, frameSchema } from '@inlay/contract/chat.ts';
import { type ErrorCode, isErrorCode } from '@inlay/contract/error.ts';
import { type McpChatInput, mcpChatInput } from '@inlay/contract/mcp.ts';
import type { Shapes } from '@inlay/contract/shapes.ts';
import { z } from 'zod';
import { abortChat } from '../../chat/abort-chat.ts';
import type { Agent } from '../../chat/find-agent.ts';
import { type ChatDependencies, openChatStream } from '../../chat/stream-chat.ts';
import { InlayError } from '../../errors.ts';
import { codeOfIssues, issuesOf } from '../error-response.ts';
import type { McpCall, McpTool } from './mcp-tool.ts';

/** How often a client hears that text is being written, at most, in milliseconds. */
const writingEveryMs = 1000;

/** What the chat came to. */
interface Answer {
  readonly chatId: string;
  /** `failure`: what the run ended with. */
  readonly answer: string | { readonly failure: unknown };
}

/** What the tool needs. */
export interface ChatToolDependencies extends ChatDependencies {
  readonly shapes: Pick<Shapes, 'chat'>;
}

/**
 * Makes the tool for these agents, which are all of the deployment, at least one.
 * @param refusal why the caller may not chat, with which every call ends; the tool is not listed then
 */
export function createChatTool(
  dependencies: ChatToolDependencies,
  agents: readonly Agent[],
  refusal: InlayError | null,
): McpTool {
  const schema = mcpChatInput(dependencies.shapes.chat);
  const named = agents.map(({ id, name }) => `${id} (${name})`).join(', ');
  return {
    name: 'chat',
    description: `Asks an analyst about the data in plain words, and gives the answer. Agents: ${named}.`,
    inputSchema: z.toJSONSchema(schema, { io: 'input' }),
    isListed: refusal === null,
    async call(given, call) {
      if (refusal !== null) throw refusal;
      const parsed = schema.safeParse(given);
      if (!parsed.success) {
        const { issues } = parsed.error;
        const [issue] = issuesOf(issues);
        const code = codeOfIssues(issues);
        throw new InlayError(
          code === 'INVALID_REQUEST' ? 'TOOL_INPUT_INVALID' : code,
          `The input of chat does not fit: ${issue?.path || 'it'}: ${issue?.message}.`,
        );
      }
      const agent = agentOf(agents, parsed.data);
      const { chatId, answer } = await ask(dependencies, agent, parsed.data, call);
      const place = { type: 'text' as const, text: `chatId: ${chatId}` };
      if (typeof answer === 'string') {
        return { content: [{ type: 'text', text: answer }, place], structuredContent: { answer, chatId } };
      }
      const failed = call.fail(answer.failure);
      return { ...failed, content: [...failed.content, place], structuredContent: { chatId } };
    },
  };
}

/** @throws InlayError TOOL_INPUT_INVALID when several could answer; NOT_FOUND */
function agentOf(agents: readonly Agent[], { agentId }: McpChatInput): Agent {
  const [only, ...others] = agents;
  if (agentId === undefined) {
    if (only !== undefined && others.length === 0) return only;
    throw new InlayError('TOOL_INPUT_INVALID', 'There are several agents: agentId is needed.');
  }
  const agent = agents.find(({ id }) => id === agentId);
  if (agent === undefined) throw new InlayError('NOT_FOUND', 'Agent not found.');
  return agent;
}

/**
 * Asks, and reads to the end. When the client goes away the run goes on, as in the chat; when it cancels, the run is aborted.
 * @throws InlayError what the chat refuses with, or anything that ends it before its `chatId` is known
 */
async function ask(
  dependencies: ChatToolDependencies,
  agent: Agent,
  { input, chatId }: McpChatInput,
  call: McpCall,
): Promise<Answer> {
  const { principal, branch, requestId, gone, cancelled, ended, progress } = call;
  cancelled.throwIfAborted();
  const lines = await openChatStream(dependencies, {
    principal,
    agent,
    branch,
    request: { input, chatId },
    requestId,
    reader: { gone, ended, requestId },
  });
  const outcome = createOutcome(progress);
  let isStopped = false;
  const stop = (): void => {
    const { chatId: begun } = outcome;
    if (isStopped || begun === null) return;
    isStopped = true;
    // The stream then ends as any that is aborted; nobody waits for this call any more.
    abortChat(dependencies, { agent, asker: principal, chatId: begun }).catch(() => undefined);
  };
  cancelled.addEventListener('abort', stop, { once: true });
  try {
    for await (const line of lines) {
      outcome.take(frameSchema.parse(JSON.parse(line)));
      if (cancelled.aborted) stop();
    }
    return outcome.answer();
  } catch (failure) {
    const { chatId: begun } = outcome;
    if (begun === null) throw failure;
    return { chatId: begun, answer: { failure } };
  } finally {
    cancelled.removeEventListener('abort', stop);
  }
}

/** What is learnt from the frames of a run. */
interface Outcome {
  /** Null until the thread is told. */
  readonly chatId: string | null;
  take(frame: Frame): void;
  /** @throws InlayError what the run ended with, where it was not an answer */
  answer(): Answer;
}

function createOutcome(progress: (message: string) => void): Outcome {
  let chatId: string | null = null;
  let text: string | null = null;
  let failure: InlayError | null = null;
  let writingMs = Number.NEGATIVE_INFINITY;
  return {
    get chatId() {
      return chatId;
    },
    take(frame) {
      if (frame.state !== undefined) {
        ({ chatId } = frame.state);
        progress(`chatId: ${chatId}`);
      }
      // What stands before is the thread so far.
      if (chatId === null) return;
      if (frame.type === 'abort') failure = new InlayError('ABORTED', 'The chat was stopped.');
      else if (frame.error !== undefined) failure = new InlayError(toErrorCode(frame.code), frame.error);
      else if (frame.graphPath?.[0] === 'final') text = frame.content;
      else if (frame.toolCall !== undefined) {
        progress(`${frame.toolCall.name}: ${frame.isInProcess === true ? 'begun' : 'done'}`);
      } else if (frame.isDelta === true && performance.now() - writingMs >= writingEveryMs) {
        writingMs = performance.now();
        progress('writing');
      }
    },
    answer() {
      if (failure !== null) throw failure;
      if (chatId !== null && text !== null) return { chatId, answer: text };
      throw new InlayError('NOT_READY', 'The stream ended before the answer; ask for the chat again.');
    },
  };
}

const toErrorCode = (code: string | undefined): ErrorCode => (isErrorCode(code) ? code : 'INTERNAL');
