/** Hostile queries in the JSON form, by what they try and how they end. */
import type { SemanticErrorCode } from '../../src/semantic-error.ts';

/** Queries that all end alike. */
export interface JsonAttack {
  readonly tries: string;
  readonly ends: 'answered' | SemanticErrorCode;
  readonly queries: readonly unknown[];
}

const count = { measures: ['sales.orders_count'] };
const where = (...filters: readonly unknown[]) => ({ ...count, filters });
const deep = (levels: number): unknown =>
  levels === 0 ? { member: 'sales.id', operator: 'set' } : { or: [deep(levels - 1)] };

/** The queries. */
export const json: readonly JsonAttack[] = [
  {
    tries: 'other relations',
    ends: 'RELATION_NOT_FOUND',
    queries: [
      { measures: ['vault.secrets'] },
      { dimensions: ['vault.secret'] },
      { dimensions: ['open_vault.secret'] },
      { dimensions: ['secrets.secret'] },
      { measures: ['orders.orders_count'], dimensions: ['vault.secret'] },
      where({ member: 'vault.secret', operator: 'set' }),
      { ...count, segments: ['vault.x'] },
      { dimensions: ['pg_shadow.passwd'] },
      { dimensions: ['__proto__.secret'] },
      { dimensions: ['constructor.name'] },
    ],
  },
  {
    tries: 'hidden members',
    ends: 'MEMBER_NOT_FOUND',
    queries: [
      { dimensions: ['sales.code'] },
      { dimensions: ['orders.code'] },
      { measures: ['sales.codes'] },
      { measures: ['sales.payroll'] },
      { dimensions: ['people.shop'] },
      { ...count, segments: ['sales.cheap'] },
      where({ member: 'sales.code', operator: 'set' }),
      where({
        or: [
          { member: 'sales.id', operator: 'set' },
          { member: 'sales.code', operator: 'contains', values: ['a'] },
        ],
      }),
      where({ member: 'sales.codes', operator: 'gt', values: ['0'] }),
      { ...count, timeDimensions: [{ dimension: 'people.salary', granularity: 'day' }] },
      { dimensions: ['sales.masked cost'] },
      { dimensions: ['sales.__proto__'] },
      { dimensions: ['sales.toString'] },
      { measures: ['sales."code"'] },
      { measures: ['sales.orders_count; DROP TABLE orders'] },
    ],
  },
  {
    tries: 'masks and rows of others',
    ends: 'answered',
    queries: [
      { dimensions: ['sales.email', 'sales.cost'], ungrouped: true },
      { ...count, dimensions: ['sales.email'] },
      { dimensions: ['people.name'], order: { 'people.name': 'asc' } },
      { dimensions: ['people.email'], order: { 'people.email': 'asc' }, limit: 1 },
      where({ member: 'sales.email', operator: 'startsWith', values: ['ann'] }),
      where({ member: 'sales.email', operator: 'notEquals', values: ['masked'] }),
      where({ member: 'sales.cost', operator: 'gt', values: ['5'] }),
      where({ member: 'sales.born_at', operator: 'afterDate', values: ['1985-01-01'] }),
      where({ member: 'sales.costs', operator: 'gt', values: ['5'] }),
      where({ member: 'sales.shop', operator: 'equals', values: ['2'] }),
      where({
        or: [
          { member: 'sales.shop', operator: 'equals', values: ['2'] },
          { member: 'sales.id', operator: 'set' },
        ],
      }),
      where({ member: 'sales.status', operator: 'contains', values: ["' OR 1=1 --", '%', '_', '\\', "\\' OR 1=1"] }),
      where({ member: 'sales.status', operator: 'equals', values: ["paid'; DROP TABLE orders; --"] }),
      { measures: ['sales.costs', 'sales.margin', 'sales.highest'] },
      {
        measures: ['sales.running'],
        timeDimensions: [{ dimension: 'sales.made_at', granularity: 'month', dateRange: ['2023-01-01', '2024-03-31'] }],
      },
      {
        measures: ['sales.revenue'],
        timeDimensions: [{ dimension: 'sales.made_at', dateRange: ['0001-01-01', '9999-12-31'] }],
      },
      { ...count, timeDimensions: [{ dimension: 'sales.born_at', granularity: 'year' }] },
      { measures: ['people.people_count'], dimensions: ['orders.status'] },
      { measures: ['people.emails'] },
      { measures: ['sales.revenue', 'sales.pieces'], dimensions: ['sales.title'] },
      { ...count, segments: ['sales.paid'], total: true },
      { ...count, renewQuery: true, cacheMode: 'no-cache' },
    ],
  },
  {
    tries: 'the shape of a query',
    ends: 'QUERY_INVALID',
    queries: [
      null,
      [],
      'SELECT 1',
      {},
      { measures: 'sales.orders_count' },
      { measures: [1] },
      { measures: ['orders_count'] },
      { measures: ['a.b.c.d'] },
      { ...count, sql: 'SELECT * FROM vault' },
      { ...count, joinHints: [['vault']] },
      { ...count, filter: [] },
      JSON.parse('{"measures":["sales.orders_count"],"__proto__":{"x":1}}'),
      JSON.parse('{"measures":["sales.orders_count"],"constructor":{"prototype":{"x":1}}}'),
      where({ member: 'sales.id', operator: 'sql', values: ['1=1'] }),
      where({ member: 'sales.id', operator: 'constructor', values: ['1'] }),
      where({ member: 'sales.id', operator: 'equals' }),
      where({ member: 'sales.id', operator: 'equals', values: [] }),
      where({ member: 'sales.id', operator: 'equals', values: [{}] }),
      where({ member: 'sales.id', operator: 'equals', values: Array.from({ length: 5000 }, String) }),
      where(deep(100)),
      { ...count, limit: -1 },
      { ...count, limit: 1e9 },
      { ...count, offset: 0.5 },
      { ...count, offset: Number.NaN },
      { ...count, order: { 'sales.orders_count': 'asc; DROP TABLE orders' } },
      { ...count, timeDimensions: [{ dimension: 'sales.made_at', dateRange: "2024'; --" }] },
      { ...count, timeDimensions: [{ dimension: 'sales.made_at', dateRange: 'last 999999999999 years' }] },
    ],
  },
];
