/** One call to the chat endpoint as a client on a bad line makes it: cut after any byte, or read slowly. */
import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { type Frame, frameSchema } from '@inlay/contract/chat.ts';
import { chatAccount } from './installation.ts';

/** Whom a call is for, and to which agent. */
export interface Speaker {
  readonly apiKey: string;
  readonly externalId: string;
  readonly agentId: number;
}

/** The members of a chat request that a client chooses. */
export interface ChatWords {
  readonly input?: string;
  readonly messageId?: string;
  readonly chatId?: string;
}

/** A call that is read. */
export interface ChatCall {
  /** Of the node, without a trailing slash. */
  readonly url: string;
  readonly speaker: Speaker;
  readonly words: ChatWords;
  /** The connection is destroyed after so many bytes of the body; null: it is not. */
  readonly cutAt: number | null;
  /** How often the reader takes nothing for a while, and how long that is, in milliseconds. */
  readonly rests: { readonly count: number; readonly ms: number };
  readonly onFrame: (frame: Frame) => void;
}

/** How a call ended: whole, as its reader wished, or broken off; or refused with a status (0: nobody listens). */
export type ChatEnding =
  | { readonly kind: 'ended' | 'cut' | 'broken' }
  | { readonly kind: 'refused'; readonly status: number; readonly text: string };

const path = (agentId: number): string => `/api/v1/public/${chatAccount}/agents/${agentId}/chat/stream-chat-state`;
const quietMs = 120_000;

function bodyOf({ externalId }: Speaker, words: ChatWords): string {
  return JSON.stringify({ ...words, sessionSettings: { externalId, groups: ['everyone'], isEphemeral: false } });
}

const headersOf = ({ apiKey }: Speaker) => ({
  authorization: `Api-Key ${apiKey}`,
  'content-type': 'application/json',
});

/** Reads a chat to its end, whatever that is. @throws Error when a line is no frame, or the stream ends within a line. */
export async function readChat({ url, speaker, words, cutAt, rests, onFrame }: ChatCall): Promise<ChatEnding> {
  const { promise: ending, resolve, reject } = Promise.withResolvers<ChatEnding>();
  const outgoing = request(
    `${url}${path(speaker.agentId)}`,
    { method: 'POST', agent: false, headers: headersOf(speaker), timeout: quietMs },
    async (incoming) => {
      let bytes = 0;
      let rest = Buffer.alloc(0);
      let restsLeft = rests.count;
      let text = '';
      try {
        for await (const chunk of incoming) {
          if (!Buffer.isBuffer(chunk)) throw new Error('no bytes');
          if (incoming.statusCode !== 200) {
            text += chunk.toString('utf8');
            continue;
          }
          const room = cutAt === null ? chunk.length : Math.max(0, cutAt - bytes);
          bytes += chunk.length;
          rest = Buffer.concat([rest, chunk.subarray(0, room)]);
          for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
            const line = rest.subarray(0, end).toString('utf8');
            rest = rest.subarray(end + 1);
            onFrame(frameSchema.parse(JSON.parse(line)));
          }
          if (chunk.length > room) {
            resolve({ kind: 'cut' });
            return;
          }
          if (restsLeft > 0) {
            restsLeft -= 1;
            await pause(rests.ms);
          }
        }
        if (incoming.statusCode !== 200) {
          resolve({ kind: 'refused', status: incoming.statusCode ?? 0, text: text.slice(0, 500) });
        } else if (!incoming.complete) resolve({ kind: 'broken' });
        else if (rest.length > 0) reject(new Error(`the stream ended within a line: ${rest.toString('utf8')}`));
        else resolve({ kind: 'ended' });
      } catch (error) {
        // A connection that breaks off; anything else is a defect of a line.
        if (incoming.complete || !isBroken(error)) reject(error);
        else resolve({ kind: 'broken' });
      } finally {
        outgoing.destroy();
      }
    },
  );
  outgoing.on('timeout', () => outgoing.destroy(new Error('nothing came for a long time')));
  outgoing.on('error', (error) => resolve({ kind: 'refused', status: 0, text: String(error) }));
  outgoing.end(bodyOf(speaker, words));
  return await ending;
}

function isBroken(error: unknown): boolean {
  return error instanceof Error && 'code' in error && ['ECONNRESET', 'EPIPE', 'ABORT_ERR'].includes(String(error.code));
}

/** Asks a node to abort the run of a thread. @returns the status; 0: nobody listens. */
export async function abortChat(url: string, speaker: Speaker, chatId: string): Promise<number> {
  try {
    const body = bodyOf(speaker, { chatId });
    const reply = await fetch(`${url}${path(speaker.agentId)}/abort`, {
      method: 'POST',
      headers: headersOf(speaker),
      body,
    });
    await reply.text();
    return reply.status;
  } catch {
    return 0;
  }
}
