/** Cases 32 to 36: whose rows, which members, and masks. The property that stands over all is in fuzz/policies. */
import { createTable, type Value } from '../engines.ts';
import { loadModel } from '../load-model.ts';
import { type Case, runCases } from './run-cases.ts';
import { boss, stranger, tenant } from './world.ts';

const overlapping = loadModel(`
cubes:
  - name: t
    sql_table: t
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: a, sql: a, type: string }
      - { name: b, sql: b, type: string }
      - { name: c, sql: c, type: string }
    access_policy:
      - group: tenant
        row_level: { filters: [{ member: id, operator: lt, values: [500] }] }
        member_level: { includes: [a, b] }
      - group: tenant
        row_level: { filters: [{ member: id, operator: gte, values: [500] }] }
        member_level: { includes: [b, c] }
`);
const both = loadModel(`
cubes:
  - name: t
    sql_table: t
    joins: [{ name: u, relationship: many_to_one, sql: "{CUBE}.id = {u.id}" }]
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: a, sql: a, type: string }
      - { name: b, sql: b, type: string }
    measures: [{ name: rows_count, type: count }]
    access_policy:
      - group: tenant
        row_level: { filters: [{ member: id, operator: gt, values: [2] }] }
        member_masking: { includes: [b] }
  - { name: u, sql_table: u, dimensions: [{ name: id, sql: id, type: number, primary_key: true }, { name: word, sql: word, type: string }], access_policy: [{ group: tenant, row_level: { filters: [{ member: word, operator: notEquals, values: [hidden] }] } }] }
views:
  - name: v
    cubes: [{ join_path: t, includes: "*" }, { join_path: t.u, includes: [word] }]
    access_policy:
      - group: tenant
        row_level: { filters: [{ member: word, operator: notSet }] }
        member_level: { excludes: [id] }
`);
const masked = loadModel(`
cubes:
  - name: t
    sql_table: t
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: a, sql: a, type: string, mask: hidden }
      - { name: b, sql: b, type: string }
      - { name: loud, sql: "UPPER({b})", type: string }
    measures:
      - { name: rows_count, type: count }
      - { name: ids, type: sum, sql: "{id}" }
      - { name: words, type: count_distinct, sql: "{b}" }
    access_policy: [{ group: tenant, member_masking: { includes: [a, b, ids] } }]
`);

const refusedAs = (member: string, of: string): Pick<Case, 'refused'> => ({
  refused: ['MEMBER_NOT_FOUND', new RegExp(`^No member "${member}" in ${of}\\.$`)],
});
const overlap = (columns: string, rows: readonly (readonly Value[])[]): Case => ({
  name: `34 (${columns})`,
  sql: `SELECT ${columns} FROM t ORDER BY ${columns}`,
  model: overlapping,
  rows,
});
const hidden = (name: string, sql: string, rows: readonly (readonly Value[])[]): Case => ({
  name: `36 ${name}`,
  sql,
  model: masked,
  rows,
});

runCases(
  'policies',
  [
    {
      name: '32 the filter of a cube that is only filtered by',
      sql: "SELECT MEASURE(amount) FROM sales WHERE category = 'shoes'",
      rows: [[10]],
    },
    {
      name: '32 for who sees all rows',
      sql: "SELECT MEASURE(amount) FROM sales WHERE category = 'shoes'",
      as: boss,
      rows: [[1030]],
    },
    {
      name: '32 a hidden row is as if it did not exist: its order stays, with nothing beside it',
      sql: 'SELECT id, category FROM sales WHERE id = 2',
      rows: [[2, null]],
    },
    { name: '33 no attribute: no rows', sql: 'SELECT channel FROM sales', as: stranger, rows: [] },
    {
      name: '33 nor figures',
      sql: 'SELECT MEASURE(amount), MEASURE(orders_count) FROM sales',
      as: stranger,
      rows: [[null, 0]],
    },
    {
      name: '33 an attribute of another type',
      sql: 'SELECT MEASURE(orders_count) FROM sales',
      as: { ...tenant, userAttributes: { owner: 'one' } },
      rows: [[0]],
    },
    {
      name: '33 a list with an empty item',
      sql: 'SELECT MEASURE(orders_count) FROM sales',
      as: { ...tenant, userAttributes: { owner: ['1', ''] } },
      rows: [[0]],
    },
    {
      name: '33 no group: no such view',
      sql: 'SELECT channel FROM sales',
      as: { ...tenant, groups: [] },
      refused: ['RELATION_NOT_FOUND', /^No view or cube "sales"/],
    },
    overlap('a, b', [
      ['a1', 'b1'],
      ['a2', 'b2'],
    ]),
    overlap('b, c', [
      ['b3', 'c3'],
      ['b6', 'c6'],
      [null, null],
    ]),
    overlap('b', [['b1'], ['b2'], ['b3'], ['b6'], [null]]),
    overlap('a, b, c', []),
    { name: '34 a member of no entry', sql: 'SELECT id FROM t', model: overlapping, ...refusedAs('id', 't') },
    {
      name: '35 the filters of both act: that of the cube before the join, that of the view after it',
      sql: 'SELECT a, word FROM v ORDER BY a',
      model: both,
      rows: [
        ['a3', null],
        [null, null],
      ],
    },
    {
      name: '35 the cube masks',
      sql: 'SELECT a, b, MEASURE(rows_count) FROM v GROUP BY 1, 2 ORDER BY 1',
      model: both,
      rows: [
        ['a3', null, 1],
        [null, null, 1],
      ],
    },
    { name: '35 the view hides', sql: 'SELECT id FROM v', model: both, ...refusedAs('id', 'v') },
    hidden('selected', 'SELECT id, a, b, loud FROM t WHERE id < 3 ORDER BY id', [
      [1, 'hidden', null, null],
      [2, 'hidden', null, null],
    ]),
    hidden('in WHERE', "SELECT id FROM t WHERE a = 'a1' OR b = 'b1' OR loud = 'B1'", []),
    hidden('in WHERE, by its mask', "SELECT id FROM t WHERE a = 'hidden' AND b IS NULL AND id < 3 ORDER BY id", [
      [1],
      [2],
    ]),
    hidden('in ORDER BY', 'SELECT id FROM t ORDER BY b DESC, a DESC, id DESC LIMIT 1', [[1000]]),
    hidden('in GROUP BY', 'SELECT a, b, MEASURE(rows_count) FROM t GROUP BY 1, 2', [['hidden', null, 5]]),
    hidden('in GROUP BY alone', 'SELECT MEASURE(rows_count) FROM t GROUP BY b', [[5]]),
    hidden('in CASE', "SELECT CASE WHEN b = 'b1' THEN 'one' ELSE 'other' END, MEASURE(rows_count) FROM t GROUP BY 1", [
      ['other', 5],
    ]),
    hidden('in a subquery', "SELECT COUNT(*) FROM (SELECT id, b FROM t) AS x WHERE x.b >= 'b'", [[0]]),
    hidden('as a list', 'SELECT id FROM t WHERE b IN (SELECT b FROM t)', []),
    hidden('in a window', 'SELECT id, RANK() OVER (ORDER BY b) FROM t WHERE id < 3 ORDER BY id', [
      [1, 1],
      [2, 1],
    ]),
    hidden(
      'a measure, and one made of a masked member',
      'SELECT MEASURE(ids), MEASURE(words), MEASURE(rows_count) FROM t',
      [[null, 0, 5]],
    ),
    hidden('a measure in HAVING', 'SELECT id FROM t GROUP BY 1 HAVING MEASURE(ids) > 0', []),
  ],
  async (engine) => {
    await createTable(engine, 't', { id: 'bigint', a: 'text', b: 'text', c: 'text' }, [
      [1, 'a1', 'b1', 'c1'],
      [2, 'a2', 'b2', 'c2'],
      [500, 'a3', 'b3', 'c3'],
      [1000, null, null, null],
      [600, 'a6', 'b6', 'c6'],
    ]);
    await createTable(engine, 'u', { id: 'bigint', word: 'text' }, [
      [1, 'x'],
      [500, 'hidden'],
      [600, 'shown'],
    ]);
  },
);
