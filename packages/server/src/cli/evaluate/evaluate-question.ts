/** One question: asked, and graded by what its SQL gives. */
import type { Usage } from '@inlay/contract/chat.ts';
import { fingerprintOrNull } from '../../agent/configuration/certified-queries.ts';
import { ConfigError } from '../../config.ts';
import { compareResults, type ResultTable } from './compare-results.ts';
import type { Answer } from './read-answer.ts';
import type { ReadyQuestion } from './read-questions.ts';

/**
 * `pass`: the last query of the answer gives the expected rows. `fail`: it does not. `review`: a person has to look. `error`: the
 * question could not be asked or graded.
 */
export type Verdict = 'pass' | 'fail' | 'review' | 'error';

/** What came of one question. */
export interface Outcome {
  readonly question: ReadyQuestion;
  readonly verdict: Verdict;
  /** Why, in lines for people; empty for most that pass. */
  readonly reasons: readonly string[];
  /** The query that was graded. */
  readonly sql: string | null;
  readonly text: string | null;
  readonly usage: Usage | null;
}

/** The server, as the user of one question. Both throw ConfigError, which says why there is no answer or no result. */
export interface AsUser {
  ask(question: string): Promise<Answer>;
  query(sql: string): Promise<ResultTable>;
}

/** Earlier queries of an answer that are looked at when the last one is wrong. */
const earlierMax = 5;
const textToldMax = 200;

/** Asks and grades. Never throws for what the agent, the server or the SQL does. */
export async function evaluateQuestion(user: AsUser, question: ReadyQuestion): Promise<Outcome> {
  let answer: Answer | null = null;
  let graded: string | null = null;
  const outcome = (verdict: Verdict, ...reasons: readonly string[]): Outcome => {
    const { text = null, usage = null } = answer ?? {};
    return { question, verdict, reasons, sql: graded, text, usage };
  };
  try {
    if (question.sql === null) {
      answer = await told('The question could not be asked', user.ask(question.question));
      if (answer.failure !== null) return outcome('error', `The run failed: ${answer.failure}`);
      graded = await findSeen(user, answer);
      return graded === null
        ? outcome('pass')
        : outcome('fail', 'A query of the answer gives rows, and none is expected.');
    }
    // First, since without it there is no need to ask.
    const expected = await told('The expected SQL fails', user.query(question.sql));
    answer = await told('The question could not be asked', user.ask(question.question));
    if (answer.failure !== null) return outcome('error', `The run failed: ${answer.failure}`);
    const worked = [...new Set(answer.queries.filter(({ problem }) => problem === null).map(({ sql }) => sql))];
    const last = answer.queries.findLast(({ problem }) => problem === null)?.sql;
    if (last === undefined) return outcome(...withoutQuery(answer));
    graded = last;
    const actual = await told('The SQL of the answer fails', user.query(last));
    const comparison = compareResults(expected, actual, question);
    switch (comparison.kind) {
      case 'equal':
        return outcome(...equal(question, last));
      case 'empty':
        return outcome('review', 'Neither query gives a row, so there is nothing to compare.');
      case 'undecided':
        return outcome('review', 'There are too many ways to hold the columns beside each other.');
      case 'different': {
        const earlier = worked.filter((sql) => sql !== last).slice(-earlierMax);
        for (const sql of earlier) {
          const result = await user.query(sql).catch(() => null);
          if (result === null || compareResults(expected, result, question).kind !== 'equal') continue;
          const reason = `An earlier query of the answer gives the expected rows, its last one does not: ${sql}`;
          return outcome('review', reason, ...comparison.reasons);
        }
        return outcome('fail', ...comparison.reasons);
      }
    }
  } catch (error) {
    if (error instanceof ConfigError) return outcome('error', ...error.problems);
    throw error;
  }
}

/**
 * The last query of the answer whose rows tell something, as this user; null: none does. Nothing is told by nulls and zeros alone,
 * which sums and counts of no rows are.
 * @throws ConfigError where a query that had worked fails now
 */
async function findSeen(user: AsUser, { queries }: Answer): Promise<string | null> {
  const worked = new Set(queries.flatMap(({ sql, problem }) => (problem === null ? [sql] : [])));
  for (const sql of [...worked].reverse()) {
    const { rows } = await told('The SQL of the answer fails', user.query(sql));
    if (rows.some((row) => row.some((cell) => cell !== null && cell !== 0))) return sql;
  }
  return null;
}

function withoutQuery({ text, queries }: Answer): readonly [Verdict, string] {
  const [last] = queries.slice(-1);
  if (last !== undefined) return ['fail', `No query of the answer worked. The last: ${last.problem}`];
  const said = text === null ? 'nothing' : JSON.stringify(text.slice(0, textToldMax));
  return ['review', `There is no query in the answer. It says: ${said}`];
}

function equal({ certified }: ReadyQuestion, sql: string): readonly [Verdict, ...string[]] {
  if (certified === null || fingerprintOrNull(sql) === certified.fingerprint) return ['pass'];
  return [
    'review',
    `The rows are right, but the question is that of the certified query ${certified.name}, which was not used.`,
  ];
}

/** What the work gives; of its failure says what it was about. */
async function told<T>(what: string, work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    if (!(error instanceof ConfigError)) throw error;
    const [first = '', ...rest] = error.problems;
    throw new ConfigError([`${what}: ${first}`, ...rest]);
  });
}
