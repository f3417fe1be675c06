/** A language model that says what a test has written down, and can be held, silent or broken at any point. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type {
  ConversationMessage,
  InsideModel,
  LanguageModelEvent,
  NetworkModel,
} from '../src/agent/language-models/language-model.ts';

/** A step of a turn: an event, something to wait for, or a failure. */
export type ScriptStep = LanguageModelEvent | { readonly type: 'wait'; readonly for: Promise<unknown> } | Error;

/** Says a piece of text. */
export const say = (text: string): ScriptStep => ({ type: 'text', text });
/** Calls a tool; `input` as JSON, or as the text that it is. */
export const call = (name: string, input: object | string, id = `call-${name}`): ScriptStep => ({
  type: 'tool-call',
  id,
  name,
  input: typeof input === 'string' ? input : JSON.stringify(input),
});
/** Goes on when the promise has settled. */
export const wait = (promise: Promise<unknown>): ScriptStep => ({ type: 'wait', for: promise });
/** Never goes on. */
export const stall = wait(new Promise(() => undefined));

type Turns = readonly (readonly ScriptStep[])[] | ((messages: readonly ConversationMessage[]) => readonly ScriptStep[]);
type RequestOf<Model extends { stream(request: never, signal: AbortSignal): unknown }> = Parameters<Model['stream']>[0];

/** What a scripted model was asked, and the signals that it was to heed. */
interface Asked<Request> {
  readonly requests: Request[];
  readonly signals: AbortSignal[];
}

/** Plays `turns` one after the other, or asks a function for each turn; keeps what it was asked. */
export function scripted(turns: Turns): InsideModel & Asked<RequestOf<InsideModel>> {
  const asked: Asked<RequestOf<InsideModel>> = { requests: [], signals: [] };
  return {
    kind: 'inside',
    name: 'builtin-analyst',
    ...asked,
    stream: (request, signal) => play(turns, asked, request, signal),
  };
}

/** The same as if it were over the network: it gets the conversation as it is made ready for one. */
export function scriptedNetwork(
  turns: Turns,
  more: Partial<Pick<NetworkModel, 'name' | 'isPrivate' | 'inputTokensMax'>> = {},
): NetworkModel & Asked<RequestOf<NetworkModel>> {
  const asked: Asked<RequestOf<NetworkModel>> = { requests: [], signals: [] };
  return {
    kind: 'network',
    name: 'scripted',
    isPrivate: false,
    inputTokensMax: 100_000,
    ...more,
    ...asked,
    stream: (request, signal) => play(turns, asked, request, signal),
  };
}

async function* play<Request extends { readonly messages: readonly ConversationMessage[] }>(
  turns: Turns,
  { requests, signals }: Asked<Request>,
  request: Request,
  signal: AbortSignal,
): AsyncGenerator<LanguageModelEvent> {
  const index = requests.push(request) - 1;
  signals.push(signal);
  const steps = typeof turns === 'function' ? turns(request.messages) : turns[index];
  if (steps === undefined) throw new Error(`the script has no turn ${index}`);
  for (const step of steps) {
    if (step instanceof Error) throw step;
    if (step.type === 'wait') await step.for;
    else {
      yield step;
      // One at a time, so that what is written down is what is told: what comes together is told as one.
      await nextTurn();
    }
  }
}

/** Says the same text in every turn, and calls nothing. */
export const answering = (text = 'Here it is.') => scripted(() => [say(text)]);
