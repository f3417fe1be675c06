/** Inside a sub-query rows and values are hidden as they are outside. Answers worked out by hand. */
import { beforeAll, describe, expect, test } from 'vitest';
import { compileSql } from '../../src/compile-sql.ts';
import { createTable, engineNames, useEngine, type Value } from '../engines.ts';
import { loadModel } from '../load-model.ts';
import { anybody } from './ask.ts';

const model = loadModel(`
cubes:
  - name: teams
    sql_table: teams
    joins: [{ name: people, relationship: one_to_many, sql: "{CUBE}.id = {people}.team_id" }]
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true, mask: 0 }
      - { name: name, sql: name, type: string }
      - { name: pay_of_all, sql: "{people.pay}", type: number, sub_query: true }
      - { name: earned_of_all, sql: "{people.earned}", type: number, sub_query: true }
    access_policy:
      - groups: [boss, half, clerk]
      - group: blind
        member_masking: { includes: [id] }
  - name: people
    sql_table: people
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: salary, sql: salary, type: number, mask: 1 }
    measures:
      - { name: pay, sql: "{CUBE}.salary", type: sum, mask: -1 }
      - { name: earned, sql: "{salary}", type: sum }
    access_policy:
      - groups: [boss, blind]
      - group: half
        row_level: { filters: [{ member: id, operator: notEquals, values: [2] }] }
      - group: clerk
        member_masking: { includes: [salary, pay] }
`);

const sql = 'SELECT name, pay_of_all, earned_of_all FROM teams ORDER BY 1';
const [north, south] = ['north', 'south'];
const answers: readonly [what: string, group: string, sql: string, rows: Value[][]][] = [
  [
    'in full',
    'boss',
    sql,
    [
      [north, 30, 30],
      [south, 40, 40],
    ],
  ],
  [
    'some rows',
    'half',
    sql,
    [
      [north, 10, 10],
      [south, 40, 40],
    ],
  ],
  [
    'masked: a figure, and the values that a figure is made of',
    'clerk',
    sql,
    [
      [north, -1, 2],
      [south, -1, 1],
    ],
  ],
  [
    'joined by what is there where the key is masked',
    'blind',
    'SELECT id, name, pay_of_all, earned_of_all FROM teams ORDER BY 2',
    [
      [0, north, 30, 30],
      [0, south, 40, 40],
    ],
  ],
];

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);
  beforeAll(async () => {
    await createTable(engine(), 'teams', { id: 'bigint', name: 'text' }, [
      [1, north],
      [2, south],
    ]);
    await createTable(engine(), 'people', { id: 'bigint', team_id: 'bigint', salary: 'bigint' }, [
      [1, 1, 10],
      [2, 1, 20],
      [3, 2, 40],
    ]);
  });
  test.each(answers)('%s', async (_, group, text, rows) => {
    const subject = { ...anybody, groups: [group], seesUnprotected: false };
    const compiled = compileSql(text, model, subject, engine().dialect);
    expect(await engine().run(compiled.sql, compiled.parameters)).toEqual(rows);
  });
});
