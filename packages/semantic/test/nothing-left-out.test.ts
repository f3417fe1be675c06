/** A model that loads does all that its files say: no row filter, member or join is left out of it, whatever name stands for whichever other. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import type { DataModel, PolicyFilter } from '../src/model/data-model.ts';
import { loadDataModel } from '../src/model/load-data-model.ts';

const model = `cubes:
  - name: orders
    sql_table: orders
    joins:
      - { name: people, relationship: many_to_one, sql: "{CUBE}.person_id = {people.id}" }
      - { name: items, relationship: one_to_many, sql: "{orders.id} = {items}.order_id" }
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: status, sql: "{people.city}", type: string }
      - { name: lines, sql: "{items.count}", type: number, sub_query: true }
    measures:
      - { name: amount, sql: "{CUBE}.amount", type: sum, filters: [{ sql: "{status} = {people.city}" }] }
      - { name: ratio, sql: "{amount} / {items.count}", type: number }
    segments:
      - { name: paid, sql: "{status} = {CUBE}.paid" }
  - name: people
    sql_table: people
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: country, sql: country, type: string }
      - { name: city, sql: "{country}", type: string }
    access_policy:
      - group: shop
        row_level: { filters: [{ member: city, operator: equals, values: [Oslo] }, { or: [{ member: country, operator: set }] }] }
        member_level: { excludes: [country] }
  - name: items
    sql_table: items
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
    measures:
      - { name: count, type: count }
    access_policy:
      - { group: shop, row_level: { filters: [{ member: id, operator: set }] } }
views:
  - name: sales
    cubes:
      - { join_path: orders, includes: [status, amount] }
      - { join_path: orders.people, includes: [city] }
    access_policy:
      - { group: shop, row_level: { filters: [{ member: city, operator: set }, { member: status, operator: set }] } }
  - name: sold
    cubes: [{ join_path: items, includes: [count] }]
`;
/** Each name, key and value of the model, and where it stands. */
const words = [...model.matchAll(/[A-Za-z_]\w*/g)];

const list = z.array(z.unknown()).default([]);
const cubes = z.array(z.object({ name: z.string(), joins: list, dimensions: list, measures: list, segments: list }));

/** What the files say that there is. */
function declared(text: string): readonly unknown[] {
  const counts = cubes.parse(z.object({ cubes: z.unknown() }).parse(parse(text)).cubes).map((cube) => ({
    name: cube.name,
    joins: cube.joins.length,
    members: cube.dimensions.length + cube.measures.length + cube.segments.length,
  }));
  return [...counts, text.split('operator:').length - 1];
}

/** What there is. */
function loaded({ cubes, relations }: DataModel): readonly unknown[] {
  const counts = [...cubes.values()].map((cube) => ({
    name: cube.name,
    joins: [...cube.joins.values()].filter(({ sql, target }) => sql.length > 0 && cubes.has(target)).length,
    members: cube.members.size,
  }));
  const views = [...relations.values()].filter(({ type }) => type === 'view');
  const policies = [...cubes.values(), ...views].flatMap(({ policy }) => policy?.entries ?? []);
  return [...counts, policies.reduce((sum, { rowFilter }) => sum + (rowFilter === null ? 0 : leavesOf(rowFilter)), 0)];
}

const leavesOf = (filter: PolicyFilter): number =>
  filter.kind === 'compare' ? 1 : filter.filters.reduce((sum, inner) => sum + leavesOf(inner), 0);

test('a model that loads is whole', () => {
  const place = fc.constantFrom(...words);
  let loads = 0;
  fc.assert(
    fc.property(place, place, (put, word) => {
      const text = model.slice(0, put.index) + word[0] + model.slice(put.index + put[0].length);
      const result = loadDataModel([{ path: 'm.yml', text }]);
      if (!('dataModel' in result)) return;
      loads += 1;
      expect(loaded(result.dataModel)).toEqual(declared(text));
    }),
    { numRuns: 3000, examples: words.map((word) => [word, word]).slice(0, 1) },
  );
  expect(loads).toBeGreaterThan(100);
});
