/** A network model at a scripted server, and what its stream gives. */
import type { ConversationMessage, LanguageModelEvent } from '../src/agent/language-models/language-model.ts';
import { createNetworkModel } from '../src/agent/language-models/network-model.ts';
import { readLanguageModelSettings } from '../src/agent/language-models/settings-file.ts';
import type { JsonValue } from '../src/store/json.ts';
import {
  type LanguageModelServer,
  openLanguageModelServer,
  says,
  scriptedEntry,
  type Wire,
  type WireScript,
  type WireTurn,
  writeLanguageModels,
} from './language-model-server.ts';

/** Both wire formats. */
export const wires = ['openai', 'anthropic'] as const;
/** What is asked where a test does not say. */
export const question: ConversationMessage = { role: 'user', content: 'revenue by channel' };
/** What the model may call. */
const tools = [
  {
    name: 'platformMeta',
    description: 'Searches.',
    inputSchema: { type: 'object', properties: { searchQuery: { type: 'string' } }, required: ['searchQuery'] },
  },
];
/** The answer of a server that has no time. */
export const busy = (headers: Readonly<Record<string, string>> = {}): WireTurn => ({
  status: 429,
  headers,
  message: 'busy',
});
/** A turn that says {@link saysAll}. */
export const done: WireTurn = { steps: [says('All of it.')] };

/** A scripted server, and the model `scripted` of a settings file that leads there. */
export async function openNetworkModel(
  wire: Wire,
  script: WireScript,
  more: { readonly entry?: object; readonly others?: (server: LanguageModelServer) => readonly object[] } = {},
) {
  const server = await openLanguageModelServer(script);
  const source = await writeLanguageModels([scriptedEntry(server, wire, more.entry), ...(more.others?.(server) ?? [])]);
  const [own, ...others] = await readLanguageModelSettings(source, 60_000);
  if (own === undefined) throw new Error('no settings');
  const told: string[] = [];
  const log = { warn: (fields: object, message: string) => void told.push(JSON.stringify({ ...fields, message })) };
  const model = createNetworkModel([own, ...others], {
    log,
    pauseMs: 5,
    pauseMsMax: 60_000,
    aliveEveryMs: 0,
    random: () => 0,
  });
  const ask = (messages: readonly ConversationMessage[] = [question], signal = new AbortController().signal) =>
    model.stream({ system: 'You are an analyst.', messages, tools }, signal);
  return {
    server,
    model,
    ask,
    told: () => told.join('\n'),
    async [Symbol.asyncDispose]() {
      await server.close();
      await source[Symbol.asyncDispose]();
    },
  };
}

/** All events, texts and thoughts joined, signs of life left out; what is to be given back; and what was thrown. */
export async function collect(stream: AsyncIterable<LanguageModelEvent>) {
  const events: LanguageModelEvent[] = [];
  let turnData: JsonValue | null = null;
  let error: unknown = null;
  try {
    for await (const event of stream) {
      const last = events.at(-1);
      if (event.type === 'tokens' && event.input + event.output === 0) continue;
      if (event.type === 'turn-data') turnData = event.data;
      else if ((event.type === 'text' || event.type === 'thinking') && last?.type === event.type) {
        events[events.length - 1] = { type: event.type, text: last.text + event.text };
      } else events.push(event);
    }
  } catch (thrown) {
    error = thrown;
  }
  return { events, turnData, error };
}

/** What a scripted turn costs. */
export const tokens = { type: 'tokens', input: 120, output: 34 };
/** What {@link done} says. */
export const saysAll = { type: 'text', text: 'All of it.' };
