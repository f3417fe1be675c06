/** Says in English what an intent asks, for titles, descriptions and answers. */

import type { MemberMetadata } from '@inlay/semantic/policy/metadata.ts';
import { type Intent, isHeldToOne } from './intent.ts';
import { isGeneric } from './lexicon.ts';
import { listOf, lowerTitle, plainText } from './plain-text.ts';
import { wordsOf } from './tokens.ts';

/** The title of a member, safe in Markdown, at most 80 characters. */
export function titleOf(member: MemberMetadata): string {
  return plainText(member.title);
}

/** The title of a member as {@link titleOf}, for the middle of a sentence: `average order value`. */
export function lowerTitleOf(member: MemberMetadata): string {
  return lowerTitle(titleOf(member));
}

/** `Revenue by month and channel`: what is measured by what, without filters and times. */
export function queryTitle(intent: Intent): string {
  return `${measuresText(intent)}${breakdownText(intent, intent.dimensions)}${rankingText(intent)}`;
}

/** `Revenue by channel for customer country Germany, 2024`. */
export function queryDescription(intent: Intent): string {
  return `${queryTitle(intent)}${filtersText(intent)}, ${rangeText(intent)}`;
}

/** What was asked, as the opening of an answer: a dimension that a filter holds to one value is not named twice. */
export function answerOpening(intent: Intent): string {
  const isNamed = (member: MemberMetadata): boolean =>
    intent.ranking !== undefined || !isHeldToOne(intent.filters, member);
  const breakdown = breakdownText(intent, intent.dimensions.filter(isNamed));
  return `${measuresText(intent)}${breakdown}${rankingText(intent)}${filtersText(intent)}, ${rangeText(intent)}`;
}

// `Revenue and orders`.
function measuresText({ measures: [first, ...others] }: Intent): string {
  return listOf([titleOf(first), ...others.map(lowerTitleOf)]);
}

// ` for channel web or store without category Shoes`; empty without filters. Values are made harmless.
function filtersText(intent: Intent): string {
  const phrases = intent.filters.map(({ member, values, isExcluded }) => {
    const shown = values.slice(0, 5).map((value) => plainText(value));
    const rest = values.length > shown.length ? [`${values.length - shown.length} more`] : [];
    return { isExcluded, text: `${lowerTitleOf(member)} ${listOf([...shown, ...rest], isExcluded ? 'and' : 'or')}` };
  });
  const segments = intent.segments.map((segment) => `"${lowerTitleOf(segment)}"`);
  const included = [...segments, ...phrases.filter((phrase) => !phrase.isExcluded).map(({ text }) => text)];
  const excluded = phrases.filter((phrase) => phrase.isExcluded).map(({ text }) => text);
  return `${included.length > 0 ? ` for ${listOf(included)}` : ''}${excluded.length > 0 ? ` without ${listOf(excluded)}` : ''}`;
}

// `2024`, `last 30 days (…)`, `all time`, with the date that decides where that is not plain.
function rangeText(intent: Intent): string {
  return `${intent.time?.range?.label ?? 'all time'}${dateText(intent)}`;
}

// "Refunds, March 2024, by order date": which date decides, where another one than was taken could be meant.
function dateText({ relation, measures, time }: Intent): string {
  if (time === undefined) return '';
  const [first, ...others] = relation.members.filter(({ kind, type }) => kind === 'dimension' && type === 'time');
  const isObvious =
    time.member === first && !others.some((date) => measures.some((measure) => resembles(date, measure)));
  return isObvious ? '' : `, by ${lowerTitleOf(time.member)}`;
}

// "Refund date" and "Refunds", "Ship date" and "Late shipments", "Delivery date" and "Delivered shipments".
function resembles(date: MemberMetadata, measure: MemberMetadata): boolean {
  const words = wordsOf(measure.title).filter((word) => !isGeneric(word));
  const names = [date.title, ...date.synonyms].flatMap(wordsOf).filter((word) => !isGeneric(word));
  return names.some(({ stem }) =>
    words.some(({ stem: other }) => {
      const [short = '', long = ''] = [stem, other].sort((left, right) => left.length - right.length);
      return (short.length >= 4 && long.startsWith(short)) || (short.length > 6 && long.startsWith(short.slice(0, 6)));
    }),
  );
}

function breakdownText({ time }: Intent, dimensions: readonly MemberMetadata[]): string {
  const parts = [...(time?.grain === undefined ? [] : [time.grain]), ...dimensions.map(lowerTitleOf)];
  return parts.length > 0 ? ` by ${listOf(parts)}` : '';
}

// `, highest 5 by revenue`; empty without a ranking.
function rankingText({ measures, ranking }: Intent): string {
  if (ranking === undefined) return '';
  const { direction, limit, measure } = ranking;
  return `, ${direction}${limit === 1 ? '' : ` ${limit}`}${measures.length > 1 ? ` by ${lowerTitleOf(measure)}` : ''}`;
}
