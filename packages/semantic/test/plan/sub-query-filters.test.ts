/** Filters that reach into a sub-query: those on what reads that very sub-query do not. */
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
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: size, sql: "{people.people_count}", type: number, sub_query: true, propagate_filters_to_sub_query: true }
      - { name: twice, sql: "{size} * 2", type: number }
      - { name: name, sql: name, type: string }
    segments: [{ name: large, sql: "{twice} > 2" }]
  - name: people
    sql_table: people
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: role, sql: role, type: string }
    measures: [{ name: people_count, type: count }]
views:
  - name: all_teams
    cubes:
      - { join_path: teams, includes: "*" }
      - { join_path: teams.people, includes: [role] }
`);

const answers: readonly [what: string, where: string, rows: Value[][]][] = [
  [
    'nothing',
    'true',
    [
      ['a', 3],
      ['b', 1],
    ],
  ],
  [
    'a condition on the other cube',
    "role = 'x'",
    [
      ['a', 2],
      ['b', 1],
    ],
  ],
  ['one on the sub-query', 'size > 1', [['a', 3]]],
  ['one on what reads it', 'twice > 2', [['a', 3]]],
  ['a segment that reads it', 'large', [['a', 3]]],
  ['both: the one inside, the other outside', "role = 'x' AND twice >= 4", [['a', 2]]],
];

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);
  beforeAll(async () => {
    await createTable(engine(), 'teams', { id: 'bigint', name: 'text' }, [
      [1, 'a'],
      [2, 'b'],
    ]);
    await createTable(engine(), 'people', { id: 'bigint', team_id: 'bigint', role: 'text' }, [
      [1, 1, 'x'],
      [2, 1, 'x'],
      [3, 1, 'y'],
      [4, 2, 'x'],
    ]);
  });

  test.each(answers)('%s', async (_, where, rows) => {
    const sql = `SELECT DISTINCT name, size FROM all_teams WHERE ${where} ORDER BY name`;
    const compiled = compileSql(sql, model, anybody, engine().dialect);
    expect(await engine().run(compiled.sql, compiled.parameters)).toEqual(rows);
  });
});
