/** Writing the messages of one turn: at most one of thoughts and one of text, opened once and closed once. */
import { randomUUID } from 'node:crypto';
import type { AgentEvent } from './events.ts';
import { createStorableText } from './language-models/storable.ts';
import { LimitReached } from './limit-reached.ts';
import type { Filler } from './placeholders.ts';
import type { Progress } from './progress.ts';

/** How a turn is written. */
export interface TurnStyle {
  /** Fills the placeholders of the language model's text; null: it writes none. */
  readonly filler: Filler | null;
  /** Whether the text is kept as the language model wrote it, for later runs to be told. */
  readonly keepsModelText: boolean;
  /** Whether thoughts become a message; else they only count. */
  readonly showsThinking: boolean;
  /** Text and thoughts of the whole run, in UTF-16 code units. */
  readonly charactersMax: number;
}

/** The messages of a turn that is being written. */
export interface TurnWriter {
  /** The text so far as the language model wrote it, with the loop's own words. */
  readonly text: string;
  /** Whether anything was said that can be seen. */
  readonly hasSaid: boolean;
  /** The next piece of text. White space before the first word is not said. @throws LimitReached */
  write(piece: string): Generator<AgentEvent>;
  /** The next piece of thoughts. @throws LimitReached */
  think(piece: string): Generator<AgentEvent>;
  /** The loop's own words: a paragraph of the text, or the text. */
  add(words: string): Generator<AgentEvent>;
  /** What was held back is said; after it nothing but {@link add} and {@link end}. */
  flush(): Generator<AgentEvent>;
  /** Closes what is open. */
  end(): Generator<AgentEvent>;
}

/** Begins a turn of the run. */
export function beginTurn(
  progress: Progress,
  { filler, keepsModelText, showsThinking, charactersMax }: TurnStyle,
): TurnWriter {
  const written = createStorableText();
  const thought = createStorableText();
  let text = '';
  /** The part of it that a later run of the agent may read: without the loop's own words. */
  let modelText = '';
  let textId: string | null = null;
  let thinkingId: string | null = null;

  /** The part of a piece that still may be written. */
  const room = (piece: string): string => {
    const left = Math.max(0, charactersMax - progress.textCharacters);
    progress.textCharacters += piece.length;
    return piece.length <= left ? piece : piece.slice(0, left).replace(/[\ud800-\udbff]$/, '');
  };
  const checkRoom = (): void => {
    if (progress.textCharacters > charactersMax) {
      throw new LimitReached(`the answer is as long as one may be (${charactersMax} characters)`);
    }
  };
  function* say(said: string): Generator<AgentEvent> {
    const words = textId === null ? said.trimStart() : said;
    if (words === '') return;
    if (textId === null) {
      textId = yield* open(progress, 'text');
      progress.lastText = '';
    }
    progress.lastText += words;
    yield { type: 'text-delta', messageId: textId, text: words };
  }
  function* write(piece: string): Generator<AgentEvent> {
    const fitting = room(piece);
    text += fitting;
    modelText += fitting;
    yield* say(filler === null ? fitting : filler.write(fitting));
  }
  function* think(piece: string): Generator<AgentEvent> {
    const fitting = room(piece);
    if (!showsThinking || fitting === '') return;
    thinkingId ??= yield* open(progress, 'thinking');
    yield { type: 'thinking-delta', messageId: thinkingId, text: fitting };
  }

  return {
    get text() {
      return text;
    },
    get hasSaid() {
      return textId !== null;
    },
    *write(piece) {
      yield* write(written.write(piece));
      checkRoom();
    },
    *think(piece) {
      yield* think(thought.write(piece));
      checkRoom();
    },
    *flush() {
      yield* think(thought.end());
      yield* write(written.end());
      if (filler !== null) yield* say(filler.end());
    },
    *add(words) {
      const paragraph = textId === null ? words : `\n\n${words}`;
      text += paragraph;
      yield* say(paragraph);
    },
    *end() {
      if (thinkingId !== null) yield { type: 'thinking-end', messageId: thinkingId };
      thinkingId = null;
      if (textId !== null) {
        // Only in private mode is it known to be free of values: then a later run may be told it.
        yield { type: 'text-end', messageId: textId, ...(keepsModelText ? { modelText } : {}) };
      }
      textId = null;
    },
  };
}

/** The id of a message that is about to be written: one that an earlier attempt had begun, void from now on, or a new one. */
function* open(progress: Progress, kind: 'text' | 'thinking'): Generator<AgentEvent, string> {
  const place = progress.unfinished.findIndex((message) => message.kind === kind);
  const [begun] = place === -1 ? [] : progress.unfinished.splice(place, 1);
  if (begun === undefined) return randomUUID();
  yield { type: 'restart', messageId: begun.messageId };
  return begun.messageId;
}
