/** Row filters, joins and masks read what is there; a query reads what its user may. Answers worked out by hand. */
import { beforeAll, describe, expect, test } from 'vitest';
import { compileSql } from '../../src/compile-sql.ts';
import { createTable, engineNames, useEngine, type Value } from '../engines.ts';
import { loadModel } from '../load-model.ts';
import { anybody } from './ask.ts';

const model = loadModel(`
cubes:
  - name: orders
    sql_table: orders
    joins: [{ name: people, relationship: many_to_one, sql: "{buyer_id} = {people.id}" }]
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: buyer_id, sql: person_id, type: number, mask: 0 }
      - { name: amount, sql: amount, type: number, mask: -5 }
      - { name: contact, sql: "{people.email}", type: string }
      - { name: contact_loud, sql: "upper({contact})", type: string }
    measures:
      - { name: orders_count, type: count }
      - { name: total, sql: "{CUBE}.amount", type: sum }
    access_policy:
      - groups: [boss, narrow]
      - group: clerk
        row_level: { filters: [{ member: amount, operator: gt, values: [15] }] }
        member_masking: { includes: [amount, buyer_id] }
  - name: people
    sql_table: people
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true, mask: 0 }
      - { name: email, sql: email, type: string, mask: hidden }
      - { name: nick, sql: nick, type: string, mask: nobody }
      - { name: shown_as, sql: email, type: string, mask: { sql: "upper({CUBE}.nick)" } }
      - { name: place, type: geo, latitude: { sql: "{CUBE}.id" }, longitude: { sql: "{CUBE}.id" } }
    segments: [{ name: is_first, sql: "{CUBE}.id = 1" }]
    measures: [{ name: people_count, type: count }]
    access_policy:
      - group: boss
      - group: narrow
        member_level: { includes: [id, nick] }
      - group: clerk
        member_masking: { includes: [id, email, nick, shown_as, place, is_first] }
`);

const byContact = 'SELECT contact_loud, MEASURE(orders_count) FROM orders GROUP BY 1 ORDER BY 1';
const answers: readonly [what: string, group: string, sql: string, rows: Value[][]][] = [
  [
    'all there is',
    'boss',
    byContact,
    [
      ['A@X', 2],
      ['B@X', 1],
      [null, 1],
    ],
  ],
  [
    'what a member reads of another cube by a member of its own has to be granted there',
    'narrow',
    byContact,
    [[null, 4]],
  ],
  [
    'a filter by a masked member, a join by a masked member',
    'clerk',
    'SELECT amount, buyer_id, contact_loud, MEASURE(orders_count), MEASURE(total) FROM orders GROUP BY 1, 2, 3 ORDER BY 3',
    [
      [-5, 0, 'HIDDEN', 2, 60],
      [-5, 0, null, 1, 30],
    ],
  ],
  [
    'a mask that is made of the column of a masked member is what its author wrote',
    'clerk',
    'SELECT id, email, nick, shown_as FROM people ORDER BY 4',
    [
      [0, 'hidden', 'nobody', 'ANN'],
      [0, 'hidden', 'nobody', 'BOB'],
    ],
  ],
  [
    'a place and a segment',
    'boss',
    'SELECT place, is_first FROM people ORDER BY 1',
    [
      ['1,1', true],
      ['2,2', false],
    ],
  ],
  [
    'a place and a segment, masked',
    'clerk',
    'SELECT place, is_first FROM people',
    [
      [null, null],
      [null, null],
    ],
  ],
  ['a masked segment holds for no row', 'clerk', 'SELECT MEASURE(people_count) FROM people WHERE is_first', [[0]]],
];

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);
  beforeAll(async () => {
    await createTable(engine(), 'orders', { id: 'bigint', person_id: 'bigint', amount: 'bigint' }, [
      [1, 1, 10],
      [2, 1, 20],
      [3, 2, 40],
      [4, null, 30],
    ]);
    await createTable(engine(), 'people', { id: 'bigint', email: 'text', nick: 'text' }, [
      [1, 'a@x', 'ann'],
      [2, 'b@x', 'bob'],
    ]);
  });
  test.each(answers)('%s', async (_, group, sql, rows) => {
    const subject = { ...anybody, groups: [group], seesUnprotected: false };
    const compiled = compileSql(sql, model, subject, engine().dialect);
    expect(await engine().run(compiled.sql, compiled.parameters)).toEqual(rows);
  });
});
