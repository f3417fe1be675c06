/** What is masked is its mask wherever a view leads to it: in sub-queries, from another root, by other ways and names; and choices. */
import { beforeAll, describe, expect, test } from 'vitest';
import { compileSql } from '../../src/compile-sql.ts';
import type { Subject } from '../../src/policy/subject.ts';
import { createTable, engineNames, useEngine, type Value } from '../engines.ts';
import { loadModel } from '../load-model.ts';

const model = loadModel(`
cubes:
  - name: teams
    sql_table: teams
    joins: [{ name: people, relationship: one_to_many, sql: "{CUBE}.id = {people}.team_id" }]
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: pay_of_all, sql: "{people.pay}", type: number, sub_query: true }
    measures:
      - { name: teams_count, type: count }
      - { name: pay_each, sql: "{people.pay} / {teams_count}", type: number }
  - name: people
    sql_table: people
    dimensions: [{ name: id, sql: id, type: number, primary_key: true }]
    measures: [{ name: pay, type: sum, sql: pay, mask: -1 }]
  - name: rooms
    sql_table: rooms
    joins: [{ name: people, relationship: many_to_one, sql: "{CUBE}.person_id = {people.id}" }]
    dimensions: [{ name: id, sql: id, type: number, primary_key: true }]
    measures:
      - { name: rooms_count, type: count }
      - { name: pay_per_room, sql: "{people.pay} / {rooms_count}", type: number }
views:
  - name: office
    cubes:
      - { join_path: teams, includes: "*", excludes: [id] }
      - { join_path: teams.people, includes: [pay] }
      - { join_path: rooms, includes: [rooms_count, pay_per_room] }
    access_policy:
      - group: boss
      - group: clerk
        member_masking: { includes: [pay] }
`);
/** From `e` two ways lead to `d`, none of which the view names. */
const diamond = loadModel(`
cubes:
  - name: a
    sql_table: a
    joins: [{ name: d, relationship: many_to_one, sql: "{CUBE}.d = {d.id}" }]
    dimensions: [{ name: id, sql: id, type: number, primary_key: true }]
    measures: [{ name: a_count, type: count }]
  - name: e
    sql_table: a
    joins:
      - { name: b, relationship: many_to_one, sql: "{CUBE}.d = {b.id}" }
      - { name: c, relationship: many_to_one, sql: "{CUBE}.d = {c.id}" }
    dimensions: [{ name: id, sql: id, type: number, primary_key: true }]
    measures: [{ name: e_count, type: count }]
  - name: b
    sql_table: d
    joins: [{ name: d, relationship: many_to_one, sql: "{CUBE}.id = {d.id}" }]
    dimensions: [{ name: id, sql: id, type: number, primary_key: true }]
  - name: c
    sql_table: d
    joins: [{ name: d, relationship: many_to_one, sql: "{CUBE}.id = {d.id}" }]
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: far, sql: "{d.word}", type: string }
  - name: d
    sql_table: d
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: word, sql: word, type: string, mask: hidden }
views:
  - name: ways
    cubes:
      - { join_path: a, includes: [a_count] }
      - { join_path: a.d, includes: [word] }
      - { join_path: e, includes: [e_count] }
      - { join_path: e.c, includes: [far] }
    access_policy: [{ group: boss }, { group: clerk, member_masking: { includes: [word] } }]
`);
/** One column under two names, each masked by an entry of its own. */
const named = loadModel(`
cubes:
  - name: words
    sql_table: words
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: word, sql: word, type: string, mask: hidden }
      - { name: loud, sql: "upper({word})", type: string }
views:
  - name: names
    cubes: [{ join_path: words, includes: [id, word, { name: word, alias: term }, loud] }]
    access_policy:
      - group: clerk
        row_level: { filters: [{ member: id, operator: equals, values: [1] }] }
        member_masking: { includes: [word] }
      - group: clerk
        row_level: { filters: [{ member: id, operator: equals, values: [2] }] }
        member_masking: { includes: [term] }
`);
/** A choice that one entry shows, and another masks, of other rows. */
const chosen = loadModel(`
cubes:
  - name: sales
    sql_table: sales
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: currency, type: switch, values: [EUR, USD] }
    measures:
      - { name: amount, sql: "{CUBE}.amount", type: sum }
      - { name: twice, sql: "{CUBE}.amount * 2", type: sum }
      - name: shown
        multi_stage: true
        type: number
        case: { switch: "{CUBE.currency}", when: [{ value: EUR, sql: "{twice}" }], else: { sql: "{amount}" } }
    access_policy:
      - { group: clerk, row_level: { filters: [{ member: id, operator: equals, values: [1] }] } }
      - group: clerk
        row_level: { filters: [{ member: id, operator: gt, values: [1] }] }
        member_masking: { includes: [currency] }
      - { group: boss }
`);
const user = (group: string): Subject => ({
  groups: [group],
  userAttributes: {},
  securityContext: {},
  embedTenantName: null,
  isEmbedTenantScope: false,
  seesUnprotected: false,
});

const answers: readonly [what: string, sql: string, boss: Value[][], clerk: Value[][]][] = [
  ['by itself', 'SELECT MEASURE(pay) FROM office', [[70]], [[-1]]],
  [
    'in a sub-query',
    'SELECT pay_of_all, MEASURE(teams_count) FROM office GROUP BY 1 ORDER BY 1',
    [
      [30, 1],
      [40, 1],
    ],
    [[-1, 2]],
  ],
  ['in a sub-query that is filtered by', 'SELECT MEASURE(teams_count) FROM office WHERE pay_of_all = 30', [[1]], [[0]]],
  ['in another measure', 'SELECT MEASURE(pay_each) FROM office', [[35]], [[-0.5]]],
  ['from another root', 'SELECT MEASURE(pay_per_room) FROM office', [[17.5]], [[-0.25]]],
];

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);
  beforeAll(async () => {
    await createTable(engine(), 'teams', { id: 'bigint' }, [[1], [2]]);
    await createTable(engine(), 'people', { id: 'bigint', team_id: 'bigint', pay: 'bigint' }, [
      [1, 1, 10],
      [2, 1, 20],
      [3, 2, 40],
    ]);
    const rooms = [
      [1, 1],
      [2, 2],
      [3, 3],
      [4, null],
    ];
    await createTable(engine(), 'rooms', { id: 'bigint', person_id: 'bigint' }, rooms);
  });

  test('by a way that the view does not name', async () => {
    await createTable(engine(), 'a', { id: 'bigint', d: 'bigint' }, [[1, 1]]);
    await createTable(engine(), 'd', { id: 'bigint', word: 'text' }, [[1, 'secret']]);
    const ask = async (group: string) => {
      const sql = 'SELECT far, MEASURE(e_count) FROM ways GROUP BY 1';
      const compiled = compileSql(sql, diamond, user(group), engine().dialect);
      return engine().run(compiled.sql, compiled.parameters);
    };
    expect([await ask('boss'), await ask('clerk')]).toEqual([[['secret', 1]], [['hidden', 1]]]);
  });

  test('by another name', async () => {
    await createTable(engine(), 'words', { id: 'bigint', word: 'text' }, [
      [1, 'one'],
      [2, 'two'],
    ]);
    const ask = async (member: string) => {
      const sql = `SELECT id, ${member} FROM names ORDER BY 1`;
      const compiled = compileSql(sql, named, user('clerk'), engine().dialect);
      return engine().run(compiled.sql, compiled.parameters);
    };
    const hidden = [
      [1, 'hidden'],
      [2, 'hidden'],
    ];
    expect([await ask('word'), await ask('term')]).toEqual([hidden, hidden]);
    expect(await ask('loud')).toEqual([
      [1, 'HIDDEN'],
      [2, 'HIDDEN'],
    ]);
  });

  test('of a choice, which is no value of a row', async () => {
    const rows = [
      [1, 2],
      [2, 20],
      [3, 200],
    ];
    await createTable(engine(), 'sales', { id: 'bigint', amount: 'bigint' }, rows);
    const ask = async (group: string) => {
      const sql = 'SELECT currency, MEASURE(amount), MEASURE(shown) FROM sales GROUP BY 1 ORDER BY 1';
      const compiled = compileSql(sql, chosen, user(group), engine().dialect);
      return engine().run(compiled.sql, compiled.parameters);
    };
    // Masked in a part of the rows it would stand twice beside each of them.
    expect(await ask('clerk')).toEqual([[null, 222, 222]]);
    expect(await ask('boss')).toEqual([
      ['EUR', 222, 444],
      ['USD', 222, 222],
    ]);
  });

  test.each(answers)('%s', async (_, sql, boss, clerk) => {
    const ask = async (group: string) => {
      const compiled = compileSql(sql, model, user(group), engine().dialect);
      return engine().run(compiled.sql, compiled.parameters);
    };
    expect([await ask('boss'), await ask('clerk')]).toEqual([boss, clerk]);
  });
});
