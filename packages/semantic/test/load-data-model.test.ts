import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { loadDataModel } from '../src/load-data-model.ts';
import { shopYaml } from './shop.ts';

const issuesOf = (text: string) => {
  const model = loadDataModel([{ path: 'm.yml', text }]);
  return 'issues' in model ? model.issues.map(({ line, column, message }) => `${line}:${column} ${message}`) : [];
};
const cube = (...lines: string[]) =>
  ['cubes:', '  - name: t', '    sql_table: t', ...lines.map((line) => `    ${line}`)].join('\n');

describe('errors say where', () => {
  test.each([
    ['not YAML', 'cubes: [', /^1:\d+ /],
    ['an unknown key', cube('colour: red'), /^4:13 "colour" is not known here/],
    [
      'a feature that is not there',
      cube('pre_aggregations: []'),
      /^4:23 "pre_aggregations" is not known here, or not supported/,
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
      'conditions, which are not there',
      cube('access_policy: [{ group: g, conditions: [] }]'),
      /"conditions" is not known here/,
    ],
    ['allow_all: false', cube('access_policy: [{ group: g, row_level: { allow_all: false } }]'), /row_level/],
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
