/** What files written for Cube hold beside the format's own rules: each is taken with its meaning there, or refused with what to do. */
import { describe, expect, test } from 'vitest';
import { cubeOf, issuesOf, loadModel, warningsOf } from './load-model.ts';

const id = '{ name: id, sql: id, type: number, primary_key: true }';
const dimensions = (...more: readonly string[]): string =>
  cubeOf(['dimensions:', ...[id, '{ name: at, sql: at, type: time }', ...more].map((it) => `  - ${it}`)]);

const twoCubes = (view: string): string => `
cubes:
  - name: orders
    sql_table: orders
    joins: [{ name: people, relationship: many_to_one, sql: "{CUBE}.person = {people.id}" }]
    dimensions: [${id}, { name: status, sql: status, type: string }]
    measures: [{ name: count, type: count }]
  - name: people
    sql_table: people
    dimensions: [${id}, { name: city, sql: city, type: string }]
views:
  - name: sales
    cubes:
      - { join_path: orders, includes: [status, count] }
      - { join_path: orders.people, prefix: true, includes: [city] }
    ${view}
`;

test('keys with nothing behind them are as keys that are not there', () => {
  const keys = ['title', 'description', 'meta', 'joins', 'measures', 'segments', 'hierarchies', 'pre_aggregations'];
  const model = loadModel(cubeOf([...keys.map((key) => `${key}:`), 'dimensions:', `  - ${id}`]));
  expect([...(model.cubes.get('t')?.members.keys() ?? [])]).toEqual(['id']);
  expect(model.relations.get('t')).toMatchObject({ title: 'T', description: '', meta: {} });
  expect(loadModel(twoCubes('folders:')).relations.get('sales')?.folders).toEqual([]);
});

test.each(['access_policy', 'extends', 'data_source', 'public', 'sql'])(
  '%s with nothing behind it is an error',
  (key) => {
    expect(issuesOf(cubeOf([`${key}:`])).join('\n')).toMatch(new RegExp(`:4:\\d+ ${key} must be `));
  },
);

test('a folder takes all members of a path', () => {
  const folders =
    'folders: [{ name: All, includes: [{ join_path: orders }, { name: Who, includes: [{ join_path: orders.people }] }] }]';
  expect(loadModel(twoCubes(folders)).relations.get('sales')?.folders).toEqual([
    { name: 'All', members: ['status', 'count', { name: 'Who', members: ['people_city'] }] },
  ]);
  expect(issuesOf(twoCubes('folders: [{ name: All, includes: [{ join_path: people }] }]'))).toEqual([
    'm0.yml:16:52 the view takes no members by the path people',
  ]);
});

test('what a view says of the keeping of answers is left out', () => {
  const keys = ['refresh_key: { every: 1 hour }', 'pre_aggregations: [{ name: all, type: rollup }]'];
  expect(warningsOf(twoCubes(keys.join('\n    '))).filter((it) => it.includes('ignored'))).toEqual([
    'm0.yml:16:5 "refresh_key" is ignored: answers are kept as the cubes say',
    'm0.yml:17:5 "pre_aggregations" is ignored: nothing is aggregated beforehand here',
  ]);
});

test('groups of views are left out', () => {
  const warnings = warningsOf(`${twoCubes('view_group: shop')}view_groups: [{ name: shop, views: [sales] }]\n`);
  expect(warnings.filter((it) => it.includes('ignored'))).toEqual([
    'm0.yml:16:5 "view_group" is ignored: views are not put into groups here',
    'm0.yml:17:1 "view_groups" is ignored: views are not put into groups here',
  ]);
});

test.each(['status', 'CUBE.status', 't.status', '"{status}"', '"{CUBE.status}"', '"{ t.status }"', '"{CUBE}.status"'])(
  'a filter of a policy names its member as %s',
  (member) => {
    const policy = `access_policy: [{ group: a, row_level: { filters: [{ member: ${member}, operator: equals, values: [x] }] } }]`;
    const model = loadModel(cubeOf(['dimensions:', '  - { name: status, sql: status, type: string }', policy]));
    expect(model.cubes.get('t')?.policy?.entries[0]?.rowFilter).toMatchObject({ filters: [{ member: 'status' }] });
  },
);

test('a file with several documents is refused: none of them is passed over', () => {
  expect(issuesOf(`---\n${dimensions()}\n---\nviews: []\n`)).toEqual([
    'm0.yml:8:1 not YAML: a file holds one document: split it where --- stands between two',
  ]);
});

describe('what is refused says what to do', () => {
  test.each([
    [
      'a column named as a member',
      dimensions('{ name: a, sql: "COALESCE({CUBE.a}, 0)", type: number }'),
      /written \{CUBE\}\.a$/,
    ],
    [
      'a unit of time in SQL',
      dimensions('{ name: a, sql: "{at.month}", type: time }'),
      /"\{at\.month\}" is a unit of at/,
    ],
    ['the same behind its cube', dimensions('{ name: a, sql: "{CUBE.at.month}", type: time }'), /is a unit of at/],
    ['a dimension in stages', dimensions('{ name: a, sql: a, type: number, multi_stage: true }'), /only a measure is/],
    [
      'shifts of a calendar',
      dimensions('{ name: a, sql: a, type: time, time_shift: [{ interval: 1 year, type: prior, sql: b }] }'),
      /calendar cubes, which are not supported/,
    ],
    [
      'a join with an alias',
      cubeOf(['joins: [{ name: t, alias: boss, relationship: many_to_one, sql: "{CUBE}.boss = {t}.id" }]']),
      /"alias" is not known here: for a second join of one cube make a cube that extends it/,
    ],
    [
      'a dimension by switch',
      dimensions('{ name: a, type: string, case: { switch: "{at}", when: [{ value: x, sql: y }] } }'),
      /a measure with multi_stage: true has a case by switch/,
    ],
    [
      'a filter of a stage',
      cubeOf(['measures: [{ name: a, sql: "{b}", type: number, multi_stage: true, filter: { exclude: [at] } }]']),
      /those of a stage are not supported/,
    ],
    [
      'a grain',
      cubeOf(['measures: [{ name: a, sql: "{b}", type: number, multi_stage: true, grain: { exclude: [at] } }]']),
      /write group_by, reduce_by or add_group_by/,
    ],
  ])('%s', (_, text, pattern) => expect(issuesOf(text).join('\n')).toMatch(pattern));
});
