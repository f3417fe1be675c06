/** What an evaluation came to, for people and for programs. Pure. */
import { plain } from '../http-client.ts';
import { tableText } from '../print.ts';
import type { Outcome, Verdict } from './evaluate-question.ts';

/** An outcome with the time that it took. */
export interface TimedOutcome extends Outcome {
  readonly seconds: number;
}

/** How many there are of each verdict. */
export function countVerdicts(outcomes: readonly Pick<Outcome, 'verdict'>[]): Readonly<Record<Verdict, number>> {
  const counts = { pass: 0, fail: 0, review: 0, error: 0 };
  for (const { verdict } of outcomes) counts[verdict] += 1;
  return counts;
}

/** A table of all, then the reasons of those that did not just pass, then the sum. */
export function reportText(outcomes: readonly TimedOutcome[]): string {
  const table = tableText(
    outcomes.map(({ verdict, question, seconds, usage }) => ({
      verdict,
      file: question.file,
      name: question.name,
      seconds: seconds.toFixed(1),
      tokens: usage?.totalTokens ?? '',
    })),
  );
  const reasons = outcomes
    .filter((outcome) => outcome.reasons.length > 0)
    .map(({ verdict, question, reasons: lines, sql }) => {
      const told = [
        ...lines,
        ...(sql === null
          ? []
          : [`Its SQL:      ${inLine(sql)}`, `Expected SQL: ${question.sql === null ? 'none' : inLine(question.sql)}`]),
      ];
      return [`${verdict} ${question.file}: ${question.name}`, ...told.map((line) => `  ${line}`)]
        .map(plain)
        .join('\n');
    });
  const sum = Object.entries(countVerdicts(outcomes)).map(([verdict, count]) => `${count} ${verdict}`);
  return [table, ...reasons, sum.join(', ')].join('\n\n');
}

/** The same as plain data. */
export function reportJson(outcomes: readonly TimedOutcome[]): Readonly<Record<string, unknown>> {
  return {
    counts: countVerdicts(outcomes),
    questions: outcomes.map(({ question, verdict, reasons, sql, text, usage, seconds }) => ({
      file: question.file,
      name: question.name,
      question: question.question,
      verdict,
      reasons,
      expectedSql: question.sql,
      sql,
      answer: text,
      seconds: Math.round(seconds * 1000) / 1000,
      usage,
    })),
  };
}

const inLine = (sql: string): string => sql.replaceAll(/\s+/g, ' ');
