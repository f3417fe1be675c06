/** Checks names of the data model against the English around them: names that are English as well, and segments. */

import { lowerTitleOf, titleOf } from './describe.ts';
import { plainText } from './plain-text.ts';
import { after, before, isCommand, isDimensionMarker, isFiller, type Span } from './span.ts';

/**
 * "Revenue last year", where that is a measure and "Revenue" is one: which is meant? It is plain where the question has
 * both of them, or a time of its own besides.
 */
export function otherWayProblems(spans: readonly Span[]): readonly string[] {
  return spans.flatMap((span) => {
    if (span.kind !== 'measure' || span.otherWay === undefined) return [];
    const { rest, hint } = span.otherWay;
    const isPlain = spans.some(
      (other) => (other.kind === 'measure' && other.member === rest) || (other.kind === 'range' && hint !== null),
    );
    if (isPlain) return [];
    const words = plainText(span.text);
    const asName = `For the measure ${titleOf(span.member)} write its name in quotes`;
    return [
      hint === null
        ? `"${words}" could be the measure ${titleOf(span.member)}, or the least or most of ${titleOf(rest)}. ${asName}.`
        : `"${words}" could be a measure, or ${titleOf(rest)} at a time. ${asName}, for the time write "${lowerTitleOf(rest)} ${hint}".`,
    ];
  });
}

/**
 * "orders shipped last month": when they were shipped, or orders of last month that are shipped by now? A value or segment
 * that reads as what was done, between a measure and a time.
 */
export function participleProblem(spans: readonly Span[], place: number): string | undefined {
  const span = spans[place];
  if (span === undefined || !['value', 'segment'].includes(span.kind)) return undefined;
  if (!/^\p{L}*(?:ed|sold|sent|paid|bought|lost|held)$/iu.test(span.text)) return undefined;
  const subject = spans.slice(0, place).findLast((other) => !isFiller(other) && !isCommand(other, ['is']));
  const time = spans.slice(place + 1).find((other) => !isFiller(other) && !isCommand(other, ['with']));
  if (!['measure', 'relation'].includes(subject?.kind ?? '') || time?.kind !== 'range') return undefined;
  const [done, thing] = [plainText(span.text), plainText(subject?.text ?? '')];
  return `I cannot tell whether "${plainText(time.text)}" is when they were ${done}. For ${thing} of that time which are ${done} by now write "${done} ${thing} ${plainText(time.text)}".`;
}

/** A segment is one condition on all rows: it is neither listed nor left out, and stands with no other in a list. */
export function segmentProblems(spans: readonly Span[]): readonly string[] {
  return spans.flatMap((span, place) => {
    if (span.kind !== 'segment') return [];
    const title = titleOf(span.member);
    const [previous, next] = [before(spans, place), after(spans, place)];
    const isOfMeasure = ['measure', 'value', 'segment'].includes(next?.kind ?? '');
    if (isDimensionMarker(previous) && !isOfMeasure) return [`${title} is a condition, so I cannot break down by it.`];
    const isListed = isCommand(previous, ['and', 'or', 'versus']) || isCommand(next, ['and', 'or', 'versus']);
    const isOpening = isCommand(previous, ['and']) && before(spans, spans.indexOf(previous ?? span)) === undefined;
    return isListed && !isOpening
      ? [`I cannot tell what "${plainText(span.text)}" goes with. Please ask one by one.`]
      : [];
  });
}
