/** Filters that reach into a sub-query: those on what reads that very sub-query do not. Whichever of the two cubes declares the join. */
import { beforeAll, describe, expect, test } from 'vitest';
import { compileSql } from '../../src/compile-sql.ts';
import { createTable, engineNames, useEngine, type Value } from '../engines.ts';
import { loadModel } from '../load-model.ts';
import { anybody } from './ask.ts';

const byTeams = `
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
`;
/** The same join, declared by the other cube alone. */
const byPeople = byTeams
  .replace(/ {4}joins: .*\n/, '')
  .replace(
    'sql_table: people\n',
    'sql_table: people\n    joins: [{ name: teams, relationship: many_to_one, sql: "{CUBE}.team_id = {teams}.id" }]\n',
  )
  .replace('join_path: teams,', 'join_path: people.teams,')
  .replace('join_path: teams.people', 'join_path: people');
const models = [
  ['the cube of the dimension joins', loadModel(byTeams)],
  ['the other cube joins', loadModel(byPeople)],
] as const;
/** One who sees people of role x, and all teams but the second. */
const policyOn = (member: string, operator: string, value: string): string =>
  `access_policy: [{ group: g, row_level: { filters: [{ member: ${member}, operator: ${operator}, values: [${value}] }] } }]`;
const guarded = loadModel(
  byPeople
    .replace('sql_table: teams\n', `sql_table: teams\n    ${policyOn('id', 'notEquals', '2')}\n`)
    .replace('sql_table: people\n', `sql_table: people\n    ${policyOn('role', 'equals', 'x')}\n`),
);
const somebody = { ...anybody, groups: ['g'] };

const answers: readonly [what: string, where: string, rows: Value[][]][] = [
  [
    'nothing of the other cube',
    "name < 'c'",
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
      [3, 'c'],
    ]);
    await createTable(engine(), 'people', { id: 'bigint', team_id: 'bigint', role: 'text' }, [
      [1, 1, 'x'],
      [2, 1, 'x'],
      [3, 1, 'y'],
      [4, 2, 'x'],
      [5, null, 'y'],
    ]);
  });

  test('policies of both cubes hold inside, whichever way the join is walked', async () => {
    const compiled = compileSql('SELECT name, size FROM teams ORDER BY name', guarded, somebody, engine().dialect);
    expect(await engine().run(compiled.sql, compiled.parameters)).toEqual([
      ['a', 2],
      ['c', 0],
    ]);
  });

  describe.each(models)('%s', (_, model) => {
    test.each(answers)('%s', async (__, where, rows) => {
      const sql = `SELECT DISTINCT name, size FROM all_teams WHERE ${where} ORDER BY name`;
      const compiled = compileSql(sql, model, anybody, engine().dialect);
      expect(await engine().run(compiled.sql, compiled.parameters)).toEqual(rows);
    });

    test('one without rows has none of them', async () => {
      const compiled = compileSql(
        'SELECT name, size, twice FROM teams ORDER BY name',
        model,
        anybody,
        engine().dialect,
      );
      expect(await engine().run(compiled.sql, compiled.parameters)).toEqual([
        ['a', 3, 6],
        ['b', 1, 2],
        ['c', 0, 0],
      ]);
    });
  });
});
