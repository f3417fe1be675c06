/** Decides between a dimension and a measure for words that name both, once the whole question is known. */

import type { MemberMetadata } from '@inlay/semantic/policy/metadata.ts';
import { isSuperlative } from './lexicon.ts';
import { before, isCommand, isDimensionMarker, type Span } from './span.ts';

/** A span that may be a dimension still, or the measure `orMeasure` that its words name letter by letter. */
export type Unsettled = Span & { readonly orMeasure?: MemberMetadata };

/**
 * The spans with every choice made. "customers" is the measure where no other one is asked for ("customers by month") or
 * where it is listed with one ("orders and customers by month"), and the dimension after words that want one ("by
 * customers", "top 10 customers"). "most customers" counts them: nobody would say it of a list of names. In the same way
 * "orders" is the measure "Count" of a cube of orders, or else says no more than what the question is about.
 */
export function settleMembers(spans: readonly Unsettled[]): readonly Span[] {
  const hasMeasure = spans.some(({ kind }) => kind === 'measure');
  return spans.map((unsettled, place) => {
    const { orMeasure, ...span } = unsettled;
    if (orMeasure === undefined || (span.kind !== 'dimension' && span.kind !== 'relation')) return span;
    const isMeasure =
      !isMarked(spans, place) && (!hasMeasure || isListed(spans, place, -1) || isListed(spans, place, 1));
    return isMeasure ? { kind: 'measure', member: orMeasure, isPart: false, text: span.text } : span;
  });
}

function isMarked(spans: readonly Unsettled[], place: number): boolean {
  const earlier = spans.slice(0, place);
  // "list all customers" wants their names.
  const said = earlier.map(({ text }) => text).join(' ');
  if (/\b(?:list|all)(?: of)?(?: (?:the|my|our|all))*$/i.test(said)) return true;
  const previous = before(spans, place);
  if (previous?.kind === 'number') return true;
  // "top 5 countries by customers" ranks by their number.
  const isRanked = earlier.some((span) => isCommand(span, ['highest', 'lowest']));
  const hasBreakdown = earlier.some(({ kind }) => kind === 'dimension' || kind === 'grain');
  if (isRanked && hasBreakdown && isCommand(previous, ['group'])) return spans.some(({ kind }) => kind === 'measure');
  return isDimensionMarker(previous) && !isSuperlative(previous?.text ?? '', 'counting');
}

// A measure beside it with "and" or a comma between them.
function isListed(spans: readonly Unsettled[], place: number, step: 1 | -1): boolean {
  let at = place + step;
  let isJoined = false;
  while (isCommand(spans[at], ['and', 'versus', 'filler']) || (isJoined && spans[at]?.orMeasure !== undefined)) {
    isJoined ||= isCommand(spans[at], ['and', 'versus']);
    at += step;
  }
  return isJoined && spans[at]?.kind === 'measure';
}
