/** Masks: what stands in place of a value stands there for every expression over it; what joins and counts reads the value itself. */
import { beforeAll, describe, expect, test } from 'vitest';
import type { Subject } from '../../src/policy/subject.ts';
import { createTable, engineNames, useEngine, type Value } from '../engines.ts';
import { loadModel } from '../load-model.ts';
import { anybody, ask, compileQuestion, type Question, sorted } from './ask.ts';

const model = loadModel(`
cubes:
  - name: people
    sql_table: people
    joins:
      - { name: teams, relationship: many_to_one, sql: "{CUBE}.team_id = {teams.id}" }
      - { name: notes, relationship: one_to_many, sql: "{CUBE}.id = {notes}.person_id" }
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: name, sql: name, type: string }
      - { name: email, sql: email, type: string, mask: hidden }
      - { name: shout, sql: "UPPER({email})", type: string }
      - { name: salary, sql: salary, type: number }
      - { name: score, sql: salary, type: number, mask: { sql: "{CUBE}.id * 100" } }
      - { name: team_of, sql: "{teams.team}", type: string, mask: some }
      - { name: vip, sql: vip, type: boolean }
      - { name: notes_made, sql: "{notes.notes_count}", type: number, sub_query: true, mask: -1 }
    measures:
      - { name: people_count, type: count }
      - { name: mails, sql: "{email}", type: count_distinct }
      - { name: earned, sql: "{salary}", type: sum }
      - { name: paid, sql: "{CUBE}.salary", type: sum, mask: 0 }
      - { name: paid_each, sql: "1.0 * {paid} / {people_count}", type: number }
    access_policy:
      - group: clerk
        member_level: { includes: "*", excludes: [email, salary, score, paid, team_of, id, notes_made] }
        member_masking: { includes: [email, salary, score, paid, team_of, id, notes_made] }
      - group: seer
        row_level: { filters: [{ member: vip, operator: equals, values: [true] }] }
  - name: teams
    sql_table: teams
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: team, sql: team, type: string }
    access_policy: [{ group: "*" }]
  - name: notes
    sql_table: notes
    joins:
      - { name: people, relationship: many_to_one, sql: "{CUBE}.person_id = {people.id}" }
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: note, sql: note, type: string }
    measures:
      - { name: notes_count, type: count }
    access_policy: [{ group: "*" }]
views:
  - name: crm
    cubes:
      - { join_path: notes, includes: [note, notes_count] }
      - { join_path: notes.people, includes: "*" }
  - name: desk
    cubes:
      - { join_path: notes, includes: [note, notes_count] }
      - { join_path: notes.people, includes: [name, email, shout, vip, mails, paid] }
    access_policy:
      - group: seer
        member_level: { includes: [note, notes_count, name, shout, vip, mails] }
        member_masking: { includes: [email, paid] }
      - group: clerk
        row_level: { filters: [{ member: note, operator: equals, values: [a] }] }
`);

const member = (...groups: string[]): Subject => ({ ...anybody, groups });
const users = { clerk: member('clerk'), seer: member('seer'), both: member('clerk', 'seer') };
const from = 'people';

const answers: [name: string, who: keyof typeof users, question: Question, rows: Value[][]][] = [
  [
    'a value, and what is made of it',
    'clerk',
    { from, keys: ['name', 'email', 'shout', 'salary', 'score', 'team_of', 'id', 'notes_made'] },
    [
      ['Ann', 'hidden', 'HIDDEN', null, 100, 'some', null, -1],
      ['Bob', 'hidden', 'HIDDEN', null, 200, 'some', null, -1],
      ['Cid', 'hidden', 'HIDDEN', null, 300, 'some', null, -1],
    ],
  ],
  ['a condition sees the mask', 'clerk', { from, keys: ['name'], where: [['email', '=', 'b@x']] }, []],
  [
    'and a group',
    'clerk',
    { from, keys: ['email'], measures: ['people_count', 'mails', 'earned'] },
    [['hidden', 3, 1, null]],
  ],
  ['and HAVING', 'clerk', { from, keys: ['name'], measures: ['paid'], having: [['paid', '>', 0]] }, []],
  [
    'a masked measure, and what is made of it',
    'clerk',
    { from, measures: ['paid', 'paid_each', 'people_count'] },
    [[0, 0, 3]],
  ],
  [
    'rows in full beside others',
    'both',
    { from, keys: ['name', 'email', 'shout', 'salary', 'score', 'team_of', 'id', 'notes_made'] },
    [
      ['Ann', 'a@x', 'A@X', 10, 10, 'red', 1, 2],
      ['Bob', 'hidden', 'HIDDEN', null, 200, 'some', null, -1],
      ['Cid', 'hidden', 'HIDDEN', null, 300, 'some', null, -1],
    ],
  ],
  ['a condition on rows of both kinds', 'both', { from, keys: ['name'], where: [['salary', '>=', 10]] }, [['Ann']]],
  ['a figure over rows of both kinds is masked', 'both', { from, measures: ['paid', 'earned', 'mails'] }, [[0, 10, 2]]],
  ['alone it is full', 'seer', { from, measures: ['paid', 'earned', 'mails'] }, [[10, 10, 1]]],
  [
    'joined: no row has no mask; rows are counted by their real keys',
    'clerk',
    { from: 'crm', keys: ['note', 'email', 'id', 'team_of'], measures: ['people_count'] },
    [
      ['a', 'hidden', null, 'some', 2],
      ['b', 'hidden', null, 'some', 1],
      ['z', null, null, null, 0],
    ],
  ],
  [
    'the mask of a view',
    'seer',
    { from: 'desk', keys: ['note', 'email', 'shout'], measures: ['paid'] },
    [
      ['a', 'hidden', 'HIDDEN', 0],
      ['a', null, null, 0],
      ['b', 'hidden', 'HIDDEN', 0],
      ['z', null, null, 0],
    ],
  ],
  [
    "the mask of a view in some rows, in which the cube's own holds",
    'both',
    { from: 'desk', keys: ['note', 'name', 'email'] },
    [
      ['a', 'Ann', 'a@x'],
      ['a', 'Bob', 'hidden'],
      ['b', 'Ann', 'hidden'],
      ['z', null, null],
    ],
  ],
];

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);
  beforeAll(async () => {
    await createTable(
      engine(),
      'people',
      { id: 'integer', name: 'text', email: 'text', salary: 'integer', vip: 'boolean', team_id: 'integer' },
      [
        [1, 'Ann', 'a@x', 10, true, 1],
        [2, 'Bob', 'b@x', 20, false, 1],
        [3, 'Cid', 'c@x', 30, false, null],
      ],
    );
    await createTable(engine(), 'teams', { id: 'integer', team: 'text' }, [[1, 'red']]);
    await createTable(engine(), 'notes', { id: 'integer', person_id: 'integer', note: 'text' }, [
      [1, 1, 'a'],
      [2, 2, 'a'],
      [3, 1, 'b'],
      [4, 9, 'z'],
    ]);
  });
  test.each(answers)('%s', async (_name, who, question, rows) => {
    expect(await ask(question, model, engine(), users[who])).toEqual(sorted(rows));
  });
  test('what is masked in every row is not in the SQL', () => {
    const { sql } = compileQuestion(
      { from, keys: ['email', 'salary'], measures: ['paid'] },
      model,
      engine().dialect,
      users.clerk,
    );
    expect(sql.replaceAll(/["`]masked \w+["`]/g, '')).not.toMatch(/salary|email/);
  });
});
