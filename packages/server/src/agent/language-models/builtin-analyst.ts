/** The built-in analyst as a language model: no network, no key, the same answer to the same conversation. */
import { setImmediate } from 'node:timers/promises';
import { nextTurn } from '@inlay/analyst/analyst.ts';
import type { InsideModel } from './language-model.ts';

/** A few words, with the white space that follows them. */
const piece = /(?:\S+\s*){1,3}|\s+/g;

/** Makes the built-in analyst. */
export function createBuiltinAnalyst(): InsideModel {
  return {
    kind: 'inside',
    name: 'builtin-analyst',
    async *stream({ messages, context }, signal) {
      const { text, toolCalls } = nextTurn(messages, context);
      for (const [words] of text.matchAll(piece)) {
        signal.throwIfAborted();
        yield { type: 'text', text: words };
        // Others get their turn between the pieces of a long answer.
        await setImmediate();
      }
      for (const [index, { name, input }] of toolCalls.entries()) {
        yield { type: 'tool-call', id: `call_${messages.length}_${index}`, name, input };
      }
    },
  };
}
