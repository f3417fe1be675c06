/**
 * What cubes may name: other cubes by joins, and never a view, so that nothing that such a reference was to do is left out; a row filter
 * whose dimension reads a view would let everybody see everything.
 */
import { describe, expect, test } from 'vitest';
import { issuesOf, warningsOf } from './load-model.ts';

const right = `cubes:
  - name: orders
    sql_table: orders
    joins:
      - { name: people, relationship: many_to_one, sql: "{CUBE}.person_id = {people.id}" }
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: status, sql: status, type: string }
    measures:
      - { name: amount, sql: "{CUBE}.amount", type: sum, filters: [{ sql: "{CUBE}.is_paid" }] }
    segments:
      - { name: paid, sql: "{CUBE}.is_paid" }
    access_policy:
      - group: shop
        row_level: { filters: [{ member: status, operator: equals, values: [paid] }] }
  - name: people
    sql_table: people
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: city, sql: city, type: string }
views:
  - name: sales
    cubes:
      - { join_path: orders, includes: "*" }
      - { join_path: orders.people, includes: [city] }
`;

test('the model is right before anything is broken', () => expect(issuesOf(right)).toEqual([]));

describe('a cube cannot read a view', () => {
  test.each([
    [
      'in a dimension that a row filter reads',
      'sql: status,',
      'sql: "{sales.city}",',
      '8:30 no cube "sales": it is a view',
    ],
    [
      'in a dimension, as a table',
      'sql: status,',
      'sql: "{sales}.city",',
      '8:30 no member or cube "sales" in cube orders: it is a view',
    ],
    ['in a measure', '"{CUBE}.amount"', '"{sales.amount}"', '10:30 no cube "sales": it is a view'],
    [
      'in the filter of a measure',
      'sql: "{CUBE}.is_paid" }] }',
      'sql: "{sales.city}" }] }',
      '10:75 no cube "sales": it is a view',
    ],
    [
      'in a segment',
      'name: paid, sql: "{CUBE}.is_paid"',
      'name: paid, sql: "{sales.paid}"',
      '12:28 no cube "sales": it is a view',
    ],
    ['in the SQL of a join', '{people.id}', '{sales.id}', '5:57 no cube "sales": it is a view'],
    ['as the target of a join', 'name: people, rel', 'name: sales, rel', '5:17 no cube "sales" to join: it is a view'],
    [
      'by extending it',
      '    sql_table: people',
      '    sql_table: people\n    extends: sales',
      '18:14 no cube "sales" to extend: it is a view',
    ],
    ['in another view', 'orders.people', 'sales', '25:22 no cube "sales": it is a view'],
    [
      'and a view cannot extend a cube',
      '  - name: sales',
      '  - name: sales\n    extends: people',
      '23:14 no view "people" to extend: it is a cube',
    ],
  ])('%s', (_, what, broken, message) => {
    expect(right).toContain(what);
    expect(issuesOf(right.replace(what, () => broken))[0]).toBe(`m0.yml:${message}`);
  });

  test('and a view that does not load is no second error', () => {
    const broken = right.replace('sql: status,', 'sql: "{sales.city}",').replace('    cubes:', '    cubse:');
    expect(issuesOf(broken)).toEqual(['m0.yml:23:5 "cubse" is not known here; did you mean "cubes"?']);
  });
});

describe('a join whose SQL names one cube only is warned of', () => {
  test.each([
    ['1 = 1', 'orders and people'],
    ['{CUBE}.person_id = 5', 'people'],
    ['{people.id} = 5', 'orders'],
    ['person_id = id', 'orders and people'],
  ])('%s', (sql, left) => {
    const joins = warningsOf(right.replace('{CUBE}.person_id = {people.id}', sql)).filter((it) => it.includes('join'));
    expect(joins).toEqual([
      `m0.yml:5:57 the SQL of the join to people names nothing of ${left}: write {CUBE}.column and {people}.column`,
    ]);
  });
  test('and one that names both is not', () =>
    expect(warningsOf(right).filter((it) => it.includes('join'))).toEqual([]));
});

describe('a join to nobody', () => {
  test('is told once, not in its SQL and its paths', () => {
    expect(issuesOf(right.replace('name: people, rel', 'name: peple, rel'))).toEqual([
      'm0.yml:5:17 no cube "peple" to join; did you mean "people"?',
    ]);
  });
  test('hides no path that means something else', () => {
    const broken = right.replace('name: people, rel', 'name: peple, rel').replace('orders.people', 'orders.shops');
    expect(issuesOf(broken)).toEqual([
      'm0.yml:5:17 no cube "peple" to join; did you mean "people"?',
      'm0.yml:25:22 cube orders declares no join to "shops"',
    ]);
  });
});
