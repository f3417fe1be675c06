/** Understands the last question of a thread: by itself, or as a change of the questions before it, which are replayed. */

import type { RelationMetadata } from '@inlay/semantic/policy/metadata.ts';
import type { AnalystContext } from './analyst.ts';
import { annotate, readText, type Vocabulary } from './annotate.ts';
import { type AnalystMessage, readToolResult } from './conversation.ts';
import { type Completed, completeFollowUp, completeQuestion, isFollowUp } from './follow-up.ts';
import { hasBreakdown, type Intent, intentLimits, type Reading } from './intent.ts';
import { indexMembers } from './member-index.ts';
import { listOf, plainText } from './plain-text.ts';
import { readQuestion } from './read-question.ts';
import { exampleText, refusalText } from './refusal.ts';
import { tokenise } from './tokens.ts';
import { indexValues } from './value-index.ts';

/**
 * The question's intent, or the words of a refusal. `base`: for a follow-up the position of the message with the whole
 * question that it goes back to, else null.
 */
export type Understanding =
  | { readonly kind: 'intent'; readonly intent: Intent; readonly base: number | null }
  | { readonly kind: 'refusal'; readonly text: string };

// Follow-ups that are folded onto one question. A longer chain asks for the whole question again.
const followUpsMax = 20;

const tooLong = `The question is too long: I read up to ${intentLimits.tokensMax} words. I queried nothing.`;
const lostThread =
  'I can no longer tell what the question before meant. Please ask the whole question again. I queried nothing.';

/** Understands the user's message at position `place` of `messages`. */
export function understand(messages: readonly AnalystMessage[], place: number, context: AnalystContext): Understanding {
  if (context.relations.length === 0) return { kind: 'refusal', text: 'There is no data here that you may query.' };
  const vocabularies = context.relations.map((relation): readonly [RelationMetadata, Vocabulary] => [
    relation,
    {
      members: indexMembers(relation),
      values: indexValues(relation, context.valueMatches),
    },
  ]);
  const chain: Change[] = [];
  for (let at = place; at >= 0; at -= 1) {
    const message = messages[at];
    if (message?.role !== 'user') continue;
    const readings = readAll(message.content, vocabularies, context.today);
    const isLast = at === place;
    if (readings === undefined) {
      if (isLast) return { kind: 'refusal', text: tooLong };
      continue;
    }
    const whole = bestIntent(readings);
    if (whole !== undefined && !isFollowUp(whole.reading)) return foldOnto(whole.intent, at, chain, messages, context);
    const changes = whole === undefined ? readings.filter(isCleanChange) : readings.filter(isClean);
    if (changes.length > 0) chain.unshift({ place: at, readings: changes });
    else if (isLast) return { kind: 'refusal', text: refuse(readings, context) };
    // It was answered then, so what it meant has to be known now: the values in it are not, or rights have changed.
    else if (wasAnswered(messages, at, context.toolNames.sql)) return { kind: 'refusal', text: lostThread };
    if (chain.length > followUpsMax) return { kind: 'refusal', text: lostThread };
  }
  return withoutBase(chain, messages, context);
}

// A question that may change the one before, read for each relation in which it has a meaning.
interface Change {
  readonly place: number;
  readonly readings: readonly Reading[];
}

function readAll(
  text: string,
  vocabularies: readonly (readonly [RelationMetadata, Vocabulary])[],
  today: string,
): readonly Reading[] | undefined {
  const tokens = tokenise(text, intentLimits.tokensMax);
  if (tokens.length > intentLimits.tokensMax) return undefined;
  const english = readText(tokens, today);
  return vocabularies.map(([relation, vocabulary]) => readQuestion(relation, annotate(english, vocabulary)));
}

// Of the relations that cover every word: one that is named, then the one with fewest guesses, then the first.
function bestIntent(readings: readonly Reading[]): { reading: Reading; intent: Intent } | undefined {
  const found = readings.filter(isClean).flatMap((reading) => {
    const completed = completeQuestion(reading);
    return 'intent' in completed ? [{ reading, intent: completed.intent }] : [];
  });
  return found.toSorted(
    (left, right) =>
      Number(right.reading.isNamed) - Number(left.reading.isNamed) || left.reading.guesses - right.reading.guesses,
  )[0];
}

function isClean(reading: Reading): boolean {
  return reading.unknown.length === 0 && reading.problems.length === 0;
}

// Without a measure, or with one to rank by but nothing to rank ("top 5 by revenue").
function isCleanChange(reading: Reading): boolean {
  return (
    isClean(reading) && (reading.measures.length === 0 || (reading.ranking !== undefined && !hasBreakdown(reading)))
  );
}

// Applies follow-ups, oldest first. One that was refused then is passed over now, as the reader of the thread expects.
function foldOnto(
  base: Intent,
  place: number,
  chain: readonly Change[],
  messages: readonly AnalystMessage[],
  context: AnalystContext,
): Understanding {
  let intent = base;
  for (const change of chain) {
    const reading = change.readings.find(({ relation }) => relation === intent.relation);
    const completed: Completed =
      reading === undefined
        ? { problems: [notInRelation(change.readings, intent.relation)] }
        : completeFollowUp(intent, reading);
    if ('intent' in completed) intent = completed.intent;
    else if (change === chain.at(-1)) {
      const [shown = reading] = change.readings;
      if (shown === undefined) return { kind: 'refusal', text: lostThread };
      const text = refusalText({ ...shown, measures: intent.measures }, completed.problems, context.relations);
      return { kind: 'refusal', text };
    } else if (wasAnswered(messages, change.place, context.toolNames.sql)) return { kind: 'refusal', text: lostThread };
  }
  return { kind: 'intent', intent, base: chain.length > 0 ? place : null };
}

function notInRelation(readings: readonly Reading[], relation: RelationMetadata): string {
  const elsewhere = listOf(
    readings.map((reading) => plainText(reading.relation.title)),
    'or',
  );
  return `That belongs to ${elsewhere}, but the question before is about ${plainText(relation.title)}. Please ask the whole question.`;
}

// No question that only stands alone: the first that could stand alone does. Without one a measure is missing.
function withoutBase(
  chain: readonly Change[],
  messages: readonly AnalystMessage[],
  context: AnalystContext,
): Understanding {
  for (const [step, { place, readings }] of chain.entries()) {
    const whole = bestIntent(readings);
    if (whole !== undefined) return foldOnto(whole.intent, place, chain.slice(step + 1), messages, context);
  }
  return { kind: 'refusal', text: refuse(chain.at(-1)?.readings ?? [], context) };
}

// The refusal speaks of the relation that covers most of the question.
function refuse(readings: readonly Reading[], context: AnalystContext): string {
  const best = readings.toSorted(
    (left, right) =>
      left.unknown.length - right.unknown.length ||
      Number(right.isNamed) - Number(left.isNamed) ||
      left.problems.length - right.problems.length ||
      right.understood.length - left.understood.length,
  )[0];
  if (best === undefined)
    return ['What would you like to know?', ...exampleText(undefined, context.relations)].join(' ');
  const completed = completeQuestion(best);
  return refusalText(
    best,
    'intent' in completed || best.unknown.length > 0 ? best.problems : completed.problems,
    context.relations,
  );
}

// True when an SQL result followed the message before the next one of the user.
function wasAnswered(messages: readonly AnalystMessage[], place: number, sqlToolName: string): boolean {
  for (const message of messages.slice(place + 1)) {
    if (message.role === 'user') return false;
    if (message.role !== 'tool' || message.name !== sqlToolName) continue;
    if (readToolResult(message.result).kind === 'result') return true;
  }
  return false;
}
