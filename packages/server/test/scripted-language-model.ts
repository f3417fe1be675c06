/** A language model that says what a test has written down, and can be held, silent or broken at any point. */
import type {
  ConversationMessage,
  LanguageModel,
  LanguageModelEvent,
  LanguageModelRequest,
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

/** Plays `turns` one after the other, or asks a function for each turn; keeps what it was asked. */
export function scripted(
  turns: readonly (readonly ScriptStep[])[] | ((messages: readonly ConversationMessage[]) => readonly ScriptStep[]),
): LanguageModel & { readonly requests: LanguageModelRequest[]; readonly signals: AbortSignal[] } {
  const requests: LanguageModelRequest[] = [];
  const signals: AbortSignal[] = [];
  return {
    name: 'builtin-analyst',
    requests,
    signals,
    async *stream(request, signal) {
      const index = requests.push(request) - 1;
      signals.push(signal);
      const steps = typeof turns === 'function' ? turns(request.messages) : turns[index];
      if (steps === undefined) throw new Error(`the script has no turn ${index}`);
      for (const step of steps) {
        if (step instanceof Error) throw step;
        if (step.type === 'wait') await step.for;
        else yield step;
      }
    },
  };
}

/** Says the same text in every turn, and calls nothing. */
export const answering = (text = 'Here it is.') => scripted(() => [say(text)]);
