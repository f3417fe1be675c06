/** Mutated model files: each loads or has issues, in bounded time; nothing is ever thrown. */
import { loadDataModel } from '../../src/model/load-data-model.ts';
import { everyKeyYaml } from './model-corpus.ts';

/** What a run found. */
export interface FuzzResult {
  readonly runs: number;
  /** How many inputs ended in each way. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** The slowest input, in milliseconds. */
  readonly slowestMs: number;
  readonly slowest: string;
}

/** An input on which the loader failed, with what is needed to see it again. */
export interface FuzzFailure {
  readonly seed: number;
  readonly run: number;
  readonly input: string;
  readonly reason: unknown;
}

/**
 * Loads `runs` mutated files.
 * @param seed the same seed gives the same files
 * @throws an error with a {@link FuzzFailure} as its cause when one of them makes the loader throw
 */
export function fuzzYaml({ runs, seed }: { readonly runs: number; readonly seed: number }): FuzzResult {
  const outcomes: Record<string, number> = { loads: 0, 'has issues': 0 };
  let slowestMs = 0;
  let slowest = '';
  for (let run = 0; run < runs; run += 1) {
    const input = mutate(everyKeyYaml, randomFrom(seed + run * 7919));
    const started = performance.now();
    let loaded: ReturnType<typeof loadDataModel>;
    try {
      loaded = loadDataModel([{ path: 'm.yml', text: input }]);
    } catch (reason) {
      const cause: FuzzFailure = { seed, run, input, reason };
      throw new Error(`the loader threw at run ${run} of seed ${seed}: ${String(reason)}\n${input}`, { cause });
    }
    const tookMs = performance.now() - started;
    const outcome = 'issues' in loaded ? 'has issues' : 'loads';
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    if (
      'issues' in loaded &&
      !loaded.issues.every(({ line, column, message }) => line > 0 && column > 0 && message !== '')
    ) {
      throw new Error(`an issue without a place at run ${run} of seed ${seed}`);
    }
    if (tookMs > slowestMs) [slowestMs, slowest] = [tookMs, input];
  }
  return { runs, outcomes, slowestMs, slowest };
}

interface Random {
  /** A whole number from 0 to below `end`. */
  below(end: number): number;
  pick<T>(items: readonly T[]): T | undefined;
}

/** Numbers that only look random: the same ones for the same seed. */
function randomFrom(seed: number): Random {
  let state = (seed ^ 0x9e3779b9) >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (end: number): number => Math.floor(next() * end);
  return { below, pick: (items) => items[below(items.length)] };
}

const oddKeys = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '<<',
  '?',
  '',
  '0',
  'null',
  '~',
  'sqlTable',
  '\u0000',
  '🙂',
];
const oddValues = [
  ...[
    '',
    '~',
    '[]',
    '{}',
    '[[]]',
    '{ a: b }',
    '-1',
    '1e999',
    '.nan',
    '0x7fffffffffffffffff',
    '9007199254740993',
    '"\\u0000"',
  ],
  ...[
    '*id',
    '*nobody',
    '&x [*x]',
    '!!js/function f',
    '|',
    '>',
    '"{"',
    '"{}"',
    '"{{ x }}"',
    '"{% x %}"',
    '"{CUBE"',
    '"\\\\{"',
    '"{a.b.c.d}"',
  ],
  ...[
    '"{orders.amount}"',
    '"{users}"',
    '"*"',
    'true',
    '2024-01-01',
    `"${'x'.repeat(5000)}"`,
    `"${'{a}'.repeat(2000)}"`,
    '"not not not"',
  ],
];

/** One to four changes of a text. */
function mutate(text: string, random: Random): string {
  let mutated = text;
  for (let count = random.below(4); count >= 0; count -= 1) mutated = changeOnce(mutated, random);
  return mutated;
}

function changeOnce(text: string, random: Random): string {
  const lines = text.split('\n');
  const at = random.below(lines.length);
  const line = lines[at] ?? '';
  switch (random.below(14)) {
    case 0: {
      const bytes = new TextEncoder().encode(text);
      for (let count = random.below(4); count >= 0; count -= 1) bytes[random.below(bytes.length)] = random.below(256);
      return new TextDecoder().decode(bytes);
    }
    case 1:
      return lines.toSpliced(at, 1 + random.below(5)).join('\n');
    case 2:
      return lines.toSpliced(at, 0, ...lines.slice(at, at + 1 + random.below(8))).join('\n');
    case 3: {
      const other = random.below(lines.length);
      return lines
        .with(at, lines[other] ?? '')
        .with(other, line)
        .join('\n');
    }
    case 4:
      return lines
        .with(
          at,
          line.replace(/^ */, (spaces) => ' '.repeat(Math.max(0, spaces.length + random.below(7) - 3))),
        )
        .join('\n');
    case 5:
      return lines.with(at, line.replace(/([a-z_]+):/, `${random.pick(oddKeys)}:`)).join('\n');
    case 6:
      return lines.with(at, line.replace(/: .*$/, `: ${random.pick(oddValues)}`)).join('\n');
    case 7:
      return lines.with(at, line.replace(/: [^,{}[\]]+([,}])/, `: ${random.pick(oddValues)}$1`)).join('\n');
    case 8: {
      const open = random.pick(['[', '{ a: ', '- ', '? ', '&a [', '"{']) ?? '[';
      return lines
        .with(at, `${line} ${open.repeat(1 + random.below(random.below(20) === 0 ? 20_000 : 200))}`)
        .join('\n');
    }
    case 9: {
      const levels = 2 + random.below(12);
      const bomb = Array.from(
        { length: levels },
        (_, level) => `      l${level}: &l${level} [${level === 0 ? 'x, x, x' : `*l${level - 1}, `.repeat(9)}]`,
      );
      return lines.toSpliced(at, 0, '    meta:', ...bomb).join('\n');
    }
    case 10:
      return text.slice(0, random.below(text.length));
    case 11: {
      const from = random.below(text.length);
      return text.slice(0, from) + text.slice(from + random.below(40));
    }
    case 12: {
      // One name becomes another that is there: references to the wrong thing, circles, members twice.
      const names = text.match(/\b[a-z]+_?[a-z]*\b/g) ?? [];
      const name = random.pick(names) ?? '';
      return text.replaceAll(random.below(2) === 0 ? `{${name}}` : name, random.pick(names) ?? '');
    }
    default: {
      const from = random.below(text.length);
      const piece = text.slice(from, from + random.below(200));
      const to = random.below(text.length);
      return text.slice(0, to) + piece + text.slice(to);
    }
  }
}
