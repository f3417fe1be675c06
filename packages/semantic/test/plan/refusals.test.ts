/** What the planner refuses: it says what is missing to those who may see it, and never of what they may not. */
import { expect, test } from 'vitest';
import { duckdb } from '../../src/dialects/duckdb.ts';
import { SemanticError } from '../../src/semantic-error.ts';
import { loadModel } from '../load-model.ts';
import { anybody, compileQuestion, type Question } from './ask.ts';
import { tradeYaml } from './trade.ts';

const model = loadModel(tradeYaml);

const refusal = (question: Question, from = model, subject = anybody): SemanticError => {
  try {
    compileQuestion(question, from, duckdb, subject);
  } catch (error) {
    if (error instanceof SemanticError) return error;
    throw error;
  }
  throw new Error('not refused');
};

test.each<[name: string, question: Question, message: string, hint: RegExp]>([
  [
    'a fact by a dimension that no join leads to',
    { from: 'trade', keys: ['page'], measures: ['amount'] },
    'amount cannot be asked by page: no join leads there.',
    /^$/,
  ],
  [
    'a fact filtered by one',
    { from: 'trade', measures: ['visits_count', 'refunded'], where: [['page', '=', 'home']] },
    'refunded cannot be asked by page: no join leads there.',
    /^$/,
  ],
  [
    'no primary key where a join repeats the rows of a measure',
    { from: 'web', keys: ['status'], measures: ['seconds'] },
    'seconds cannot be computed here: its cube visits has no primary key.',
    /mark the dimensions that tell rows of visits apart/,
  ],
  [
    'two ways of the same length',
    { from: ['orders', 'cities'], keys: ['cities.city'], measures: ['orders.amount'] },
    'orders.amount cannot be asked by cities.city: joins lead there in more than one way.',
    /join path of a view/,
  ],
  [
    'no way, in either direction',
    { from: ['items', 'warehouses'], keys: ['warehouses.id'], measures: ['items.lines'] },
    'items.lines cannot be asked by warehouses.id: no join leads there.',
    /^$/,
  ],
  [
    'a choice that is not made',
    { from: 'sales', measures: ['amount'], where: [['measured_as', '<>', 'net']] },
    'measured_as depends on a choice that the query does not make.',
    /fix it by =/,
  ],
  [
    'rows of two branches',
    { from: 'customers_all', keys: ['sku', 'reason'], isUngrouped: true },
    'Rows of customers_all with these members would be every combination of unrelated rows.',
    /fewer cubes/,
  ],
])('%s', (_name, question, message, hint) => {
  const branched = loadModel(
    tradeYaml.replace(
      'joins:\n      - { name: cities, relationship: many_to_one, sql: "{CUBE}.city_id = {cities.id}" }\n      - { name: orders',
      'joins:\n      - { name: refunds, relationship: one_to_many, sql: "{CUBE}.id = {refunds}.customer_id" }\n      - { name: cities, relationship: many_to_one, sql: "{CUBE}.city_id = {cities.id}" }\n      - { name: orders',
    ),
    `views:
  - name: customers_all
    cubes:
      - { join_path: customers.orders.items, includes: [sku] }
      - { join_path: customers.refunds, includes: [reason] }`,
  );
  const error = refusal(question, question.from === 'customers_all' ? branched : model);
  expect(error.code).toBe('QUERY_NOT_PLANNABLE');
  expect(error.message).toBe(message);
  expect(error.hint).toMatch(hint);
});

test('a cube that the asker may not see is not named', () => {
  const hidden = loadModel(
    tradeYaml.replace(
      '- name: visits\n    sql_table: visits',
      '- name: visits\n    public: false\n    sql_table: visits',
    ),
  );
  expect(refusal({ from: 'web', keys: ['status'], measures: ['seconds'] }, hidden).message).toBe(
    'seconds cannot be computed here: its cube has no primary key.',
  );
});
