/** Kept plans: whatever was asked before, by whomever, a query is compiled as if nothing had been. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CompiledQuery, type CompileOptions, compileSql } from '../src/compile-sql.ts';
import { createCompiler } from '../src/compiler.ts';
import { duckdb } from '../src/dialects/duckdb.ts';
import type { Subject } from '../src/policy/subject.ts';
import { SemanticError } from '../src/semantic-error.ts';
import { load, merchant, platform, shopYaml } from './shop.ts';

const model = load(shopYaml);

/** What comes out, as it can be compared; a refusal as its words. */
function outcome(compile: () => CompiledQuery) {
  try {
    const { sql, parameters, columns, slots, cubes } = compile();
    return { sql, parameters, columns, slots, cubes: [...cubes] };
  } catch (error) {
    if (error instanceof SemanticError) return { code: error.code, message: error.message, hint: error.hint };
    throw error;
  }
}

const text = fc.constantFrom("'web'", "'store'", "'o''x'", "''", 'NULL');
const time = fc.constantFrom("'2024-01-31'", "'2024-02-01 12:00'", "'not a time'");
const condition = fc.oneof(
  text.map((value) => `channel = ${value}`),
  fc.tuple(text, text).map(([one, other]) => `channel IN (${one}, ${other})`),
  fc.tuple(text, text).map(([one, other]) => `channel = ${one} OR category <> ${other}`),
  fc.tuple(time, time).map(([from, to]) => `created_at BETWEEN ${from} AND ${to}`),
  time.map((value) => `created_at >= ${value}`),
  text.map((value) => `coalesce(channel, ${value}) = ${value}`),
  fc.tuple(text, text).map(([one, other]) => `coalesce(channel, ${one}) = ${other}`),
  fc.tuple(text, text).map(([one, other]) => `split_part(channel, ${one}, 1) = ${other}`),
  text.map((value) => `channel LIKE ${value}`),
  fc.constantFrom('true', 'false').map((value) => `(quantity > 1) = ${value}`),
  fc.nat(3).map((value) => `quantity > ${value}`),
  time.map((value) => `created_at < ${value}::timestamp`),
  fc.constant('created_at < now()'),
);
const select = fc.oneof(
  fc.constant('SELECT channel, MEASURE(revenue) FROM sales WHERE @ GROUP BY 1'),
  fc.constant("SELECT date_trunc('month', created_at), MEASURE(orders_count) FROM sales WHERE @ GROUP BY 1 ORDER BY 1"),
  fc.constant('SELECT channel, category FROM sales WHERE @'),
  text.map(
    (value) =>
      `SELECT CASE WHEN channel = ${value} THEN ${value} ELSE 'rest' END, MEASURE(revenue) FROM sales WHERE @ GROUP BY 1`,
  ),
  text.map(
    (value) =>
      `SELECT a.channel FROM (SELECT channel, MEASURE(revenue) AS r FROM sales WHERE @ GROUP BY 1) AS a WHERE a.channel <> ${value}`,
  ),
  fc.constant('WITH a AS (SELECT channel FROM sales WHERE @) SELECT * FROM a UNION ALL SELECT * FROM a'),
);
const query = fc
  .tuple(select, fc.array(condition, { minLength: 1, maxLength: 2 }))
  .map(([sql, all]) => sql.replace('@', () => all.join(' AND ')));
const attribute = fc.oneof(
  fc.constantFrom<number | string | boolean | null>(7, 8, '7', '', null, true, 7.5),
  fc.constantFrom<readonly number[]>([], [7], [7, 8], [8, 7, 7]),
);
const subject: fc.Arbitrary<Subject> = fc.oneof(
  { weight: 4, arbitrary: attribute.map((value) => merchant(7, { userAttributes: { merchant_id: value } })) },
  fc.constantFrom(platform, merchant(7, { groups: [] }), merchant(7, { seesUnprotected: true })),
);
const zone = fc.constantFrom('UTC', 'Europe/Berlin');

describe('kept plans', () => {
  test('a compiler that has seen many queries of many users compiles as one that has seen none', () => {
    const compiler = createCompiler(model, duckdb);
    fc.assert(
      fc.property(query, subject, zone, fc.constantFrom(0, 86_400_000), (sql, as, timezone, nowMs) => {
        const options: CompileOptions = { timezone, now: new Date(1_700_000_000_000 + nowMs) };
        const cold = outcome(() => compileSql(sql, model, as, duckdb, options));
        expect(outcome(() => compiler.compile(sql, as, options))).toEqual(cold);
        expect(outcome(() => compiler.compile(sql, as, options))).toEqual(cold);
      }),
      { numRuns: 1500 },
    );
  });

  test('a pattern stays what it is where a value that was equal to it is another', () => {
    const compiler = createCompiler(model, duckdb);
    for (const value of ['web', 'store']) {
      const sql = `SELECT channel FROM sales WHERE channel LIKE 'w\\eb' AND channel <> '${value}'`;
      expect(compiler.compile(sql, platform)).toEqual(compileSql(sql, model, platform, duckdb));
    }
  });

  test('one plan serves other values and other users', () => {
    let compiled = 0;
    const counting = {
      ...duckdb,
      selected: (...args: Parameters<typeof duckdb.selected>) => {
        compiled += 1;
        return duckdb.selected(...args);
      },
    };
    const compiler = createCompiler(model, counting);
    const ask = (value: string, as: Subject) =>
      compiler.compile(`SELECT channel FROM sales WHERE channel = '${value}'`, as).parameters;
    const [web, store, other] = [ask('web', merchant(7)), ask('store', merchant(7)), ask('web', merchant(8))];
    expect(compiled).toBe(1);
    expect([web, store, other].map((values) => values.toSorted().map(String))).toEqual([
      ['7', 'web'],
      ['7', 'store'],
      ['8', 'web'],
    ]);
    ask('web', platform);
    expect(compiled).toBe(2);
  });
});
