/**
 * Random questions over a world as texts in which names stand in braces, so that they can be asked of the model and of its copy. A
 * question has blocks, each over one view, one cube, or several cubes, and may put plain SQL around them.
 */
import type { Random } from '../random.ts';
import type { World } from './world.ts';

/** One semantic SELECT. In every text `{name}` is a member; `@1` in `where` and `tail` is the second block. */
export interface Block {
  /** A view or cube, or several cubes. */
  readonly from: readonly [string, ...string[]];
  readonly isDistinct: boolean;
  /** Without names: every dimension. */
  readonly select: readonly string[] | '*';
  readonly where: string | null;
  /** What follows WHERE. */
  readonly tail: string;
}

/** A statement: blocks and what stands around them, in which `@0` is the first block. */
export interface Question {
  readonly blocks: readonly [Block, ...Block[]];
  readonly around: string;
}

/** A member that a question may name. */
export interface Choice {
  readonly name: string;
  readonly type: string;
  readonly kind: string;
}

const chance = (random: Random, percent: number): boolean => random.below(100) < percent;
const oneOf = <T>(random: Random, items: readonly T[]): T | undefined => items[random.below(items.length)];

/** The names that a block takes. */
export const namesIn = ({ select, where, tail }: Block): ReadonlySet<string> =>
  new Set(
    [...(select === '*' ? [] : select), where ?? '', tail].flatMap((text) =>
      [...text.matchAll(/\{([\w.]+)\}/g)].map(([, name = '']) => name),
    ),
  );

/** How a block's text is written: what stands for its relations and names, and a condition on its rows beside its own. */
export interface Rendering {
  readonly from: string;
  readonly star: string;
  readonly condition: string | null;
  name(name: string): string;
}

/** The text of a block. */
export function blockText(block: Block, { from, star, condition, name }: Rendering): string {
  const written = (text: string) => text.replaceAll(/\{([\w.]+)\}/g, (_, member: string) => name(member));
  const items = block.select === '*' ? star : block.select.map(written).join(', ');
  const conditions = [
    ...(block.where === null ? [] : [`(${written(block.where)})`]),
    ...(condition === null ? [] : [`(${condition})`]),
  ];
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  return `SELECT ${block.isDistinct ? 'DISTINCT ' : ''}${items} FROM ${from}${where}${written(block.tail)}`;
}

/** The text of a question with its blocks written. */
export const questionText = (around: string, blocks: readonly string[]): string => {
  const [first = '', second = ''] = blocks;
  return around.replaceAll('@0', () => first).replaceAll('@1', () => second);
};

/** Some of the members of each kind. */
interface Choices {
  text(): string;
  number(): string;
  time(): string | undefined;
  truth(): string;
  any(): string;
  measure(): string | undefined;
}

function choicesOf(members: readonly Choice[], random: Random): Choices {
  const rows = members.filter(({ kind }) => kind === 'dimension');
  const of = (type: string) =>
    oneOf(
      random,
      rows.filter((it) => it.type === type),
    )?.name;
  const measures = members.filter(({ kind, name }) => kind === 'measure' && !/rolled|before$/.test(name));
  const segment = () =>
    oneOf(
      random,
      members.filter(({ kind }) => kind === 'segment'),
    )?.name ?? of('boolean');
  const written = (name: string | undefined, otherwise: string) => (name === undefined ? otherwise : `{${name}}`);
  return {
    text: () => written(of('string'), "'none'"),
    number: () => written(of('number'), '5'),
    time: () => of('time'),
    truth: () => written(segment(), 'true'),
    any: () => written(oneOf(random, rows)?.name, "'any'"),
    measure: () => oneOf(random, measures)?.name,
  };
}

function keyOf(choices: Choices, random: Random): string {
  const time = choices.time();
  switch (random.below(9)) {
    case 0:
      return `coalesce(${choices.text()}, '-')`;
    case 1:
      return `${choices.number()} + 1`;
    case 2:
      return time === undefined ? choices.text() : `date_trunc('month', {${time}})`;
    case 3:
      return `CASE WHEN ${condition(choices, random)} THEN 'one' ELSE ${choices.text()} END`;
    case 4:
      return choices.truth();
    case 5:
      return choices.text();
    default:
      return choices.any();
  }
}

function condition(choices: Choices, random: Random, depth = 0): string {
  if (depth < 2 && chance(random, 25)) {
    const glue = chance(random, 50) ? 'AND' : 'OR';
    return `(${condition(choices, random, depth + 1)} ${glue} ${condition(choices, random, depth + 1)})`;
  }
  const time = choices.time();
  switch (random.below(10)) {
    case 0:
      return `${choices.text()} IS NULL`;
    case 1:
      return `NOT ${choices.truth()}`;
    case 2:
      return `${choices.text()} IN ('a', 'A', 'hid', 'off', 'x')`;
    case 3:
      return time === undefined ? 'true' : `{${time}} >= '2024-01-15'`;
    case 4:
      return `${choices.number()} BETWEEN 1 AND 2`;
    case 5:
      return choices.truth();
    case 6:
      return `lower(${choices.text()}) LIKE '%a%'`;
    case 7:
      return `${choices.number()} IS NOT NULL`;
    case 8:
      return `${choices.number()} > ${random.below(3) - 1}`;
    default:
      return `${choices.text()} = 'a'`;
  }
}

const aliased = (keys: readonly string[], measures: readonly string[]): readonly string[] => [
  ...keys.map((sql, at) => `${sql} AS k${at}`),
  ...measures.map((name, at) => `MEASURE({${name}}) AS m${at}`),
];

const groupBy = (keys: readonly unknown[]): string =>
  keys.length === 0 ? '' : ` GROUP BY ${keys.map((_, at) => at + 1).join(', ')}`;

/** What a block is made for; its number of columns depends on it. */
type Use = 'alone' | 'text and figure' | 'text' | 'figure';

function randomBlock(from: Block['from'], members: readonly Choice[], random: Random, use: Use): Block {
  const choices = choicesOf(members, random);
  const where = chance(random, 45) ? condition(choices, random) : null;
  const plain = { from, isDistinct: false, where };
  const figure = choices.measure();
  if (use === 'text') return { ...plain, select: [`${choices.text()} AS k0`], tail: '' };
  if (use === 'figure' || use === 'text and figure') {
    const keys = use === 'figure' ? [] : [choices.text()];
    const figures = figure === undefined ? [] : [figure];
    const select = [...aliased(keys, figures), ...(figure === undefined ? ['0 AS m0'] : [])];
    return { ...plain, select, tail: figure === undefined ? '' : groupBy(keys) };
  }
  const timed = members.filter(({ kind, name }) => kind === 'measure' && /rolled|before$/.test(name));
  const ofTime = oneOf(random, timed)?.name;
  if (ofTime !== undefined && chance(random, 15)) {
    // Measures of time need the month that they are asked by, and know only the time of their own cube.
    const time = ofTime.replace(/rolled|before$/, 't');
    if (members.some(({ name }) => name === time)) {
      const keys = [`date_trunc('month', {${time}})`, ...(chance(random, 30) ? [choices.text()] : [])];
      const range = `{${time}} >= '2024-01-01' AND {${time}} < '2024-04-01'`;
      return {
        ...plain,
        where: chance(random, 60) ? (where === null ? range : `${range} AND ${where}`) : where,
        select: aliased(keys, [ofTime, ...(figure === undefined ? [] : [figure])]),
        tail: groupBy(keys),
      };
    }
  }
  if (figure === undefined || chance(random, 20)) {
    if (chance(random, 15)) return { ...plain, select: '*', tail: '' };
    const items = Array.from({ length: 1 + random.below(3) }, () => keyOf(choices, random));
    const order = chance(random, 60)
      ? ` ORDER BY ${choices.any()} DESC, ${choices.text()} LIMIT ${1 + random.below(4)}`
      : '';
    const isDistinct = chance(random, 25);
    return { ...plain, isDistinct, select: aliased(items, []), tail: isDistinct ? '' : order };
  }
  const keys = Array.from({ length: random.below(3) }, () => keyOf(choices, random));
  const figures = [figure, ...(chance(random, 60) ? [choices.measure() ?? figure] : [])];
  const having = chance(random, 20)
    ? ` HAVING MEASURE({${choices.measure() ?? figure}}) ${random.pick(['> 0', 'IS NULL', '= 0', '< 5'])}`
    : '';
  const order = chance(random, 30)
    ? ` ORDER BY ${chance(random, 50) ? '1' : `MEASURE({${figure}})`}${chance(random, 50) ? ' DESC' : ''} LIMIT ${1 + random.below(3)}`
    : '';
  return { ...plain, select: aliased(keys, figures), tail: `${groupBy(keys)}${having}${order}` };
}

const arounds: readonly (readonly [around: string, ...Use[]])[] = [
  ['SELECT z.k0, COUNT(*), SUM(z.m0), MIN(z.m0) FROM (@0) AS z GROUP BY z.k0', 'text and figure'],
  ['WITH z AS (@0) SELECT * FROM z WHERE z.k0 IS NOT NULL ORDER BY 1, 2', 'text and figure'],
  ['SELECT z.k0, RANK() OVER (ORDER BY z.m0 DESC) FROM (@0) AS z', 'text and figure'],
  ['SELECT AVG(z.m0) FROM (@0) AS z', 'text and figure'],
  ['@0 UNION ALL @1', 'text', 'text'],
  ['@0 UNION @1', 'text', 'text'],
  ['@0 EXCEPT @1', 'text', 'text'],
  ['SELECT a.k0, a.m0, b.m0 FROM (@0) AS a LEFT JOIN (@1) AS b ON a.k0 = b.k0', 'text and figure', 'text and figure'],
  ['SELECT a.k0 FROM (@0) AS a WHERE a.k0 IN (@1)', 'text and figure', 'text'],
  ['SELECT a.k0 FROM (@0) AS a WHERE a.m0 >= (@1)', 'text and figure', 'figure'],
];

/**
 * A question over a world.
 * @param membersOf those of a relation that the question may name, of cubes by themselves under their own names
 */
export function randomQuestion(
  world: World,
  random: Random,
  membersOf: (relation: string) => readonly Choice[],
): Question {
  const block = (use: Use): Block => {
    const kind = random.below(10);
    if (kind === 0) {
      const first = world.cubes[random.below(world.cubes.length)];
      const target = first?.edges[0]?.target;
      if (first !== undefined && target !== undefined) {
        const named = [first.name, target].flatMap((cube) =>
          membersOf(cube).map((it) => ({ ...it, name: `${cube}.${it.name}` })),
        );
        return randomBlock([first.name, target], named, random, use);
      }
    }
    const relations = kind < 8 ? world.views : world.cubes;
    const seen = relations.filter((it) => membersOf(it.name).length > 0);
    // What has no members for the user is not there: asked now and then only.
    const name = oneOf(random, seen.length > 0 && random.below(20) > 0 ? seen : relations)?.name ?? 'v0';
    return randomBlock([name], membersOf(name), random, use);
  };
  if (chance(random, 8)) {
    const inner = block('text');
    const outer = block('text and figure');
    const text = choicesOf(membersOf(outer.from[0]), random).text();
    // Only a relation that is asked by itself: its members have bare names.
    if (outer.from.length === 1) {
      const where = `${outer.where === null ? '' : `${outer.where} AND `}${text} IN (@1)`;
      return { blocks: [{ ...outer, where }, inner], around: '@0' };
    }
  }
  const [around, first, second] = chance(random, 30) ? (oneOf(random, arounds) ?? ['@0']) : ['@0'];
  const blocks: [Block, ...Block[]] = [block(first ?? 'alone')];
  if (second !== undefined) blocks.push(block(second));
  return { blocks, around };
}
