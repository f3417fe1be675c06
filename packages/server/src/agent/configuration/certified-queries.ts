/** Which certified query a question asks for, and whether a query that ran is one. Pure. */

import { parseSql } from '@inlay/semantic/sql/parse-sql.ts';
import { stem, wordsOf } from '@inlay/semantic/words.ts';
import type { CertifiedQuery } from './agent-configuration.ts';

/**
 * A query without its layout: two texts have the same when they differ only in white space, comments, the case of
 * keywords, brackets without a meaning, and in how the one relation is called. Aliases of columns count, since readers see them.
 * @throws SemanticError when it does not parse
 */
export function fingerprintOf(sql: string): string {
  const statement = parseSql(sql);
  const { body } = statement;
  const [table] = body.kind === 'select' ? body.from : [];
  const text = withoutPlaces(statement, null);
  // With queries within each other a name may be one of several tables; they are left as they are called.
  const isOne =
    body.kind === 'select' && body.from.length === 1 && statement.with.length === 0 && !text.includes('"statement":');
  if (!isOne || table?.kind !== 'table') return text;
  const { from: _, ...query } = body;
  return `${table.name} ${withoutPlaces(query, table.alias ?? table.name)}`;
}

/** A parsed query as JSON, without where its parts stand; names are not qualified by `called`. */
const withoutPlaces = (query: object, called: string | null): string =>
  JSON.stringify(query, (key, value: unknown) => {
    if (key === 'location') return undefined;
    return key === 'qualifier' && value === called ? null : value;
  });

/** The same as {@link fingerprintOf}; null for what does not parse. */
export function fingerprintOrNull(sql: string): string | null {
  try {
    return fingerprintOf(sql);
  } catch {
    return null;
  }
}

/** The same as {@link fingerprintOrNull}. */
export type FingerprintOf = (sql: string) => string | null;

/**
 * The same for queries that are met again and again, such as those of earlier answers: kept in memory, the latest ones, up to
 * `charactersMax` UTF-16 code units of SQL and fingerprints.
 * @param fingerprint what works them out
 */
export function keepFingerprints(
  charactersMax = 4_000_000,
  fingerprint: FingerprintOf = fingerprintOrNull,
): FingerprintOf {
  const known = new Map<string, string | null>();
  let characters = 0;
  const sizeOf = (sql: string, found: string | null): number => sql.length + (found ?? '').length;
  return (sql) => {
    const kept = known.get(sql);
    const found = kept === undefined ? fingerprint(sql) : kept;
    if (kept === undefined) characters += sizeOf(sql, found);
    // The latest stand last.
    known.delete(sql);
    known.set(sql, found);
    for (const [oldest, value] of known) {
      if (characters <= charactersMax) break;
      known.delete(oldest);
      characters -= sizeOf(oldest, value);
    }
    return found;
  };
}

/** A question without case, layout, and punctuation at its ends: equal for questions that are the same. */
export function normaliseRequest(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .replaceAll(/[‘’]/g, "'")
    .replaceAll(/^[\s\p{P}]+|[\s\p{P}]+$/gu, '');
}

/** By what a certified query is found. */
export interface RequestKeys {
  /** Its questions, normalised. */
  readonly requests: ReadonlySet<string>;
  /** The words of its name and of each question. */
  readonly words: readonly ReadonlySet<string>[];
}

/** Gives the keys of a certified query. */
export type KeysOf = (query: CertifiedQuery) => RequestKeys;

/** Works the keys out. */
function readKeys({ name, userRequests }: CertifiedQuery): RequestKeys {
  return { requests: new Set(userRequests.map(normaliseRequest)), words: [name, ...userRequests].map(stemsIn) };
}

/** The same, worked out once for each query and kept as long as it is: there may be thousands of questions. */
export function keepKeys(): KeysOf {
  const known = new WeakMap<CertifiedQuery, RequestKeys>();
  return (query) => {
    const keys = known.get(query) ?? readKeys(query);
    known.set(query, keys);
    return keys;
  };
}

/** The certified queries whose question is `question`, word for word; first in the order of the files. */
export function matchExactly(
  queries: readonly CertifiedQuery[],
  question: string,
  keysOf: KeysOf = readKeys,
): readonly CertifiedQuery[] {
  // Far longer than any question that is certified: spares the work.
  if (question.length > 2000) return [];
  const asked = normaliseRequest(question);
  return asked === '' ? [] : queries.filter((query) => keysOf(query).requests.has(asked));
}

/** The certified queries that share most words with a question, nearest first; in the order of the files among equals. */
export function nearest(
  queries: readonly CertifiedQuery[],
  question: string,
  countMax: number,
  keysOf: KeysOf = readKeys,
): readonly CertifiedQuery[] {
  const asked = stemsIn(question);
  const scored = queries.map((query) => ({ query, score: scoreOf(keysOf(query), asked) }));
  return scored
    .toSorted((one, other) => other.score - one.score)
    .slice(0, countMax)
    .map(({ query }) => query);
}

/** The share of words that the question and the nearest of the query's own have in common: 0 to 1. */
function scoreOf(keys: RequestKeys, asked: ReadonlySet<string>): number {
  const shares = keys.words.map((words) => {
    let common = 0;
    for (const word of words) if (asked.has(word)) common += 1;
    return common / Math.max(1, words.size + asked.size - common);
  });
  return Math.max(...shares);
}

function stemsIn(text: string): ReadonlySet<string> {
  return new Set(wordsOf(text.slice(0, 4000)).map(stem));
}
