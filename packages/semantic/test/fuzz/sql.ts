/**
 * Mutated semantic SQL; each is compiled or refused with a code, in bounded time, and nothing else is ever thrown.
 */
import { compileSql } from '../../src/compile-sql.ts';
import { clickhouse } from '../../src/dialects/clickhouse.ts';
import { duckdb } from '../../src/dialects/duckdb.ts';
import { postgres } from '../../src/dialects/postgres.ts';
import { SemanticError } from '../../src/semantic-error.ts';
import { load, merchant, shopYaml } from '../shop.ts';
import { type Random, randomFrom } from './random.ts';
import { alikeWords, sqlCorpus, sqlWords } from './sql-corpus.ts';

/** What a run found. */
export interface SqlFuzzResult {
  readonly runs: number;
  /** How many inputs were compiled, and refused with each code. */
  readonly outcomes: Readonly<Record<string, number>>;
  readonly slowestMs: number;
  readonly slowest: string;
}

const now = new Date('2024-02-10T08:30:00.000Z');
const dialects = [duckdb, postgres, clickhouse] as const;
const zones = ['UTC', 'Europe/Berlin', 'America/St_Johns'] as const;

/**
 * Compiles `runs` mutated texts.
 * @param seed the same seed gives the same texts
 * @throws an error that holds the text when one makes anything but a SemanticError
 */
export function fuzzSql({ runs, seed }: { readonly runs: number; readonly seed: number }): SqlFuzzResult {
  const model = load(shopYaml);
  const outcomes: Record<string, number> = { compiled: 0 };
  let slowestMs = 0;
  let slowest = '';
  for (let run = 0; run < runs; run += 1) {
    const random = randomFrom(seed + run * 7919);
    const input = mutate(random);
    const dialect = random.pick(dialects);
    const timezone = random.pick(zones);
    const compile = (): string => {
      try {
        compileSql(input, model, merchant(7), dialect, { now, timezone });
        return 'compiled';
      } catch (reason) {
        if (reason instanceof SemanticError) return reason.code;
        throw new Error(`run ${run} of seed ${seed} threw ${String(reason)}\n${input}`, { cause: reason });
      }
    };
    const [tookMs, outcome] = timed(compile);
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    // The first ones pay for what is made once.
    if (run > 50 && tookMs > slowestMs) [slowestMs, slowest] = [tookMs, input];
  }
  return { runs, outcomes, slowestMs, slowest };
}

const words: readonly [string, ...string[]] = ['SELECT', ...sqlWords];
const corpus: readonly [string, ...string[]] = ['SELECT channel FROM sales', ...sqlCorpus];

/** How long something took; what took long is done twice more, since the machine may have been busy with something else. */
function timed<T>(work: () => T): readonly [ms: number, result: T] {
  const once = (): readonly [number, T] => {
    const started = performance.now();
    const result = work();
    return [performance.now() - started, result];
  };
  const first = once();
  if (first[0] < 10) return first;
  return [Math.min(first[0], once()[0], once()[0]), first[1]];
}

/** The text of a run. */
export const mutatedSql = (seed: number, run: number): string => mutate(randomFrom(seed + run * 7919));

/** One of the texts with one to five changes: words left out, doubled, exchanged, put in, taken from another text, nested; characters. */
function mutate(random: Random): string {
  let tokens = split(random.pick(corpus));
  for (let changes = 1 + random.below(5); changes > 0; changes -= 1) {
    if (random.below(4) > 0) {
      exchange(tokens, random);
      continue;
    }
    const at = random.below(tokens.length);
    const other = split(random.pick(corpus));
    const from = random.below(other.length);
    switch (random.below(9)) {
      case 0:
        tokens.splice(at, 1 + random.below(3));
        break;
      case 1:
        tokens.splice(at, 0, ...tokens.slice(at, at + 1 + random.below(8)));
        break;
      case 2:
        tokens.splice(at, 1, random.pick(words));
        break;
      case 3:
        tokens.splice(at, 0, random.pick(words));
        break;
      case 4:
        tokens.splice(at, random.below(3), ...other.slice(from, from + 1 + random.below(12)));
        break;
      case 5:
        tokens = ['SELECT', '*', 'FROM', '(', ...tokens, ')', 'AS', 'z'];
        break;
      case 6:
        tokens.splice(at, 1, '(', ...other, ')');
        break;
      case 7: {
        const word = tokens[at] ?? '';
        const cut = random.below(word.length + 1);
        tokens[at] = word.slice(0, cut) + String.fromCodePoint(1 + random.below(0x2ff)) + word.slice(cut);
        break;
      }
      default: {
        // Many times: what grows with the number of levels shows here.
        const many = tokens.slice(at, at + 1 + random.below(4));
        for (let count = random.below(60); count > 0; count -= 1) tokens.splice(at, 0, ...many);
      }
    }
    if (tokens.length === 0) tokens = [random.pick(words)];
  }
  return tokens.join(' ');
}

/** Exchanges one word for another that may stand there, too. */
function exchange(tokens: string[], random: Random): void {
  const places = [...tokens.keys()].filter((at) => alikeTo(tokens[at] ?? '') !== undefined);
  const [first, ...others] = places;
  if (first === undefined) return;
  const at = random.pick([first, ...others]);
  tokens[at] = random.pick(alikeTo(tokens[at] ?? '') ?? words);
}

const alikeTo = (word: string) => alikeWords.find((list) => list.includes(word));

const split = (sql: string): string[] => sql.match(/'[^']*'|[\w.]+|<>|>=|\|\||::|\S/g) ?? [];
