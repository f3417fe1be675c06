/** Checks that every steering word of a question has what it steers: what a word would change, were it dropped, is refused. */

import type { MemberMetadata } from '@inlay/semantic/policy/metadata.ts';
import { otherWayProblems, participleProblem, segmentProblems } from './check-names.ts';
import { titleOf } from './describe.ts';
import { isGeneric, isSuperlative } from './lexicon.ts';
import { plainText } from './plain-text.ts';
import type { ValueReading } from './read-values.ts';
import { after, before, isCommand, isDimensionMarker, isFiller, type Span } from './span.ts';
import { wordsOf } from './tokens.ts';

/** Positions of spans that mean nothing where they stand, and sentences that say why the question cannot be asked. */
export interface WordCheck {
  readonly unmapped: ReadonlySet<number>;
  readonly problems: readonly string[];
}

/** Checks the spans of one question. */
export function checkWords(spans: readonly Span[], values: ValueReading): WordCheck {
  const measures = spans.flatMap((span) => (span.kind === 'measure' ? [span.member] : []));
  const checked: CheckedQuestion = { spans, values, measures: new Set(measures) };
  const unmapped = spans.flatMap((span, place) => (isUnmapped(checked, span, place) ? [place] : []));
  const problems = [
    ...spans.flatMap((span, place) => problemsAt(checked, span, place)),
    ...otherWayProblems(spans),
    ...segmentProblems(spans),
  ];
  const isRepeated = measures.length > checked.measures.size && values.compared.length === 0;
  if (isRepeated) {
    problems.push(
      'I cannot tell what goes with which measure. Please name each measure once, or ask for one after the other.',
    );
  }
  return { unmapped: new Set(unmapped), problems };
}

interface CheckedQuestion {
  readonly spans: readonly Span[];
  readonly values: ValueReading;
  readonly measures: ReadonlySet<MemberMetadata>;
}

function isUnmapped({ spans, values, measures }: CheckedQuestion, span: Span, place: number): boolean {
  const previous = before(spans, place);
  const next = after(spans, place);
  if (span.kind === 'relation') return isCommand(previous, ['with', 'is', 'only', 'group']);
  // "shipments on time": not their date.
  if (span.kind === 'dimension' && span.member.type === 'time') {
    return !isCommand(previous, ['group', 'which']) && wordsOf(span.text).every(isGeneric);
  }
  // "in late 2024": not what is delivered late, nor the reason "late".
  const isNamed = ['dimension', 'segment', 'value'].includes(span.kind);
  if (isNamed && /^(?:early|mid|late|end)$/i.test(span.text) && spans[place + 1]?.kind === 'range') return true;
  if (span.kind === 'grain') return isOneUnit(spans, place) || (span.isPlural && previous?.text.toLowerCase() === 'in');
  if (span.kind !== 'command') return false;
  const word = span.text.toLowerCase();
  switch (span.command) {
    case 'with':
      // "month on month" is a change, not a course.
      return word === 'on' && previous?.kind === 'grain' && next?.kind === 'grain';
    case 'versus':
      return !(
        next?.kind === 'range' ||
        values.compared.length > 0 ||
        (measures.size > 1 && previous?.kind === 'measure' && next?.kind === 'measure')
      );
    case 'compare':
      return (
        values.compared.length === 0 &&
        measures.size < 2 &&
        !spans.some((other, at) => other.kind === 'grain' || (other.kind === 'dimension' && !values.qualifiers.has(at)))
      );
    case 'filler':
      if (totals.includes(word))
        return /^(?:and|plus|with|&|[+])$/i.test(previous?.text ?? '') && next?.kind !== 'measure';
      return pointsBack(word, measures.size > 0, isCommand(previous, ['is']), next);
    default:
      return false;
  }
}

const totals = ['total', 'overall'];
const dataKinds = ['measure', 'dimension', 'grain', 'value'];

// Words that stand for something said before. Only where nothing is asked anew do they mean the question before.
function pointsBack(word: string, hasMeasure: boolean, isAfterIs: boolean, next: Span | undefined): boolean {
  if (['this', 'that', 'these', 'those', 'their', 'its', 'same', 'the same'].includes(word)) {
    if (dataKinds.includes(next?.kind ?? '') || (hasMeasure && next === undefined)) return true;
  }
  if (['it', 'its', 'them', 'their', 'these', 'those', 'same', 'the same'].includes(word)) return hasMeasure;
  return ['then', 'there'].includes(word) && hasMeasure && !isAfterIs && next === undefined;
}

function problemsAt(checked: CheckedQuestion, span: Span, place: number): readonly string[] {
  const { spans, values, measures } = checked;
  const next = after(spans, place);
  const participle = participleProblem(spans, place);
  if (participle !== undefined) return [participle];
  if (span.kind === 'range' && isCommand(before(spans, place), ['and', 'with'])) {
    const joint = before(spans, place)?.text.toLowerCase();
    const isCompared = (joint === 'with' || joint === 'and') && spans.some((other) => isCommand(other, ['compare']));
    return isCompared ? ['I cannot compare with another time range.'] : [];
  }
  // "revenue and web orders"
  if ((span.kind === 'value' || span.kind === 'segment') && measures.size > 1 && values.compared.length === 0) {
    const isBetween = [spans.slice(0, place), spans.slice(place)].every((side) =>
      side.some(({ kind }) => kind === 'measure'),
    );
    return isBetween
      ? [`I cannot tell which measures "${plainText(span.text)}" goes with. Please ask one by one.`]
      : [];
  }
  // "cost by month": what stands before "by" is to be measured.
  if (span.kind === 'dimension' && measures.size === 0 && !values.qualifiers.has(place)) {
    const isSubject = before(spans, place) === undefined && isCommand(next, ['group']);
    return isSubject ? [`${titleOf(span.member)} is no measure.`] : [];
  }
  if (span.kind === 'dimension' && isListedWithMeasure(spans, place)) return [`${titleOf(span.member)} is no measure.`];
  if (span.kind !== 'command') return [];
  // "how much did we refund" asks for money.
  const counted =
    span.text.toLowerCase() === 'how much' ? spans.slice(place).find(({ kind }) => kind === 'measure') : undefined;
  if (counted?.kind === 'measure' && counted.member.aggType?.startsWith('count') === true)
    return [`${titleOf(counted.member)} is a count. Do you mean "how many"?`];
  if (span.command === 'and') return mixedList(checked, span, place);
  if (span.command === 'group') return groupProblems(checked, span, place, next);
  if (span.command === 'how-many') return countProblem(spans, place);
  if (span.command === 'unique') {
    const isCounted = next?.kind === 'measure' && next.member.aggType?.startsWith('count_distinct') === true;
    return isCounted || next?.kind === 'dimension' ? [] : [`I cannot take "${span.text}" into account there.`];
  }
  if (['highest', 'lowest'].includes(span.command)) return superlativeProblem(spans, span, place);
  return [];
}

// "revenue and cost", "cost and revenue by month", but not "products and revenue" or "by month and product".
function isListedWithMeasure(spans: readonly Span[], place: number): boolean {
  const content = spans.map((span, at) => ({ span, at })).filter(({ span }) => !isFiller(span));
  const here = content.findIndex(({ at }) => at === place);
  const [beforeLast, last, next, afterNext] = [-2, -1, 1, 2].map((offset) => content[here + offset]?.span);
  if (isCommand(last, ['and']) && beforeLast?.kind === 'measure') {
    return !isCommand(content[here - 3]?.span, ['group', 'highest', 'lowest']);
  }
  const isGroupedLater = spans.slice(place).some((span) => isCommand(span, ['group']));
  return isCommand(next, ['and']) && afterNext?.kind === 'measure' && isGroupedLater && last === undefined;
}

// "completed and cancelled orders", where the measure is "Cancelled orders"; "by channel and Germany".
function mixedList({ spans, values }: CheckedQuestion, span: Span, place: number): readonly string[] {
  const previous = before(spans, place);
  const isQualifier = previous !== undefined && values.qualifiers.has(spans.lastIndexOf(previous));
  const next = after(spans, place);
  if (previous === undefined || next === undefined) return [];
  const isMixed =
    (previous.kind === 'value' && next.kind === 'measure') ||
    (next.kind === 'value' && ['measure', 'dimension', 'grain'].includes(previous.kind));
  if (!isMixed || isQualifier || values.compared.length > 0 || /^[,;]$/.test(span.text)) return [];
  return [`I cannot tell how "${plainText(previous.text)}" and "${plainText(next.text)}" belong together.`];
}

function groupProblems(
  { spans, measures }: CheckedQuestion,
  span: Span,
  place: number,
  next: Span | undefined,
): readonly string[] {
  if (next === undefined || isCommand(next, ['is', 'with', 'not', 'only', 'and', 'or', 'versus']))
    return [`I do not see what follows "${plainText(span.text)}".`];
  // "across 2024" and "across web and store" say where, as "in" does.
  const isWhere = span.text.toLowerCase() === 'across' || isMeasureOfValue(spans, place);
  if (!isWhere && (next.kind === 'value' || next.kind === 'range' || next.kind === 'number')) {
    const [candidate] = next.kind === 'value' ? next.candidates : [];
    const hint =
      candidate === undefined
        ? ''
        : ` Do you mean "for ${plainText(next.text)}" or "by ${titleOf(candidate.member).toLowerCase()}"?`;
    return [`I cannot break down by "${plainText(next.text)}".${hint}`];
  }
  // "revenue by month and orders by channel": two tables.
  const earlier = spans.findIndex((other) => isCommand(other, ['group']));
  const isSecondTable = spans.some(
    (other, at) => other.kind === 'measure' && at > earlier && at < place && !isCommand(before(spans, at), ['group']),
  );
  return measures.size > 1 && isSecondTable
    ? ['I can show one table at a time. Please ask for one after the other.']
    : [];
}

// "top 5 brands by web revenue"
function isMeasureOfValue(spans: readonly Span[], place: number): boolean {
  const rest = spans.slice(place + 1).filter((span) => !isFiller(span));
  const [first, second] = rest;
  return first?.kind === 'value' && second?.kind === 'measure';
}

// "how many products" must not become a list of products, "how many sales" not a sum of money.
function countProblem(spans: readonly Span[], place: number): readonly string[] {
  const counted = spans
    .slice(place + 1)
    .find(
      (span) =>
        !isFiller(span) &&
        span.kind !== 'value' &&
        span.kind !== 'segment' &&
        !isCommand(span, ['and', 'or', 'with', 'unique', 'how-many']),
    );
  if (counted?.kind === 'unknown' || counted?.kind === 'ambiguous') return [];
  if (counted?.kind === 'measure' && isCounting(counted.member)) return [];
  return [`I have no measure that counts ${counted === undefined ? 'that' : `"${plainText(counted.text)}"`}.`];
}

// A sum can count as well: "Items sold – the number of pieces sold". The model says so in words only.
function isCounting(member: MemberMetadata): boolean {
  const words = [member.title, member.description, ...member.synonyms].join(' | ');
  return member.aggType?.startsWith('count') === true || /\b(?:number of|how many|count|units|pieces)\b/i.test(words);
}

// "largest order", "top 5 orders": single ones cannot be told from a figure for all of them. "most orders" can.
function superlativeProblem(spans: readonly Span[], span: Span, place: number): readonly string[] {
  const [next, afterNext] = spans.slice(place + 1).filter((other) => !isFiller(other));
  const measure = next?.kind === 'number' ? afterNext : next;
  if (measure?.kind !== 'measure') return [];
  const { aggType, title, synonyms } = measure.member;
  const isCount = aggType?.startsWith('count') === true;
  const said = wordsOf(measure.text).at(-1);
  const names = [title, ...synonyms].map((name) => wordsOf(name).at(-1)?.word);
  const isSingular = said !== undefined && said.word === said.stem && !names.includes(said.word);
  const isOfSingle = isCount && (next?.kind === 'number' || isSuperlative(span.text, 'singling'));
  if (!isOfSingle && !(isSingular && (isCount || aggType === 'sum'))) return [];
  const asked = plainText(`${span.text} ${measure.text}`);
  return [`${titleOf(measure.member)} is one figure for all of them, so I cannot tell the "${asked}".`];
}

// "the day before yesterday" is one day, not all days before.
function isOneUnit(spans: readonly Span[], place: number): boolean {
  const next = spans[place + 1];
  const isUnit = /^(?:day|week|month|quarter|year)$/i.test(spans[place]?.text ?? '');
  const isMarked = isDimensionMarker(before(spans, place));
  return isUnit && !isMarked && next?.kind === 'range' && /^(?:before|after)\b/i.test(next.text);
}
