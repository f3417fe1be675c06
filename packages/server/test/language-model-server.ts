/**
 * A server on this machine that speaks the wire formats of OpenAI's chat completions and of Anthropic's messages, streaming,
 * and says what a test has written down: once for both formats.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LanguageModelSource } from '../src/agent/language-models/settings-file.ts';

/** A wire format. */
export type Wire = 'openai' | 'anthropic';

/** A step of a turn. Texts, thoughts and inputs go out in the pieces given. */
export type WireStep =
  | { readonly type: 'text'; readonly pieces: readonly string[] }
  | { readonly type: 'thinking'; readonly pieces: readonly string[]; readonly signature?: string }
  /** Calls of one turn; inputs are the JSON, or what is sent for JSON. */
  | {
      readonly type: 'calls';
      readonly calls: readonly { readonly id: string; readonly name: string; readonly input: readonly string[] }[];
    }
  /** Goes on when the promise has settled. */
  | { readonly type: 'wait'; readonly for: Promise<unknown> }
  /** Never goes on; the connection stays. */
  | { readonly type: 'stall' }
  /** The connection ends in the middle. */
  | { readonly type: 'cut' }
  /** The answer ends as if it were whole, without the provider's last word. */
  | { readonly type: 'end' }
  /** A line of the stream that is not JSON. */
  | { readonly type: 'garbage' }
  /** What the provider says when it fails with the stream open. */
  | { readonly type: 'error'; readonly message: string };

/** A turn, or the answer of a server that refuses one. */
export type WireTurn =
  | { readonly steps: readonly WireStep[]; readonly finish?: 'length' }
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly message?: string };

/** A request as it came in. */
export interface WireRequest {
  readonly wire: Wire;
  readonly headers: IncomingHttpHeaders;
  /** The body as it was sent. */
  readonly text: string;
  readonly body: Record<string, unknown>;
  /** Settles when the answer is over: `left` when the client went away before. */
  readonly ended: Promise<'whole' | 'left'>;
}

/** One turn after the other, or a function for each. */
export type WireScript = readonly WireTurn[] | ((request: WireRequest, index: number) => WireTurn);

/** The server. */
export interface LanguageModelServer {
  /** With `/v1`, as an operator writes it. */
  readonly url: string;
  readonly requests: readonly WireRequest[];
  close(): Promise<void>;
}

/** Says a text, in words. */
export const says = (text: string): WireStep => ({ type: 'text', pieces: text.match(/\S+\s*/g) ?? [] });
/** Thinks, in words. */
export const thinks = (text: string): WireStep => ({
  type: 'thinking',
  pieces: text.match(/\S+\s*/g) ?? [],
  signature: 'c2lnbmF0dXJl',
});
/** Calls a tool; its input goes out in pieces of eleven characters. */
export const calls = (name: string, input: object | string, id = `call_${name}`): WireStep => ({
  type: 'calls',
  calls: [wireCall(name, input, id)],
});
/** One of several calls beside each other. */
export const wireCall = (name: string, input: object | string, id: string) => ({
  id,
  name,
  input: (typeof input === 'string' ? input : JSON.stringify(input)).match(/[\s\S]{1,11}/g) ?? [],
});

const tokens = { input: 120, output: 34 };

/** Starts the server on a port of its own. What it is asked without a turn for it is answered with status 500. */
export async function openLanguageModelServer(script: WireScript): Promise<LanguageModelServer> {
  const requests: WireRequest[] = [];
  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const wire =
      incoming.url === '/v1/chat/completions' ? 'openai' : incoming.url === '/v1/messages' ? 'anthropic' : null;
    incoming.setEncoding('utf8');
    let text = '';
    for await (const piece of incoming) text += piece;
    if (wire === null) return void outgoing.writeHead(404).end();
    const { promise: ended, resolve } = Promise.withResolvers<'whole' | 'left'>();
    outgoing.once('close', () => resolve(outgoing.writableFinished ? 'whole' : 'left'));
    const request = { wire, headers: incoming.headers, text, body: JSON.parse(text), ended } as const;
    const index = requests.push(request) - 1;
    const turn = typeof script === 'function' ? script(request, index) : script[index];
    if (turn === undefined || 'status' in turn) {
      const { status = 500, headers = {}, message = 'the script has no such turn' } = turn ?? {};
      outgoing.writeHead(status, { 'content-type': 'application/json', ...headers });
      return void outgoing.end(JSON.stringify(errorBody(wire, message)));
    }
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
    await play(turn, wire === 'openai' ? openAiWriter(outgoing) : anthropicWriter(outgoing), outgoing);
  };
  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = address === null || typeof address === 'string' ? 0 : address.port;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** What writes a turn in a wire format. */
interface Writer {
  begin(): void;
  text(pieces: readonly string[]): void;
  thinking(pieces: readonly string[], signature: string): void;
  calls(calls: Extract<WireStep, { type: 'calls' }>['calls']): void;
  error(message: string): void;
  end(reason: 'stop' | 'calls' | 'length'): void;
}

async function play(
  { steps, finish }: Extract<WireTurn, { steps: unknown }>,
  writer: Writer,
  outgoing: ServerResponse,
): Promise<void> {
  writer.begin();
  for (const step of steps) {
    if (step.type === 'text') writer.text(step.pieces);
    else if (step.type === 'thinking') writer.thinking(step.pieces, step.signature ?? '');
    else if (step.type === 'calls') writer.calls(step.calls);
    else if (step.type === 'error') writer.error(step.message);
    else if (step.type === 'garbage') outgoing.write('data: {"half":\n\n');
    else if (step.type === 'wait') await step.for;
    else if (step.type === 'stall') return;
    else if (step.type === 'cut') {
      // What was written before is to be read before.
      await new Promise((resolve) => outgoing.write('\n', resolve));
      return void outgoing.destroy();
    }
    if (step.type === 'error' || step.type === 'end') return void outgoing.end();
  }
  writer.end(finish ?? (steps.some(({ type }) => type === 'calls') ? 'calls' : 'stop'));
  outgoing.end();
}

function openAiWriter(outgoing: ServerResponse): Writer {
  const base = {
    id: `chatcmpl-${randomUUID()}`,
    object: 'chat.completion.chunk',
    created: 1767225600,
    model: 'scripted',
  };
  const send = (body: object): void => void outgoing.write(`data: ${JSON.stringify({ ...base, ...body })}\n\n`);
  const delta = (fields: object): void => send({ choices: [{ index: 0, delta: fields, finish_reason: null }] });
  return {
    begin: () => delta({ role: 'assistant', content: '' }),
    text(pieces) {
      for (const content of pieces) delta({ content });
    },
    thinking(pieces) {
      for (const piece of pieces) delta({ reasoning_content: piece });
    },
    calls(all) {
      for (const [index, { id, name }] of all.entries()) {
        delta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] });
      }
      // The pieces of calls that stand beside each other come in turns.
      for (let piece = 0; piece < Math.max(...all.map(({ input }) => input.length)); piece++) {
        for (const [index, { input }] of all.entries()) {
          if (input[piece] !== undefined) delta({ tool_calls: [{ index, function: { arguments: input[piece] } }] });
        }
      }
    },
    error: (message) => send({ error: { message, type: 'server_error', param: null, code: null } }),
    end(reason) {
      const finish = { stop: 'stop', calls: 'tool_calls', length: 'length' }[reason];
      send({ choices: [{ index: 0, delta: {}, finish_reason: finish }] });
      const { input, output } = tokens;
      const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
      send({ choices: [], usage });
      outgoing.write('data: [DONE]\n\n');
    },
  };
}

function anthropicWriter(outgoing: ServerResponse): Writer {
  const send = (type: string, fields: object): void =>
    void outgoing.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
  let index = 0;
  const block = (content: object, deltas: readonly object[]): void => {
    send('content_block_start', { index, content_block: content });
    for (const delta of deltas) send('content_block_delta', { index, delta });
    send('content_block_stop', { index });
    index += 1;
  };
  return {
    begin() {
      const usage = { input_tokens: tokens.input, output_tokens: 1 };
      const message = { id: `msg_${randomUUID()}`, type: 'message', role: 'assistant', model: 'scripted', content: [] };
      send('message_start', { message: { ...message, stop_reason: null, stop_sequence: null, usage } });
      send('ping', {});
    },
    text: (pieces) =>
      block(
        { type: 'text', text: '' },
        pieces.map((text) => ({ type: 'text_delta', text })),
      ),
    thinking: (pieces, signature) =>
      block({ type: 'thinking', thinking: '', signature: '' }, [
        ...pieces.map((thinking) => ({ type: 'thinking_delta', thinking })),
        { type: 'signature_delta', signature },
      ]),
    calls(all) {
      for (const { id, name, input } of all) {
        block(
          { type: 'tool_use', id, name, input: {} },
          input.map((partial) => ({ type: 'input_json_delta', partial_json: partial })),
        );
      }
    },
    error: (message) => send('error', { error: { type: 'api_error', message } }),
    end(reason) {
      const stop = { stop: 'end_turn', calls: 'tool_use', length: 'max_tokens' }[reason];
      const usage = { input_tokens: tokens.input, output_tokens: tokens.output };
      send('message_delta', { delta: { stop_reason: stop, stop_sequence: null }, usage });
      send('message_stop', {});
    },
  };
}

function errorBody(wire: Wire, message: string): object {
  if (wire === 'anthropic') return { type: 'error', error: { type: 'api_error', message } };
  return { error: { message, type: 'server_error', param: null, code: null } };
}

/** The key that scripted servers are asked with. */
export const scriptedKey = 'provider-key-3f9b5c71d2';

/** What an operator writes of a model at a scripted server, for the settings file. */
export function scriptedEntry(server: Pick<LanguageModelServer, 'url'>, wire: Wire, more: object = {}): object {
  return {
    name: 'scripted',
    provider: wire === 'openai' ? 'openai-compatible' : 'anthropic',
    model: 'scripted-1',
    base_url: server.url,
    api_key_env: 'SCRIPTED_KEY',
    ...more,
  };
}

/** A settings file with these models (JSON is YAML), and the key in the environment. Dispose of it. */
export async function writeLanguageModels(entries: readonly object[]): Promise<LanguageModelSource & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), 'inlay-language-models-'));
  const file = join(folder, 'language-models.yml');
  await writeFile(file, JSON.stringify({ language_models: entries }, null, 2));
  return {
    file,
    keyOf: (variable) => (variable === 'SCRIPTED_KEY' ? scriptedKey : undefined),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }),
  };
}
