/** A chat stream over HTTP that is read while a test goes on. */
import type { Frame } from '@inlay/contract/chat.ts';

const chat = '/api/v1/public/demo/agents/1/chat/stream-chat-state';

/** A stream that is being read; `frames` grow. */
export interface OpenStream {
  readonly frames: readonly Frame[];
  /** Resolves when the reply has ended, with its last line whole; rejects when it was refused, or cut off. */
  readonly end: Promise<void>;
}

/** Asks the demo's agent and reads what it says. */
export function openStream(url: string, authorization: string, body: object): OpenStream {
  const frames: Frame[] = [];
  const end = (async () => {
    const headers = { 'content-type': 'application/json', authorization };
    const reply = await fetch(url + chat, { method: 'POST', headers, body: JSON.stringify(body) });
    if (reply.status !== 200 || reply.body === null) throw new Error(`${reply.status} ${await reply.text()}`);
    let rest = '';
    for await (const text of reply.body.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      frames.push(...lines.map((line): Frame => JSON.parse(line)));
    }
    if (rest !== '') throw new Error(`the last line is not whole: ${rest}`);
  })();
  // Who does not wait for the end does not want to hear of it.
  end.catch(() => undefined);
  return { frames, end };
}
