/**
 * Masks of a view where one cube is reached in several ways, or at another time: what may be masked is, and nothing shows what a mask
 * hides. Answers worked out by hand.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { compileSql } from '../../src/compile-sql.ts';
import type { DataModel } from '../../src/model/data-model.ts';
import { createTable, engineNames, useEngine, type Value } from '../engines.ts';
import { loadModel } from '../load-model.ts';
import { anybody } from './ask.ts';

const cities = `
  - name: cities
    sql_table: cities
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: city, sql: city, type: string, mask: hidden }
    measures: [{ name: cities_count, type: count, mask: -1 }]`;
const toCity = '{ name: cities, relationship: many_to_one, sql: "{CUBE}.city_id = {cities.id}" }';
const id = '{ name: id, sql: id, type: number, primary_key: true }';
const visits = `
  - name: visits
    sql_table: visits
    joins: [${toCity}]
    dimensions:
      - ${id}
      - { name: kind, sql: kind, type: string }
      - { name: at, sql: at, type: time, mask: "2024-05-01" }
      - { name: seen_in, sql: "{cities.city}", type: string }
    measures: [{ name: visits_count, type: count }]`;

/** The city of an order and that of a shop are, seen from visits, one city. */
const twoPaths = loadModel(`
cubes:${cities}${visits}
  - name: orders
    sql_table: orders
    joins: [${toCity}]
    dimensions: [${id}]
  - name: shops
    sql_table: shops
    joins: [${toCity}]
    dimensions: [${id}]
views:
  - name: everything
    cubes:
      - { join_path: visits, includes: [kind, seen_in, visits_count] }
      - { join_path: orders.cities, includes: [{ name: city, alias: order_city }] }
      - { join_path: shops.cities, includes: [{ name: city, alias: shop_city }] }
    access_policy:
      - group: boss
      - group: clerk
        row_level: { filters: [{ member: kind, operator: equals, values: [a] }] }
        member_masking: { includes: [order_city] }
      - group: clerk
        row_level: { filters: [{ member: kind, operator: equals, values: [b] }] }
        member_masking: { includes: [shop_city] }
`);

/** An order has two cities. Which of them the city of a visit is, nobody can say. */
const inDoubt = loadModel(`
cubes:${cities}${visits}
  - name: shops
    sql_table: shops
    joins: [${toCity}]
    dimensions: [${id}]
  - name: buyers
    sql_table: shops
    joins: [${toCity}]
    dimensions: [${id}]
  - name: orders
    sql_table: orders
    joins:
      - { name: shops, relationship: many_to_one, sql: "{CUBE}.id = {shops.id}" }
      - { name: buyers, relationship: many_to_one, sql: "{CUBE}.id = {buyers.id}" }
    dimensions: [${id}]
views:
  - name: everything
    cubes:
      - { join_path: visits, includes: [kind, seen_in, visits_count] }
      - { join_path: visits.cities, includes: [{ name: city, alias: visit_city }] }
      - { join_path: orders.shops.cities, includes: [{ name: city, alias: shop_city }] }
      - { join_path: orders.buyers.cities, includes: [{ name: city, alias: buyer_city }] }
    access_policy:
      - group: boss
      - group: clerk
        member_masking: { includes: [buyer_city] }
`);

/** Two ways lead from streets to cities; the view names neither, and masks the number of cities below another root. */
const measured = loadModel(`
cubes:${cities}${visits}
  - name: shops
    sql_table: shops
    joins: [${toCity}]
    dimensions: [${id}]
    measures: [{ name: far_count, sql: "{cities.cities_count} * 2", type: number }]
  - name: buyers
    sql_table: shops
    joins: [${toCity}]
    dimensions: [${id}]
  - name: orders
    sql_table: orders
    joins:
      - { name: shops, relationship: many_to_one, sql: "{CUBE}.id = {shops.id}" }
      - { name: buyers, relationship: many_to_one, sql: "{CUBE}.id = {buyers.id}" }
    dimensions: [${id}]
views:
  - name: everything
    cubes:
      - { join_path: visits.cities, includes: [cities_count] }
      - { join_path: orders.shops, includes: [far_count] }
    access_policy:
      - group: boss
      - group: clerk
        member_masking: { includes: [cities_count] }
`);

/** A time that the clerk does not see, and a figure of the month before. */
const shifted = loadModel(
  `
cubes:${cities}${visits}
      - name: visits_before
        multi_stage: true
        type: number
        sql: "{visits_count}"
        time_shift: [{ time_dimension: at, interval: 1 month, type: prior }]
    access_policy:
      - group: boss
      - group: clerk
        member_masking: { includes: [at] }
`.replace('measures: [{ name: visits_count, type: count }]', 'measures:\n      - { name: visits_count, type: count }'),
);

/** One column under two names: each entry masks it under one of them, and one of them does not know the other name. */
const renamed = loadModel(`
cubes:${cities.replace('    measures:', '      - { name: loud, sql: "upper({city})", type: string }\n    measures:')}
views:
  - name: places
    cubes: [{ join_path: cities, includes: [id, city, { name: city, alias: town }, loud] }]
    access_policy:
      - group: boss
      - group: clerk
        row_level: { filters: [{ member: id, operator: equals, values: [2] }] }
        member_level: { includes: [id, loud] }
        member_masking: { includes: [town] }
      - group: clerk
        row_level: { filters: [{ member: id, operator: equals, values: [1] }] }
        member_masking: { includes: [city] }
`);

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);
  beforeAll(async () => {
    const cityId = { id: 'bigint', city_id: 'bigint' } as const;
    await createTable(engine(), 'cities', { id: 'bigint', city: 'text' }, [
      [1, 'Rome'],
      [2, 'Oslo'],
    ]);
    await createTable(engine(), 'orders', cityId, [[1, 1]]);
    await createTable(engine(), 'shops', cityId, [[1, 1]]);
    await createTable(engine(), 'visits', { ...cityId, kind: 'text', at: 'timestamp' }, [
      [1, 1, 'a', '2024-01-10 12:00:00'],
      [2, 2, 'b', '2024-01-20 12:00:00'],
      [3, 2, 'b', '2024-02-20 12:00:00'],
    ]);
  });
  const ask = async (sql: string, model: DataModel, timezone = 'UTC'): Promise<Value[][][]> => {
    const answers: Value[][][] = [];
    for (const group of ['boss', 'clerk']) {
      const subject = { ...anybody, groups: [group], seesUnprotected: false };
      const compiled = compileSql(sql, model, subject, engine().dialect, { timezone });
      answers.push(await engine().run(compiled.sql, compiled.parameters));
    }
    return answers;
  };

  test('two paths that are one node: what either masks is masked', async () => {
    expect(
      await ask('SELECT kind, seen_in, MEASURE(visits_count) FROM everything GROUP BY 1, 2 ORDER BY 1', twoPaths),
    ).toEqual([
      [
        ['a', 'Rome', 1],
        ['b', 'Oslo', 2],
      ],
      [
        ['a', 'hidden', 1],
        ['b', 'hidden', 2],
      ],
    ]);
  });

  test('a node that may be the masked one is masked', async () => {
    expect(await ask('SELECT seen_in, MEASURE(visits_count) FROM everything GROUP BY 1 ORDER BY 1', inDoubt)).toEqual([
      [
        ['Oslo', 2],
        ['Rome', 1],
      ],
      [['hidden', 3]],
    ]);
  });

  test('a masked measure by a way that the view does not name', async () => {
    expect(await ask('SELECT MEASURE(far_count) FROM everything', measured)).toEqual([[[2]], [[-2]]]);
  });

  test('a masked time is its mask at another time, too', async () => {
    const sql = `SELECT extract(month FROM date_trunc('month', at)), MEASURE(visits_before) FROM visits GROUP BY 1 ORDER BY 1`;
    const boss = [
      [2, 2],
      [3, 1],
    ];
    for (const timezone of ['UTC', 'Europe/Berlin']) {
      expect(await ask(sql, shifted, timezone)).toEqual([boss, [[6, 3]]]);
    }
  });

  test('of two parts that the view tells apart each is masked by its own name', async () => {
    expect(await ask('SELECT shop_city, buyer_city FROM everything', inDoubt)).toEqual([
      [['Rome', 'Rome']],
      [['Rome', 'hidden']],
    ]);
  });

  test('what an entry masks under another name than another entry, and does not list under that', async () => {
    expect(await ask('SELECT id, loud FROM places ORDER BY 1', renamed)).toEqual([
      [
        [1, 'ROME'],
        [2, 'OSLO'],
      ],
      [
        [1, 'HIDDEN'],
        [2, 'HIDDEN'],
      ],
    ]);
  });
});
