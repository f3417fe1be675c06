/** The mistakes of a first afternoon with YAML, each in a model that is right else: one message, at its place, with the cure. */
import { describe, expect, test } from 'vitest';
import { issuesOf, warningsOf } from './load-model.ts';

const right = `cubes:
  - name: orders
    sql_table: orders
    description: The orders
    dimensions:
      - name: id
        sql: id
        type: number
        primary_key: true
      - name: status
        sql: "{CUBE}.status"
        type: string
    measures:
      - name: buyers
        sql: customer_id
        type: count_distinct
      - name: half
        sql: "{buyers} / 2"
        type: number
    access_policy:
      - group: "*"
        row_level:
          filters:
            - member: status
              operator: equals
              values: ["{ userAttributes.status }"]
views:
  - name: sales
    cubes:
      - join_path: orders
        includes: "*"
`;

const quotes = 'a text that begins with {, [, *, & or % needs quotes';
const indent = 'the line stands too far in, or a text that holds ": " needs quotes';

test('the model is right before anything is broken', () => expect(issuesOf(right)).toEqual([]));

describe('one message each', () => {
  test.each([
    ['a tab', '        sql: id', '\tsql: id', '7:1 not YAML: a tab cannot indent a line: write blanks'],
    ['{CUBE} without quotes', '"{CUBE}.status"', '{CUBE}.status', `11:20 not YAML: ${quotes}`],
    ['a reference without quotes', '"{buyers} / 2"', '{buyers}', `18:14 sql must be a text; ${quotes}`],
    ['an expression without quotes', '"{buyers} / 2"', '{buyers} / 2', `18:23 not YAML: ${quotes}`],
    ['a star without quotes', 'includes: "*"', 'includes: *', `31:19 not YAML: ${quotes}`],
    [
      'a value without quotes',
      '["{ userAttributes.status }"]',
      '[{ userAttributes.status }]',
      `26:23 values must be a list of texts, numbers and truth values; ${quotes}`,
    ],
    [
      'a value without braces',
      '["{ userAttributes.status }"]',
      '[userAttributes.status]',
      '26:24 "userAttributes.status" needs braces: "{ userAttributes.status }"',
    ],
    [
      'a value of nobody',
      '{ userAttributes.status }',
      '{ userAttribute.status }',
      '26:24 "{ userAttribute.status }" is not a value; there are userAttributes.x, securityContext.x, groups and embedTenant.name, in braces',
    ],
    ['a colon in a text', 'The orders', 'Note: the orders', `4:18 not YAML: ${indent}`],
    [
      'a colon in a text of a line',
      '- name: id\n        sql: id\n        type: number\n        primary_key: true',
      '- { name: id, sql: id, title: Key: of orders, type: number, primary_key: true }',
      '6:37 not YAML: a text that holds ": " needs quotes',
    ],
    [
      'a quote inside a text',
      'sql: id',
      "sql: 'a = 'b''",
      '7:20 not YAML: behind a closing quote: a text with quotes stands in quotes of the other kind',
    ],
    ['a line too far in', '        sql: id', '          sql: id', `6:15 not YAML: ${indent}`],
    [
      'a line too far out',
      '        sql: id',
      '       sql: id',
      '7:1 not YAML: the line stands too far out, or its - is missing',
    ],
    [
      'no blank behind a colon',
      'sql: id',
      'sql:id',
      '7:9 not YAML: a key needs a colon and a blank behind it, or the line stands too far in or out',
    ],
    [
      'JavaScript',
      '"{CUBE}.status"',
      '"$' + '{CUBE}.status"',
      /^m0.yml:11:14 ".{CUBE}" is JavaScript: write \{CUBE\}$/,
    ],
    [
      'a sign for an operator',
      'operator: equals',
      'operator: "="',
      '25:25 operator "=" is not supported: write equals',
    ],
    [
      'two sources',
      'sql_table: orders',
      'sql_table: orders\n    sql: a',
      '2:5 cube orders needs either sql_table or sql, and has both',
    ],
    [
      'a type in one word',
      'count_distinct',
      'countdistinct',
      /^m0.yml:16:15 type has to be one of .*, not "countdistinct"; did you mean "count_distinct"\?$/,
    ],
    [
      'words for the agent',
      '        type: count_distinct',
      '        type: count_distinct\n        synonyms: [customers]',
      '17:9 "synonyms" is not known here: write it below meta',
    ],
    [
      'a role',
      'group: "*"',
      'role: "*"',
      '21:9 "role" is not known here: write group or groups, the names of groups of users',
    ],
  ])('%s', (_, what, broken, message) => {
    expect(right).toContain(what);
    expect(issuesOf(right.replace(what, () => broken))).toEqual([
      typeof message === 'string' ? `m0.yml:${message}` : expect.stringMatching(message),
    ]);
  });

  test('a switch without values says nothing of those that it has not', () => {
    const model = right.replace(
      '    measures:',
      '      - { name: currency, type: switch }\n    measures:\n      - name: money\n        type: number\n        multi_stage: true\n        case: { switch: "{currency}", when: [{ value: EUR, sql: "{buyers}" }], else: { sql: "{half}" } }',
    );
    expect(issuesOf(model)).toEqual(['m0.yml:13:9 dimension currency of type switch needs values']);
  });
});

test('names that are words of SQL are warned of, once for each cube and view that may be asked', () => {
  const model = right
    .replaceAll('orders', 'order')
    .replace('name: status', 'name: user')
    .replace('member: status', 'member: user');
  expect(warningsOf(model)).toEqual([
    'm0.yml:2:11 queries of cube order write "order", "user" in quotes, as shown: they are words of SQL',
    'm0.yml:28:11 queries of view sales write "user" in quotes, as shown: it is a word of SQL',
  ]);
  expect(warningsOf(right)).toEqual([]);
});
