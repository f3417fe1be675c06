/** Writing the messages of one turn: at most one of thoughts and one of text, opened once and closed once. */
import { randomUUID } from 'node:crypto';
import { appendText } from './append-text.ts';
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

/** The messages of a turn that is being written. What a function gives is to be told, in order. */
export interface TurnWriter {
  /** The text so far as the language model wrote it, with the loop's own words. */
  readonly text: string;
  /** Whether anything was said that can be seen. */
  readonly hasSaid: boolean;
  /** The next piece of text. White space before the first word is not said. */
  write(piece: string): readonly AgentEvent[];
  /** The next piece of thoughts. */
  think(piece: string): readonly AgentEvent[];
  /** @throws LimitReached when more was written than may be: what is beyond was not said */
  checkRoom(): void;
  /** The loop's own words: a paragraph of the text, or the text. */
  add(words: string): readonly AgentEvent[];
  /** What was held back is said; after it nothing but {@link add} and {@link end}. */
  flush(): readonly AgentEvent[];
  /** Closes what is open. */
  end(): readonly AgentEvent[];
}

/** Begins a turn of the run. */
export function beginTurn(
  progress: Progress,
  { filler, keepsModelText, showsThinking, charactersMax }: TurnStyle,
): TurnWriter {
  const written = createStorableText();
  const thought = createStorableText();
  let text = '';
  /** Where the loop's own words begin in it: a later run of the agent may read what stands before. */
  let ownFrom: number | null = null;
  /** What the user reads of it, where that is another text. */
  let filled = '';
  let textId: string | null = null;
  let thinkingId: string | null = null;

  /** The part of a piece that still may be written. */
  const room = (piece: string): string => {
    const left = Math.max(0, charactersMax - progress.textCharacters);
    progress.textCharacters += piece.length;
    return piece.length <= left ? piece : piece.slice(0, left).replace(/[\ud800-\udbff]$/, '');
  };
  function say(said: string): AgentEvent[] {
    const words = textId === null ? said.trimStart() : said;
    if (words === '') return [];
    const events: AgentEvent[] = [];
    textId ??= open(progress, 'text', events);
    if (filler !== null) filled = appendText(filled, words);
    events.push({ type: 'text-delta', messageId: textId, text: words });
    return events;
  }
  function write(piece: string): AgentEvent[] {
    const fitting = room(piece);
    text = appendText(text, fitting);
    return say(filler === null ? fitting : filler.write(fitting));
  }
  function think(piece: string): AgentEvent[] {
    const fitting = room(piece);
    if (!showsThinking || fitting === '') return [];
    const events: AgentEvent[] = [];
    thinkingId ??= open(progress, 'thinking', events);
    events.push({ type: 'thinking-delta', messageId: thinkingId, text: fitting });
    return events;
  }

  return {
    get text() {
      return text;
    },
    get hasSaid() {
      return textId !== null;
    },
    write: (piece) => write(written.write(piece)),
    think: (piece) => think(thought.write(piece)),
    checkRoom() {
      if (progress.textCharacters > charactersMax) {
        throw new LimitReached(`the answer is as long as one may be (${charactersMax} characters)`);
      }
    },
    flush: () => [...think(thought.end()), ...write(written.end()), ...(filler === null ? [] : say(filler.end()))],
    add(words) {
      const paragraph = textId === null ? words : `\n\n${words}`;
      ownFrom ??= text.length;
      text += paragraph;
      return say(paragraph);
    },
    end() {
      const events: AgentEvent[] = [];
      if (thinkingId !== null) events.push({ type: 'thinking-end', messageId: thinkingId });
      thinkingId = null;
      if (textId !== null) {
        progress.lastText = filler === null ? text.trimStart() : filled;
        // Only in private mode is it known to be free of values: then a later run may be told it.
        const modelText = keepsModelText ? { modelText: text.slice(0, ownFrom ?? text.length) } : {};
        events.push({ type: 'text-end', messageId: textId, ...modelText });
      }
      textId = null;
      return events;
    },
  };
}

/** The id of a message that is about to be written: one that an earlier attempt had begun, void from now on, or a new one. */
function open(progress: Progress, kind: 'text' | 'thinking', events: AgentEvent[]): string {
  const place = progress.unfinished.findIndex((message) => message.kind === kind);
  const [begun] = place === -1 ? [] : progress.unfinished.splice(place, 1);
  if (begun === undefined) return randomUUID();
  events.push({ type: 'restart', messageId: begun.messageId });
  return begun.messageId;
}
