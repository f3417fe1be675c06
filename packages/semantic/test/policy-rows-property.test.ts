/**
 * Arbitrary policies, users and rows, all the way to DuckDB: the rows that come back, with masks in them, are those that the rules written
 * out a second time leave. A masked value is null here; whatever reads it reads null.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compileSql } from '../src/compile-sql.ts';
import { duckdb } from '../src/dialects/duckdb.ts';
import { rightsOf } from '../src/policy/rights.ts';
import { SemanticError } from '../src/semantic-error.ts';
import { anyPolicy, anyRows, anySubject, modelOf, randomCube, view } from './policy-model.ts';
import { type Cell, cubeOwner, type Permitted, type PlainRow, permitted } from './policy-reference.ts';
import { openEngine } from './shop.ts';

const dimensions = ['s', 'n', 'time', 'b', 'loud', 'louder', 'many'] as const;
const measures = ['total', 'other', 'ratio'] as const;
const conditions = [
  { sql: 's IS NULL', holds: (it: Values) => it('s') === null },
  { sql: "loud = 'A'", holds: (it: Values) => it('loud') === 'A' },
  { sql: 'n > 1', holds: (it: Values) => Number(it('n') ?? 0) > 1 },
  { sql: 'many', holds: (it: Values) => it('many') === true },
  { sql: "CASE WHEN s = 'a' THEN true ELSE false END", holds: (it: Values) => it('s') === 'a' },
  { sql: 'coalesce(louder, loud, s) IS NULL', holds: (it: Values) => (it('louder') ?? it('loud') ?? it('s')) === null },
] as const;

type Values = (name: string) => Cell;

/** The value of a member in a row, with masks, of the member itself or of what it reads. */
const valuesOf =
  ({ row, masked }: Permitted['rows'][number]): Values =>
  (name) => {
    if (masked.has(name)) return null;
    const of = valuesOf({ row, masked });
    const text = (from: string) => {
      const value = of(from);
      return value === null ? null : String(value);
    };
    switch (name) {
      case 'loud':
        return text('s')?.toUpperCase() ?? null;
      case 'louder': {
        const loud = text('loud');
        return loud === null ? null : `${loud}!`;
      }
      case 'many': {
        const n = of('n');
        return n === null ? null : Number(n) > 1;
      }
      default:
        return row[name] ?? null;
    }
  };

const sumOf = (values: readonly Cell[]): number | null => {
  const numbers = values.flatMap((value) => (typeof value === 'number' ? [value] : []));
  return numbers.length === 0 ? null : numbers.reduce((one, other) => one + other);
};

function measure(name: string, left: readonly Values[], hidden: ReadonlySet<string>): number | null {
  if (hidden.has(name)) return null;
  if (name === 'total') return sumOf(left.map((it) => it('n')));
  if (name === 'other') return sumOf(left.map((it) => it('x')));
  const [total, other] = [measure('total', left, hidden), measure('other', left, hidden)];
  return total === null || other === null || other === 0 ? null : total / other;
}

const literal = (value: Cell) =>
  value === null ? 'NULL' : typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);

/** As DuckDB gives JSON: decimals as texts. */
const plain = (cell: unknown): unknown =>
  typeof cell === 'string' && /^-?\d+(\.\d+)?$/.test(cell) ? Number(cell) : cell;
const lines = (rows: readonly (readonly unknown[])[]) => rows.map((row) => JSON.stringify(row.map(plain))).sort();

test('rows and masks are those of the rules', { timeout: 120_000 }, async () => {
  const connection = await openEngine();
  const seen = { rows: 0, masked: 0, figures: 0, none: 0 };
  const query = fc.record({
    through: fc.constantFrom('t', 'v'),
    keys: fc.subarray([...dimensions], { minLength: 1, maxLength: 3 }),
    figures: fc.subarray([...measures]),
    where: fc.option(fc.constantFrom(...conditions)),
  });
  await fc.assert(
    fc.asyncProperty(
      anyPolicy,
      anySubject,
      anyRows,
      query,
      async (policy, subject, rows, { through, keys, figures, where }) => {
        // The policy stands on the cube, or on a view of all its members, above a cube without one.
        const isView = through === 'v';
        const bare = randomCube(isView ? null : policy);
        const names = Object.fromEntries([...bare.members.keys()].map((name) => [name, `t.${name}`]));
        const model = modelOf([bare], isView ? [view('v', [bare], names, policy)] : []);
        const isGrouped = figures.length > 0;
        const columns = [...keys, ...figures.map((name) => `MEASURE(${name})`)];
        const sql = `SELECT ${columns.join(', ')} FROM ${through}${where === null ? '' : ` WHERE ${where.sql}`}${isGrouped ? ` GROUP BY ${keys.map((_, at) => at + 1).join(', ')}` : ''}`;
        const taken = new Set<string>([
          ...keys,
          ...figures,
          ...(where?.sql.match(/\b(s|n|loud|louder|many)\b/g) ?? []),
        ]);
        const relation = model.relations.get(through);
        const visible = relation === undefined ? new Map() : rightsOf(model, subject).visible(relation);
        const data = rows.map((row, at): PlainRow => ({ ...row, id: at + 1, x: at + 1 }));

        await connection.run(
          'CREATE OR REPLACE TABLE t (id BIGINT, s VARCHAR, n DOUBLE, time TIMESTAMP, b BOOLEAN, x BIGINT)',
        );
        for (const row of data) {
          await connection.run(
            `INSERT INTO t VALUES (${[row.id, row['s'], row['n'], row['time'], row['b'], row.x].map((it) => literal(it ?? null)).join(', ')})`,
          );
        }
        const ask = async () => {
          const { sql: text, parameters } = compileSql(sql, model, subject, duckdb);
          return lines((await connection.runAndReadAll(text, [...parameters])).getRowsJson());
        };
        if ([...taken].some((name) => !visible.has(name))) {
          await expect(ask()).rejects.toThrow(SemanticError);
          return;
        }
        const owner = { ...cubeOwner(modelOf([randomCube(policy)]), 't') };
        const { rows: permittedRows, maskedMeasures } = permitted(owner, subject, taken, data);
        const left = permittedRows.map(valuesOf).filter((it) => where === null || where.holds(it));
        const keyOf = (it: Values) => keys.map((name) => it(name));
        const groups = new Map<string, Values[]>();
        for (const it of left)
          groups.set(JSON.stringify(keyOf(it)), [...(groups.get(JSON.stringify(keyOf(it))) ?? []), it]);
        const expected = isGrouped
          ? [...groups].map(([key, members]) => [
              ...JSON.parse(key),
              ...figures.map((name) => measure(name, members, maskedMeasures)),
            ])
          : left.map(keyOf);
        expect(await ask(), sql).toEqual(lines(expected));
        seen.rows += left.length;
        seen.masked += permittedRows.filter(({ masked }) => masked.size > 0).length;
        if (maskedMeasures.size > 0) seen.figures += 1;
        if (data.length > 0 && permittedRows.length === 0) seen.none += 1;
      },
    ),
    { numRuns: 400 },
  );
  for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(5);
});
