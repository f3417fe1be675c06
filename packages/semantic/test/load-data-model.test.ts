import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { loadDataModel } from '../src/model/load-data-model.ts';
import { shopYaml } from './shop.ts';

const issuesOf = (text: string) => {
  const loaded = loadDataModel([{ path: 'm.yml', text }]);
  return 'issues' in loaded ? loaded.issues.map(({ line, column, message }) => `${line}:${column} ${message}`) : [];
};
const cube = (...lines: string[]) =>
  ['cubes:', '  - name: t', '    sql_table: t', ...lines.map((line) => `    ${line}`)].join('\n');

describe('errors say where', () => {
  test.each([
    ['not YAML', 'cubes: [', /^1:\d+ /],
    ['an unknown key', cube('colour: red'), /^4:5 "colour" is not known here$/],
    [
      'a key that is nearly right',
      cube('sql_tabel: t'),
      /^4:5 "sql_tabel" is not known here; did you mean "sql_table"\?/,
    ],
    [
      'an unknown key far inside',
      cube('measures: [{ name: a, type: count, rolling_window: { trailin: 1 day } }]'),
      /^4:58 "trailin" .*"trailing"/,
    ],
    ['no source', 'cubes:\n  - name: t', /^2:5 .*needs either sql_table or sql/],
    ['a bad name', 'cubes:\n  - { name: "a b", sql_table: t }', /^2:13 .*must be a name/],
    ['a bad type', cube('dimensions: [{ name: a, sql: a, type: text }]'), /^4:\d+ .*type/],
    [
      'an unknown member',
      cube('dimensions: [{ name: a, sql: "{b}", type: string }]'),
      /^4:34 no member or cube "b" in cube t/,
    ],
    ['an unknown cube', cube('dimensions: [{ name: a, sql: "{x.y}", type: string }]'), /^4:34 no cube "x"/],
    ['a brace', cube('dimensions: [{ name: a, sql: "{CUBE.a", type: string }]'), /^4:34 a brace/],
    [
      'FILTER_PARAMS',
      cube('dimensions: [{ name: a, sql: "{FILTER_PARAMS.t.a.filter()}", type: string }]'),
      /FILTER_PARAMS is not supported/,
    ],
    [
      'a member twice',
      cube('dimensions: [{ name: a, sql: a, type: string }, { name: a, sql: a, type: string }]'),
      /two members named a/,
    ],
    ['a sum of nothing', cube('measures: [{ name: a, type: sum }]'), /needs sql/],
    ['a number of nothing', cube('measures: [{ name: a, type: number }]'), /needs sql/],
    [
      'a sum of a measure',
      cube('measures: [{ name: a, type: count }, { name: b, type: sum, sql: "{a}" }]'),
      /use type number/,
    ],
    ['a number of a column', cube('measures: [{ name: b, type: number, sql: "{CUBE}.x" }]'), /measures only/],
    [
      'a circle',
      cube('measures: [{ name: a, type: number, sql: "{b}" }, { name: b, type: number, sql: "{a}" }]'),
      /refers to itself/,
    ],
    [
      'a circle through two cubes',
      `cubes:
  - { name: a, sql_table: a, joins: [{ name: b, relationship: one_to_one, sql: "{CUBE}.id = {b}.id" }], measures: [{ name: m, type: number, sql: "{b.n}" }] }
  - { name: b, sql_table: b, joins: [{ name: a, relationship: one_to_one, sql: "{CUBE}.id = {a}.id" }], measures: [{ name: n, type: number, sql: "{a.m}" }] }`,
      /^2:\d+ measure m refers to itself, by a.m → b.n → a.m/,
    ],
    [
      'a circle of dimensions',
      cube('dimensions: [{ name: a, sql: "{b}", type: string }, { name: b, sql: "{a}", type: string }]'),
      /refers to itself/,
    ],
    [
      'references that double at each step',
      cube(
        'measures:',
        '  - { name: m0, type: count }',
        ...Array.from({ length: 40 }, (_, at) => `  - { name: m${at + 1}, type: number, sql: "{m${at}} + {m${at}}" }`),
      ),
      /measure m9 stands for more than 1000 references/,
    ],
    ['a number of no measure', cube('measures: [{ name: a, type: number, sql: "1 + 1" }]'), /has to refer to one/],
    [
      "a sum of another cube's measure",
      `${cube('measures: [{ name: a, type: sum, sql: "{u.n}" }]')}\n  - { name: u, sql_table: u, measures: [{ name: n, type: count }] }`,
      /computed row by row/,
    ],
    [
      'a dimension of a measure',
      cube('dimensions: [{ name: d, sql: "{n}", type: number }]', 'measures: [{ name: n, type: count }]'),
      /^4:\d+ dimension d is computed row by row/,
    ],
    [
      'a join to itself',
      cube('joins: [{ name: t, relationship: many_to_one, sql: "{CUBE}.a = {t}.id" }]'),
      /cannot join itself/,
    ],
    [
      'two joins to one cube',
      `${cube('joins: [{ name: u, relationship: many_to_one, sql: "{CUBE}.a = {u}.id" }, { name: u, relationship: many_to_one, sql: "{CUBE}.b = {u}.id" }]')}\n  - { name: u, sql_table: u }`,
      /joins u twice/,
    ],
    [
      'a join that reads a third cube',
      `${cube('joins: [{ name: u, relationship: many_to_one, sql: "{CUBE}.a = {u}.id AND {v}.x" }]')}\n  - { name: u, sql_table: u }\n  - { name: v, sql_table: v }`,
      /dimensions of the two cubes only/,
    ],
    ['names apart by case alone', `${cube()}\n  - { name: T, sql_table: t }`, /the name T is taken/],
    ['a name too long for the grammar', cube(`dimensions: [{ name: ${'a'.repeat(64)}, sql: a, type: string }]`), /63/],
    [
      'a name too long by its prefix',
      `${cube(`dimensions: [{ name: ${'a'.repeat(62)}, sql: a, type: string }]`)}\nviews: [{ name: v, cubes: [{ join_path: t, includes: "*", prefix: true }] }]`,
      /longer than 63/,
    ],
    [
      'references in the sql of a cube',
      'cubes: [{ name: t, sql: "SELECT * FROM {x}" }]',
      /^1:\d+ the sql of a cube is plain SQL/,
    ],
    [
      "a policy on another cube's member",
      cube(
        'dimensions: [{ name: a, sql: a, type: string }]',
        'access_policy: [{ group: g, row_level: { filters: [{ member: u.a, operator: set }] } }]',
      ),
      /no dimension "u.a"/,
    ],
    [
      'a policy on a member that reads another cube',
      `${cube(
        'dimensions: [{ name: a, sql: "{u.n}", type: string }]',
        'access_policy: [{ group: g, row_level: { filters: [{ member: a, operator: set }] } }]',
      )}\n  - { name: u, sql_table: u, dimensions: [{ name: n, sql: n, type: string }] }`,
      /the filter on a reads another cube/,
    ],
    [
      'a number that has lost digits',
      cube(
        'dimensions: [{ name: a, sql: a, type: number }]',
        'access_policy: [{ group: g, row_level: { filters: [{ member: a, operator: equals, values: [9007199254740993] }] } }]',
      ),
      /in quotes/,
    ],
    ['a join to nowhere', cube('joins: [{ name: x, relationship: many_to_one, sql: "true" }]'), /no cube "x" to join/],
    [
      'a policy without a group',
      cube('access_policy: [{ row_level: { allow_all: true } }]'),
      /^4:21 .*either group or groups/,
    ],
    [
      'a policy on an unknown member',
      cube('access_policy: [{ group: g, row_level: { filters: [{ member: x, operator: equals, values: [1] }] } }]'),
      /no dimension "x"/,
    ],
    [
      'an unknown operator',
      cube(
        'dimensions: [{ name: a, sql: a, type: string }]',
        'access_policy: [{ group: g, row_level: { filters: [{ member: a, operator: like, values: [1] }] } }]',
      ),
      /operator "like"/,
    ],
    [
      'an operator without values',
      cube(
        'dimensions: [{ name: a, sql: a, type: string }]',
        'access_policy: [{ group: g, row_level: { filters: [{ member: a, operator: equals }] } }]',
      ),
      /at least one value/,
    ],
    [
      'a template that is none',
      cube(
        'dimensions: [{ name: a, sql: a, type: string }]',
        'access_policy: [{ group: g, row_level: { filters: [{ member: a, operator: equals, values: ["x{ userAttributes.y }"] }] } }]',
      ),
      /is not a value/,
    ],
    [
      'a condition that is code',
      cube('access_policy: [{ group: g, conditions: [{ if: "{ groups.has(1) }" }] }]'),
      /^4:\d+ "groups.has" is not known.*|functions are not supported/,
    ],
    [
      'allow_all: false',
      cube('access_policy: [{ group: g, row_level: { allow_all: false } }]'),
      /allow_all has to be true/,
    ],
    [
      'no rows at all',
      cube('access_policy: [{ group: g, row_level: {} }]'),
      /^4:44 row_level takes allow_all: true, or filters/,
    ],
    ['a view over nothing', 'views: [{ name: v, cubes: [{ join_path: x, includes: "*" }] }]', /no cube "x"/],
    [
      'a path without a join',
      `${cube()}\nviews: [{ name: v, cubes: [{ join_path: t.u, includes: "*" }] }]`,
      /declares no join to "u"/,
    ],
    [
      'a name twice',
      `${cube()}\nviews: [{ name: t, cubes: [{ join_path: t, includes: "*" }] }]`,
      /the name t is taken/,
    ],
    [
      'an unknown include',
      `${cube()}\nviews: [{ name: v, cubes: [{ join_path: t, includes: [q] }] }]`,
      /no member "q" in cube t/,
    ],
  ])('%s', (_name, text, pattern) => {
    expect(issuesOf(text).join('\n')).toMatch(pattern);
  });

  test('all of them at once', () => {
    expect(
      issuesOf(
        cube('measures: [{ name: a, type: sum }, { name: b, type: number }, { name: c, type: avg, sql: "{d}" }]'),
      ),
    ).toHaveLength(3);
  });
});

test('a right model has no issues; an empty file is no model but no error', () => {
  expect(issuesOf(shopYaml)).toEqual([]);
  expect(issuesOf('')).toEqual([]);
});

test("a sum may read another cube's dimension that is named as a measure of its own", () => {
  expect(
    issuesOf(
      `${cube('measures: [{ name: n, type: count }, { name: s, type: sum, sql: "{u.n}" }]')}\n  - { name: u, sql_table: u, dimensions: [{ name: n, sql: n, type: number }] }`,
    ),
  ).toEqual([]);
});

test('a policy may name a member with its own relation in front', () => {
  for (const member of ['a', 't.a', '"{CUBE}.a"', '"{t}.a"']) {
    expect(
      issuesOf(
        cube(
          'dimensions: [{ name: a, sql: a, type: string }]',
          `access_policy: [{ group: g, row_level: { filters: [{ member: ${member}, operator: set }] } }]`,
        ),
      ),
    ).toEqual([]);
  }
});

test('a bomb of aliases is an error', () => {
  const levels = Array.from(
    { length: 12 },
    (_, level) =>
      `l${level}: &l${level} [${Array(9)
        .fill(level === 0 ? 'x' : `*l${level - 1}`)
        .join(', ')}]`,
  );
  expect(issuesOf(levels.join('\n')).join()).toMatch(/aliases/);
});

test('mutated files load or have issues, and never throw', () => {
  fc.assert(
    fc.property(fc.nat(shopYaml.length), fc.nat(40), fc.string({ maxLength: 6 }), (at, length, text) => {
      loadDataModel([{ path: 'm.yml', text: shopYaml.slice(0, at) + text + shopYaml.slice(at + length) }]);
    }),
    { numRuns: 200 },
  );
});
