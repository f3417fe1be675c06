/**
 * Random semantic SQL over one cube `t` with columns of every type, each text with the one that PostgreSQL takes for the same: there every
 * number is `numeric`, texts are ordered by code points, and MEASURE is an aggregate of rows.
 */
import type { Random } from '../fuzz/random.ts';

/** The same in semantic SQL, and as PostgreSQL has it over a table with the rows of the cube. */
export interface Twin {
  readonly own: string;
  readonly plain: string;
}

type Type = 'number' | 'text' | 'boolean' | 'time';

/** The columns that can be named, by their types. */
type Columns = Readonly<Record<Type, readonly [string, ...string[]]>>;

/** The columns of the cube. */
const members: Columns = {
  number: ['id', 'i', 'b', 'd', 'm', 'r'],
  text: ['s', 'g'],
  boolean: ['f'],
  time: ['at', 'day'],
};

const same = (text: string): Twin => ({ own: text, plain: text });

/** A text made of twins: the same words around both of each. */
function twin(words: TemplateStringsArray, ...parts: readonly (Twin | string | number)[]): Twin {
  const join = (side: keyof Twin): string =>
    words.reduce((text, word, at) => {
      const part = parts[at - 1];
      return `${text}${typeof part === 'object' ? part[side] : (part ?? '')}${word}`;
    });
  return { own: join('own'), plain: join('plain') };
}

const list = (twins: readonly Twin[], by = ', '): Twin => ({
  own: twins.map((it) => it.own).join(by),
  plain: twins.map((it) => it.plain).join(by),
});

/** A statement; its rows are to be compared without their order. */
export function randomMixedSql(random: Random): Twin {
  const statement = random.pick([rows, rows, measured, sets, joined, windows, grouped, over] as const);
  return statement(random);
}

function rows(random: Random): Twin {
  const outputs = [0, 1, 2].map(() => value(random, members, 3));
  const distinct = random.below(4) === 0 ? 'DISTINCT ' : '';
  return twin`SELECT ${distinct}${list(outputs)} FROM t${where(random, members)}`;
}

/** Groups with measures, which are aggregates over the rows. */
function measured(random: Random): Twin {
  const keys = Array.from({ length: 1 + random.below(2) }, () =>
    value(random, members, 2, ['text', 'boolean', 'time']),
  );
  const outputs = [...keys, ...[0, 1].map(() => overMeasures(random))];
  const having = random.below(2) === 0 ? same('') : twin` HAVING ${overMeasures(random)} > ${random.below(4)}`;
  return twin`SELECT ${list(outputs)} FROM t${where(random, members)} GROUP BY ${keys.length === 1 ? '1' : '1, 2'}${having}`;
}

const measures: readonly [Twin, ...Twin[]] = [
  { own: 'MEASURE(n)', plain: 'count(*)' },
  { own: 'SUM(sum_b)', plain: 'sum(b)' },
  { own: 'MEASURE(sum_d)', plain: 'sum(d)' },
  { own: 'MEASURE(max_m)', plain: 'max(m)' },
  { own: 'MEASURE(min_r)', plain: 'min(r)' },
  { own: 'COUNT(DISTINCT texts)', plain: 'count(DISTINCT s)' },
  { own: 'MEASURE(true_n)', plain: 'count(*) FILTER (WHERE f)' },
];

function overMeasures(random: Random): Twin {
  const [one, other] = [random.pick(measures), random.pick(measures)];
  return random.pick([
    () => one,
    () => twin`(${one} - ${other})`,
    () => twin`coalesce(${one}, ${other}, ${random.below(3)})`,
    () => twin`CASE WHEN ${one} > ${random.below(3)} THEN ${other} ELSE ${one} END`,
    () => twin`greatest(${one}, ${other})`,
    () => quotient(one, other),
  ] as const)();
}

function sets(random: Random): Twin {
  const types = [random.pick(['text', 'time', 'number'] as const), 'number'] as const;
  const branch = (): Twin =>
    twin`SELECT ${list(types.map((type) => value(random, members, 1, [type])))} FROM t${where(random, members)}`;
  const operator = () => random.pick(['UNION ALL', 'UNION', 'INTERSECT', 'EXCEPT'] as const);
  const two = twin`${branch()} ${operator()} ${branch()}`;
  if (random.below(3) > 0) return two;
  const outputs = random.below(2) === 0 ? same('k, v') : same('k, v IS NULL, coalesce(v, 0)');
  return twin`SELECT ${outputs} FROM (${two}) AS u (k, v) WHERE v > ${random.below(3)} OR v IS NULL`;
}

/** Columns of subqueries `x` and `y`. */
const bothSides = (tables: readonly ['x', ...'y'[]]): Columns => {
  const of = (type: Type): readonly [string, ...string[]] => {
    const [first, ...others] = tables.flatMap((table) => members[type].map((name) => `${table}.${name}`));
    return [first ?? '', ...others];
  };
  return { number: of('number'), text: of('text'), boolean: of('boolean'), time: of('time') };
};
const whole = same(`SELECT ${Object.values(members).flat().join(', ')} FROM t`);

function joined(random: Random): Twin {
  const type = random.pick(['JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN'] as const);
  const equal = (names: readonly [string, ...string[]]): string => `x.${random.pick(names)} = y.${random.pick(names)}`;
  const key = random.pick([
    equal(members.number),
    equal(members.text),
    'x.id = y.i AND x.g = y.g',
    'x.at = y.day',
    'x.f = y.f AND x.b = y.m',
  ]);
  const columns = bothSides(['x', 'y']);
  const outputs = ['x.id', 'y.id AS other'].map(same).concat(value(random, columns, 2));
  return twin`SELECT ${list(outputs)} FROM (${whole}) AS x ${type} (${whole}${where(random, members)}) AS y ON ${key}${where(random, columns)}`;
}

function windows(random: Random): Twin {
  const isPlain = random.below(2) === 0;
  const [text, number, fallback] = [
    value(random, members, 1, ['text', 'boolean', 'time']),
    value(random, members, 1, ['number']),
    value(random, members, 1, ['number']),
  ];
  const part = random.below(2) === 0 ? same('') : twin`PARTITION BY ${text} `;
  const frame = random.pick([
    '',
    ' ROWS BETWEEN 1 PRECEDING AND CURRENT ROW',
    ' ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING',
    ' ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING',
  ] as const);
  const over = twin`OVER (${part}ORDER BY id${random.pick(['', ' DESC'] as const)}${frame})`;
  const unframed = twin`OVER (${part}ORDER BY id)`;
  const call = (): Twin =>
    random.pick([
      () => twin`sum(${number}) ${over}`,
      () => twin`count(${text}) ${over}`,
      () => twin`min(${number}) ${over}`,
      () => twin`max(${value(random, members, 1, ['text', 'time'])}) ${over}`,
      () => twin`first_value(${text}) ${over}`,
      () => twin`lag(${number}, ${random.below(3)}) ${unframed}`,
      () => ({
        own: `lead(${number.own}, 1, ${fallback.own}) ${unframed.own}`,
        plain: otherwise(number, fallback, unframed),
      }),
      () => twin`rank() OVER (${part}ORDER BY ${number})`,
      () => twin`dense_rank() OVER (${part}ORDER BY ${text} DESC NULLS LAST)`,
      () => twin`row_number() ${unframed}`,
    ] as const)();
  const from = isPlain ? twin`(${whole}) AS x` : same('t');
  return twin`SELECT id, ${call()}, ${call()} FROM ${from}${where(random, members)}`;
}

/** PostgreSQL wants the very type of the value. */
const otherwise = (value: Twin, fallback: Twin, over: Twin): string =>
  `CASE WHEN lead(1, 1) ${over.plain} IS NULL THEN ${fallback.plain} ELSE lead(${value.plain}, 1) ${over.plain} END`;

function grouped(random: Random): Twin {
  const key = value(random, members, 2, ['text', 'boolean', 'time', 'number']);
  const aggregate = (): Twin => {
    const number = value(random, members, 2, ['number']);
    return random.pick([
      () => same('count(*)'),
      () => twin`sum(${number})`,
      () => twin`min(${value(random, members, 1, ['number', 'text', 'time'])})`,
      () => twin`max(${number})`,
      () => twin`count(DISTINCT ${value(random, members, 1)})`,
      () => twin`count(*) FILTER (WHERE ${condition(random, members, 1)})`,
      () => twin`sum(${number}) FILTER (WHERE ${condition(random, members, 1)})`,
      () => twin`avg(${number})`,
    ] as const)();
  };
  const having = random.below(2) === 0 ? same('') : twin` HAVING ${aggregate()} IS NOT NULL`;
  return twin`SELECT ${key}, ${aggregate()}, ${aggregate()} FROM (${whole}) AS x${where(random, members)} GROUP BY 1${having}`;
}

/** A SELECT around another, by the names of its columns. */
function over(random: Random): Twin {
  const types = ['number', 'text', 'boolean', 'time'] as const;
  const inner = list(types.map((type) => value(random, members, 2, [type])));
  const columns: Columns = { number: ['c1'], text: ['c2'], boolean: ['c3'], time: ['c4'] };
  const outputs = [value(random, columns, 2), value(random, columns, 2)];
  return twin`WITH w (c1, c2, c3, c4) AS (SELECT ${inner} FROM t) SELECT ${list(outputs)} FROM w${where(random, columns)}`;
}

const where = (random: Random, columns: Columns): Twin =>
  random.below(2) === 0 ? same('') : twin` WHERE ${condition(random, columns, 2)}`;

const allTypes = ['number', 'text', 'boolean', 'time'] as const;

function value(random: Random, columns: Columns, depth: number, types: readonly [Type, ...Type[]] = allTypes): Twin {
  const type = random.pick(types);
  switch (type) {
    case 'number':
      return number(random, columns, depth);
    case 'text':
      return text(random, columns, depth);
    case 'time':
      return time(random, columns, depth);
    case 'boolean':
      return condition(random, columns, depth);
  }
}

const quotient = (left: Twin, right: Twin): Twin => ({
  own: `(${left.own} / ${right.own})`,
  plain: `(CAST(${left.plain} AS double precision) / nullif(CAST(${right.plain} AS double precision), 0))`,
});

function number(random: Random, columns: Columns, depth: number): Twin {
  const leaf = () =>
    same(random.pick([...columns.number, ...columns.number, '0', '1', '2.5', '3.25', '(-7)'] as [string, ...string[]]));
  if (depth === 0 || random.below(3) === 0) return leaf();
  const inner = () => number(random, columns, depth - 1);
  return random.pick([
    () => twin`(${inner()} ${random.pick(['+', '-'] as const)} ${inner()})`,
    () => twin`(${inner()} * ${random.pick([2, 3, 10] as const)})`,
    () => quotient(inner(), inner()),
    () => twin`(- ${inner()})`,
    () => twin`CASE WHEN ${condition(random, columns, depth - 1)} THEN ${inner()} ELSE ${inner()} END`,
    () => twin`CASE WHEN ${condition(random, columns, depth - 1)} THEN ${inner()} END`,
    () => twin`coalesce(${inner()}, ${inner()})`,
    () => twin`nullif(${inner()}, ${inner()})`,
    () => twin`greatest(${inner()}, ${inner()})`,
    () => twin`least(${inner()}, ${inner()}, ${inner()})`,
    () => twin`${random.pick(['abs', 'floor', 'ceil', 'sign'] as const)}(${inner()})`,
    () => twin`length(${text(random, columns, depth - 1)})`,
    () => twin`strpos(${text(random, columns, depth - 1)}, ${random.pick(["'a'", "''", "'b'"] as const)})`,
    () =>
      twin`date_part('${random.pick(['year', 'month', 'day', 'hour', 'isodow', 'doy', 'week'] as const)}', ${time(random, columns, depth - 1)})`,
  ] as const)();
}

function text(random: Random, columns: Columns, depth: number): Twin {
  // A literal alone is of no type in PostgreSQL.
  const literals = ["'a'", "'B_'", "''"].map((it) => ({ own: it, plain: `CAST(${it} AS text)` }));
  const leaf = () =>
    random.pick([same(columns.text[0]), ...columns.text.map(same), ...columns.text.map(same), ...literals]);
  if (depth === 0 || random.below(3) === 0) return leaf();
  const inner = () => text(random, columns, depth - 1);
  const cased = (name: string, it: Twin): Twin => ({
    own: `${name}(${it.own})`,
    plain: `(${name}(${it.plain} COLLATE "default") COLLATE "C")`,
  });
  return random.pick([
    () => cased(random.pick(['lower', 'upper'] as const), inner()),
    () => twin`(${inner()} || ${inner()})`,
    () => twin`concat(${inner()}, ${inner()})`,
    () => twin`left(${inner()}, ${random.pick([-1, 0, 1, 2] as const)})`,
    () => twin`right(${inner()}, ${random.pick([-1, 0, 1, 2] as const)})`,
    () => twin`substring(${inner()}, ${random.pick([-1, 0, 1, 2] as const)}, ${random.below(3)})`,
    () => twin`replace(${inner()}, ${random.pick(["'a'", "'_'", "'zz'"] as const)}, 'q')`,
    () => twin`trim(${inner()})`,
    () => twin`split_part(${inner()}, '%', ${random.pick([1, 2, -1] as const)})`,
    () => twin`coalesce(${inner()}, ${inner()})`,
    () => twin`nullif(${inner()}, ${inner()})`,
    () => twin`greatest(${inner()}, ${inner()})`,
    () => twin`CASE WHEN ${condition(random, columns, depth - 1)} THEN ${inner()} ELSE ${inner()} END`,
    () => twin`CAST(${condition(random, columns, depth - 1)} AS text)`,
  ] as const)();
}

function time(random: Random, columns: Columns, depth: number): Twin {
  if (depth === 0 || random.below(3) === 0) return same(random.pick(columns.time));
  const inner = () => time(random, columns, depth - 1);
  const unit = random.pick(['second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'] as const);
  const step = random.pick(['1 day', '1 month', '-1 month', '1 year', '90 minutes', '2 days 3 hours'] as const);
  return random.pick([
    () => twin`date_trunc('${unit}', ${inner()})`,
    () => twin`(${inner()} + INTERVAL '${step}')`,
    () => twin`coalesce(${inner()}, ${inner()})`,
    () => twin`greatest(${inner()}, ${inner()})`,
    () => twin`CASE WHEN ${condition(random, columns, depth - 1)} THEN ${inner()} END`,
  ] as const)();
}

const comparisons = ['=', '<>', '<', '<=', '>', '>='] as const;

function condition(random: Random, columns: Columns, depth: number): Twin {
  if (depth <= 0) return same(random.pick(columns.boolean));
  const inner = () => condition(random, columns, depth - 1);
  const [one, other] = [number(random, columns, depth - 1), number(random, columns, depth - 1)];
  const word = text(random, columns, depth - 1);
  return random.pick([
    () => same(random.pick(columns.boolean)),
    () => twin`(${inner()} ${random.pick(['AND', 'OR'] as const)} ${inner()})`,
    () => twin`(NOT ${inner()})`,
    () => twin`(${inner()} IS ${random.pick(['TRUE', 'NOT TRUE', 'FALSE', 'NOT FALSE'] as const)})`,
    () => twin`(${one} ${random.pick(comparisons)} ${other})`,
    () => twin`(${word} ${random.pick(comparisons)} ${text(random, columns, depth - 1)})`,
    () =>
      twin`(${time(random, columns, depth - 1)} ${random.pick(comparisons)} ${random.pick(["'2024-01-31'", "TIMESTAMP '2024-02-29 12:00:00'"] as const)})`,
    () => twin`(${one} ${random.pick(['BETWEEN', 'NOT BETWEEN'] as const)} ${other} AND ${random.below(9)})`,
    () => twin`(${one} ${random.pick(['IN', 'NOT IN'] as const)} (1, 2.5, ${other}))`,
    () => twin`(${word} ${random.pick(['IN', 'NOT IN'] as const)} ('a', 'B_', ''))`,
    () =>
      twin`(${word} ${random.pick(['LIKE', 'NOT LIKE'] as const)} ${random.pick(["'a%'", "'%\\_%'", "'_'", "'%'", "''"] as const)})`,
    () => twin`(${value(random, columns, depth - 1)} IS ${random.pick(['NULL', 'NOT NULL'] as const)})`,
    () => inQuery(one, twin`SELECT ${number(random, members, 1)} FROM t`, random),
    () => inQuery(word, twin`SELECT ${text(random, members, 1)} FROM t`, random),
    () => twin`(${one} > (SELECT avg(${random.pick(members.number)}) FROM (${whole}) AS v))`,
  ] as const)();
}

/** Nulls among the values are left out, and a null is in nothing that is known. */
function inQuery(operand: Twin, query: Twin, random: Random): Twin {
  const word = random.pick(['IN', 'NOT IN'] as const);
  const values = `SELECT c FROM (${query.plain}) AS v (c) WHERE c IS NOT NULL`;
  return {
    own: `(${operand.own} ${word} (${query.own}))`,
    plain: `(CASE WHEN ${operand.plain} IS NOT NULL THEN ${operand.plain} ${word} (${values}) END)`,
  };
}
