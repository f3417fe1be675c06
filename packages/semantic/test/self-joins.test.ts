/** Cubes that join one that extends them: employees and their managers, who are employees. */
import { expect, test } from 'vitest';
import { createTable, openEngine } from './engines.ts';
import { issuesOf, loadModel, warningsOf } from './load-model.ts';
import { merchant } from './shop.ts';
import { ask } from './sql/shop-engines.ts';

/** The model; `member` is one more dimension of the employees, `more` lines of the managers. */
const staff = (member = '', more: readonly string[] = []): string => `cubes:
  - name: employees
    sql_table: employees
    joins:
      - { name: managers, relationship: many_to_one, sql: "{CUBE}.manager_id = {managers}.id" }
    dimensions:
      - { name: id, sql: "{CUBE}.id", type: number, primary_key: true }
      - { name: name, sql: "{CUBE}.name", type: string }
${member === '' ? '' : `      - { name: more, sql: "${member}", type: string }\n`}    measures:
      - { name: n, type: count }
    access_policy: [{ group: "*", row_level: { allow_all: true } }]
  - name: managers
    extends: employees
${more.map((line) => `    ${line}\n`).join('')}views:
  - name: staff
    cubes:
      - { join_path: employees, includes: [n] }
      - { join_path: employees.managers, includes: [name] }
`;
const notTaken = 'the join to managers is not taken over: a cube does not join itself';

test('the join to itself is not taken over, which is warned of', async () => {
  const text = staff();
  expect(issuesOf(text)).toEqual([]);
  expect(warningsOf(text).filter((it) => it.includes('join'))).toEqual([`m0.yml:13:14 ${notTaken}`]);
  const engine = await openEngine('duckdb');
  try {
    await createTable(engine, 'employees', { id: 'integer', name: 'text', manager_id: 'integer' }, [
      [1, 'Ann', null],
      [2, 'Bob', 1],
      [3, 'Cid', 1],
      [4, 'Dot', 2],
    ]);
    const sql = 'SELECT name, MEASURE(n) FROM staff GROUP BY 1 ORDER BY 1';
    expect(await ask(engine, sql, loadModel(text), merchant(null))).toEqual([
      ['Ann', 2],
      ['Bob', 1],
      [null, 1],
    ]);
  } finally {
    await engine.close();
  }
});

test.each(['{managers.name}', '{managers}.name', '{ managers.name }'])(
  'what reads the other cube cannot be taken over: %s would be a name of the cube itself',
  (sql) => {
    const why = 'cube managers would take over more, which reads {managers} as another cube';
    const cure = 'let both extend a third cube, without this and without the join';
    expect(issuesOf(staff(sql))).toEqual([`m0.yml:14:14 ${why}: ${cure}`]);
  },
);

test('what the cube declares anew is its own', () => {
  const own = staff('{managers.name}', ['dimensions: [{ name: more, sql: "{CUBE}.title", type: string }]']);
  expect(issuesOf(own)).toEqual([]);
  expect(issuesOf(staff('{employees.name}'))).toEqual(issuesOf(staff('{CUBE.name}')));
});

test('a join to itself that a cube declares is an error', () => {
  const join = 'joins: [{ name: managers, relationship: one_to_one, sql: "{CUBE}.id = {managers}.id" }]';
  expect(issuesOf(staff('', [join]))).toEqual([
    expect.stringMatching(/^m0.yml:14:21 cube managers cannot join itself/),
  ]);
});

test('a third cube for what both have', () => {
  const shared = staff()
    .replace('  - name: employees\n', '  - name: people\n')
    .replace(/ {4}joins:\n.*\n/, '')
    .replace(
      'extends: employees\n',
      `extends: people
  - name: employees
    extends: people
    joins:
      - { name: managers, relationship: many_to_one, sql: "{CUBE}.manager_id = {managers}.id" }
    dimensions:
      - { name: more, sql: "{managers.name}", type: string }
`,
    );
  expect(issuesOf(shared)).toEqual([]);
  expect(warningsOf(shared).filter((it) => it.includes('join'))).toEqual([]);
});
