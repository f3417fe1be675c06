/** The spans of a question, which are its pieces with their meanings, and how a span looks to its neighbours. */

import type { MemberMetadata } from '@inlay/semantic/policy/metadata.ts';
import type { Grain } from './calendar.ts';
import type { Command } from './lexicon.ts';
import type { OtherWay } from './other-way.ts';
import type { TimeRange } from './time-phrases.ts';
import type { DimensionValue } from './value-index.ts';

/** What a piece of a question means. `isPart`: only the end of the member's title was said. */
export type Meaning =
  | {
      readonly kind: 'measure';
      readonly member: MemberMetadata;
      readonly isPart: boolean;
      /** The words of its name, which no quotes mark as such, could mean this as well. */
      readonly otherWay?: OtherWay;
    }
  | { readonly kind: 'segment'; readonly member: MemberMetadata }
  | {
      readonly kind: 'dimension';
      readonly member: MemberMetadata;
      readonly isPart: boolean;
      readonly isPlural: boolean;
    }
  | { readonly kind: 'ambiguous'; readonly names: readonly string[] }
  | { readonly kind: 'value'; readonly candidates: readonly DimensionValue[] }
  /** `member`: the time dimension that has the unit for its name. */
  | { readonly kind: 'grain'; readonly grain: Grain; readonly isPlural: boolean; readonly member?: MemberMetadata }
  | { readonly kind: 'range'; readonly range: TimeRange }
  | { readonly kind: 'problem'; readonly problem: string }
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'relation' }
  | { readonly kind: 'command'; readonly command: Command }
  | { readonly kind: 'unknown' };

/** A piece of a question: its meaning, and its words as written. Spans follow one another and leave nothing out. */
export type Span = Meaning & { readonly text: string };

/** True for a span that is one of these steering words. */
export function isCommand(span: Span | undefined, commands: readonly Command[]): boolean {
  return span?.kind === 'command' && commands.includes(span.command);
}

/** True for a span that says nothing. */
export function isFiller(span: Span | undefined): boolean {
  return isCommand(span, ['filler']);
}

/** True for a word after which a dimension is due: "by", "which", "top". */
export function isDimensionMarker(span: Span | undefined): boolean {
  return isCommand(span, ['group', 'which', 'highest', 'lowest']);
}

/** The span before `place` that is no filler. */
export function before(spans: readonly Span[], place: number): Span | undefined {
  return spans.slice(0, place).findLast((span) => !isFiller(span));
}

/** The span after `place` that is no filler. */
export function after(spans: readonly Span[], place: number): Span | undefined {
  return spans.slice(place + 1).find((span) => !isFiller(span));
}
