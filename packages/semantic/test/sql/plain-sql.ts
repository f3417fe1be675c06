/** Random SQL over two tables `a (channel, category, n)` and `b (channel, city, s)`, which PostgreSQL takes as it is written. */
import type { Random } from '../fuzz/random.ts';

interface Columns {
  readonly texts: readonly [string, ...string[]];
  readonly numbers: readonly [string, ...string[]];
}

/** A whole statement. Its rows are to be compared without their order. */
export function randomPlainSql(random: Random): string {
  switch (random.below(6)) {
    case 0:
      return select(random, ['text', 'number', 'boolean']);
    case 1: {
      const types = ['text', 'number'] as const;
      const operators = ['UNION ALL', 'UNION', 'INTERSECT', 'EXCEPT'] as const;
      const tail = random.below(2) === 0 ? '' : ` ${random.pick(operators)} ${select(random, types)}`;
      return `${select(random, types)} ${random.pick(operators)} ${select(random, types)}${tail}`;
    }
    case 2:
      return grouped(random);
    case 3:
      return windows(random);
    case 4: {
      const inner = `(SELECT p AS channel, q AS n FROM (${select(random, ['text', 'number'])}) AS i (p, q)) AS x`;
      const columns: Columns = { texts: ['x.channel', 'channel'], numbers: ['x.n', 'n'] };
      return `SELECT ${text(random, columns, 2)}, ${number(random, columns, 2)} FROM ${inner} WHERE ${condition(random, columns, 2)}`;
    }
    default:
      return `WITH a AS (SELECT channel, category, n FROM a WHERE n > ${random.below(2)}) ${grouped(random)}`;
  }
}

type Type = 'text' | 'number' | 'boolean';

function select(random: Random, types: readonly Type[]): string {
  const { from, columns } = tables(random);
  const outputs = types.map((type) =>
    type === 'text'
      ? text(random, columns, 2)
      : type === 'number'
        ? number(random, columns, 2)
        : condition(random, columns, 2),
  );
  const where = random.below(3) === 0 ? '' : ` WHERE ${condition(random, columns, 3)}`;
  return `SELECT ${random.below(3) === 0 ? 'DISTINCT ' : ''}${outputs.join(', ')} FROM ${from}${where}`;
}

function grouped(random: Random): string {
  const { from, columns } = tables(random);
  const key = random.below(2) === 0 ? text(random, columns, 1) : number(random, columns, 1);
  const where = random.below(2) === 0 ? '' : ` WHERE ${condition(random, columns, 2)}`;
  const aggregate = (): string => {
    const value = number(random, columns, 1);
    const of = random.pick(['SUM', 'MIN', 'MAX', 'COUNT'] as const);
    const filter = random.below(4) === 0 ? ` FILTER (WHERE ${condition(random, columns, 1)})` : '';
    return random.pick([
      `${of}(${value})${filter}`,
      `COUNT(*)${filter}`,
      `COUNT(DISTINCT ${text(random, columns, 1)})`,
    ] as const);
  };
  const having = random.below(2) === 0 ? '' : ` HAVING ${aggregate()} > ${random.below(3)}`;
  const outputs = `${aggregate()}, ${aggregate()} + 1, COUNT(*) > 1`;
  if (random.below(4) === 0) return `SELECT ${outputs} FROM ${from}${where}${having}`;
  return `SELECT ${key} AS k, ${outputs} FROM ${from}${where} GROUP BY ${random.pick(['1', 'k'] as const)}${having}`;
}

function windows(random: Random): string {
  const { from, columns } = tables(random);
  const all = [...columns.texts, ...columns.numbers].join(', ');
  const [value, part] = [number(random, columns, 1), text(random, columns, 1)];
  const over = `OVER (PARTITION BY ${part} ORDER BY ${all})`;
  const frame = random.pick([
    'ROWS BETWEEN 1 PRECEDING AND CURRENT ROW',
    'ROWS UNBOUNDED PRECEDING',
    'ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING',
  ] as const);
  const outputs = [
    `row_number() ${over}`,
    `rank() OVER (ORDER BY ${value} DESC)`,
    `SUM(${value}) OVER (PARTITION BY ${part})`,
    `SUM(${value}) OVER (ORDER BY ${all} ${frame})`,
    `lag(${value}, 1, 0) ${over}`,
    `first_value(${value}) ${over} + 1`,
    `COUNT(*) OVER (ORDER BY ${value})`,
  ] as const;
  return `SELECT ${part}, ${random.pick(outputs)}, ${random.pick(outputs)} FROM ${from} WHERE ${condition(random, columns, 1)}`;
}

function tables(random: Random): { readonly from: string; readonly columns: Columns } {
  const one: Columns = { texts: ['x.channel', 'x.category'], numbers: ['x.n'] };
  const two: Columns = { texts: ['x.channel', 'x.category', 'y.channel', 'y.city'], numbers: ['x.n', 'y.s'] };
  const join = random.pick(['JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN'] as const);
  const joined = `a AS x ${join} b AS y ON x.channel = y.channel`;
  switch (random.below(7)) {
    case 0:
    case 1:
      return { from: 'a AS x', columns: one };
    case 2:
      return { from: 'a AS x, b AS y', columns: two };
    case 3:
      return { from: `a AS x JOIN b AS y ON x.n < y.s OR upper(x.category) = y.city`, columns: two };
    case 4:
      return { from: `a AS x LEFT JOIN b AS y ON y.channel = x.channel AND y.s > ${random.below(3)}`, columns: two };
    case 5:
      return {
        from: `${joined} ${random.pick(['LEFT JOIN', 'FULL JOIN', 'JOIN'] as const)} a AS z ON z.category = x.category AND z.n = x.n`,
        columns: { texts: [...two.texts, 'z.category'], numbers: [...two.numbers, 'z.n'] },
      };
    default:
      return { from: joined, columns: two };
  }
}

function text(random: Random, columns: Columns, depth: number): string {
  if (depth === 0 || random.below(2) === 0) return random.pick(columns.texts);
  const inner = () => text(random, columns, depth - 1);
  return random.pick([
    `upper(${inner()})`,
    `coalesce(${inner()}, ${inner()}, 'none')`,
    `${inner()} || 'x'`,
    `CASE WHEN ${condition(random, columns, depth - 1)} THEN ${inner()} ELSE 'other' END`,
    `nullif(${inner()}, 'web')`,
  ] as const);
}

function number(random: Random, columns: Columns, depth: number): string {
  if (depth === 0 || random.below(2) === 0) return random.pick(['2', ...columns.numbers]);
  const inner = () => number(random, columns, depth - 1);
  return random.pick([
    `(${inner()} + ${inner()})`,
    `(${inner()} * ${inner()})`,
    `(- ${inner()})`,
    `coalesce(${inner()}, 0)`,
    `greatest(${inner()}, ${inner()})`,
    `length(${text(random, columns, depth - 1)})`,
    `CASE WHEN ${condition(random, columns, depth - 1)} THEN ${inner()} END`,
    '(SELECT MAX(n) FROM a)',
  ] as const);
}

function condition(random: Random, columns: Columns, depth: number): string {
  const [one, other] = [number(random, columns, Math.max(0, depth - 1)), number(random, columns, 0)];
  const word = text(random, columns, Math.max(0, depth - 1));
  const simple = random.pick([
    `${one} ${random.pick(['<', '>=', '=', '<>'] as const)} ${other}`,
    `${word} = ${random.pick(columns.texts)}`,
    `${word} IS NOT NULL`,
    `${word} IN ('web', 'Hats')`,
    `${word} LIKE '%e%'`,
    `${one} BETWEEN 1 AND ${other}`,
    `${one} IN (SELECT s FROM b WHERE s IS NOT NULL)`,
    `${word} NOT IN (SELECT channel FROM b WHERE channel IS NOT NULL)`,
    `EXISTS (SELECT 1 FROM b WHERE s > ${random.below(6)})`,
    `${one} > (SELECT MIN(s) FROM b)`,
    `(${word} IS NULL) IS NOT TRUE`,
  ] as const);
  if (depth === 0) return simple;
  const inner = () => condition(random, columns, depth - 1);
  return random.pick([simple, `(${simple} AND ${inner()})`, `(${simple} OR ${inner()})`, `NOT (${inner()})`] as const);
}
