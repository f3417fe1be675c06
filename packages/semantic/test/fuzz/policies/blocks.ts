/** Random semantic SELECTs over members that a user may name. */
import type { Random } from '../random.ts';
import type { Block, Choice } from './questions.ts';

const chance = (random: Random, percent: number): boolean => random.below(100) < percent;
const oneOf = <T>(random: Random, items: readonly T[]): T | undefined => items[random.below(items.length)];

/** Units of time, those of the model's own among them. */
export const units = [
  'hour',
  'day',
  'week',
  'month',
  'month',
  'quarter',
  'year',
  'fiscal',
  'fortnight',
  'shift',
] as const;

/** Some of the members of each kind. */
export interface Choices {
  text(): string;
  number(): string;
  time(): string | undefined;
  truth(): string;
  any(): string;
  measure(): string | undefined;
}

/** Choices among these members; what needs something beside it is none of them. */
export function choicesOf(all: readonly Choice[], random: Random): Choices {
  const members = all.filter(({ use }) => use === 'plain');
  const rows = members.filter(({ kind }) => kind === 'dimension');
  const of = (type: string) =>
    oneOf(
      random,
      rows.filter((it) => it.type === type),
    )?.name;
  const measures = members.filter(({ kind }) => kind === 'measure');
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

const unitOf = (time: string, random: Random): string => `date_trunc('${random.pick(units)}', {${time}})`;

function keyOf(choices: Choices, random: Random): string {
  const time = choices.time();
  switch (random.below(10)) {
    case 0:
      return `coalesce(${choices.text()}, '-')`;
    case 1:
      return `${choices.number()} + 1`;
    case 2:
      return time === undefined ? choices.text() : unitOf(time, random);
    case 3:
      return `CASE WHEN ${condition(choices, random)} THEN 'one' ELSE ${choices.text()} END`;
    case 4:
      return choices.truth();
    case 5:
      return choices.text();
    case 6:
      if (time === undefined) return choices.any();
      return random.pick([
        `EXTRACT(month FROM {${time}})`,
        `EXTRACT(dow FROM {${time}})`,
        `CAST({${time}} AS date)`,
        `date_trunc('month', {${time}} + INTERVAL '1 day')`,
      ]);
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
      return time === undefined ? 'true' : timeCondition(time, random);
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

const timeCondition = (time: string, random: Random): string =>
  random.pick([
    `{${time}} >= '2024-01-15'`,
    `{${time}} < '2024-03-10 03:00:00'`,
    `{${time}} BETWEEN '2024-01-01' AND '2024-02-29 10:00:00'`,
    `date_trunc('month', {${time}}) = '2024-02-01'`,
    `date_trunc('fiscal', {${time}}) = '2023-02-01'`,
    `EXTRACT(year FROM {${time}}) = 2024`,
    `{${time}} > now() - INTERVAL '1 month'`,
    `{${time}} IS NULL`,
  ]);

const aliased = (keys: readonly string[], measures: readonly string[]): readonly string[] => [
  ...keys.map((sql, at) => `${sql} AS k${at}`),
  ...measures.map((name, at) => `MEASURE({${name}}) AS m${at}`),
];

const groupBy = (keys: readonly unknown[]): string =>
  keys.length === 0 ? '' : ` GROUP BY ${keys.map((_, at) => at + 1).join(', ')}`;

/** What a block is made for; its number of columns depends on it. */
export type Use = 'alone' | 'text and figure' | 'text' | 'figure';

/** A block over a relation, or several cubes, of these members. */
export function randomBlock(from: Block['from'], members: readonly Choice[], random: Random, use: Use): Block {
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
  const special = chance(random, 20) ? (timedBlock(members, random) ?? switchedBlock(members, random)) : null;
  if (special !== null) {
    const conditions = [special.where, where].flatMap((it) => (it === null ? [] : [`(${it})`]));
    const text = chance(random, 30) ? [choices.text()] : [];
    const figures = [special.figure, ...(figure === undefined || chance(random, 40) ? [] : [figure])];
    const keys = [...special.keys, ...text];
    return {
      ...plain,
      where: conditions.length === 0 ? null : conditions.join(' AND '),
      select: aliased(keys, figures),
      tail: `${groupBy(keys)}${chance(random, 15) ? ` HAVING MEASURE({${special.figure}}) > 0` : ''}`,
    };
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

/** A measure with what has to be asked beside it. */
interface SpecialFigure {
  readonly figure: string;
  readonly keys: readonly string[];
  readonly where: string | null;
}

/** A measure of windows or other times by a unit of its time; null: there is none. */
function timedBlock(members: readonly Choice[], random: Random): SpecialFigure | null {
  const timed = oneOf(
    random,
    members.filter(({ kind, use, time }) => kind === 'measure' && use === 'timed' && time !== null),
  );
  if (timed === undefined || timed.time === null || chance(random, 25)) return null;
  const { name: figure, time } = timed;
  const range = `{${time}} >= '2024-01-01' AND {${time}} < '2024-04-01'`;
  const where = chance(random, 60) ? (chance(random, 70) ? range : timeCondition(time, random)) : null;
  // What is moved by a month is asked by what a month leads from and to.
  const unit = chance(random, 60) ? `date_trunc('month', {${time}})` : unitOf(time, random);
  return { figure, keys: [unit], where };
}

/** A measure by a choice, which is a key or fixed; null: there is none. */
function switchedBlock(members: readonly Choice[], random: Random): SpecialFigure | null {
  const switched = oneOf(
    random,
    members.filter(({ kind, use, choice }) => kind === 'measure' && use === 'switched' && choice !== null),
  );
  if (switched === undefined) return null;
  const { name: figure, choice } = switched;
  if (chance(random, 50)) return { figure, keys: [`{${choice}}`], where: null };
  return { figure, keys: [], where: `{${choice}} = '${random.pick(['one', 'two', 'three'])}'` };
}
