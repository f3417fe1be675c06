/** Which query is certified, for which question, and what an answer says of it. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { certifiedLine } from '../src/agent/certified-line.ts';
import type { CertifiedQuery } from '../src/agent/configuration/agent-configuration.ts';
import {
  fingerprintOf,
  fingerprintOrNull,
  keepFingerprints,
  matchExactly,
  nearest,
  normaliseRequest,
} from '../src/agent/configuration/certified-queries.ts';

const query = (name: string, sql: string, ...userRequests: string[]): CertifiedQuery => ({
  name,
  userRequests,
  sql,
  fingerprint: fingerprintOf(sql),
  agents: null,
});
const byChannel = `SELECT channel, MEASURE(revenue) AS revenue FROM sales WHERE status = 'paid' GROUP BY 1 ORDER BY 2 DESC`;

describe('a query is the same', () => {
  test.each([
    ['in another layout', byChannel.replaceAll(' ', '\n  ')],
    ['with comments', `-- what sells\n${byChannel} /* by channel */`],
    ['in another case', byChannel.replace('SELECT channel', 'select CHANNEL').replace('ORDER BY', 'order by')],
    ['with brackets', byChannel.replace(`status = 'paid'`, `((status = 'paid'))`)],
    ['with qualified names', byChannel.replace('SELECT channel', 'SELECT sales.channel')],
    [
      'under an alias',
      `SELECT s.channel, MEASURE(s.revenue) AS revenue FROM sales AS s WHERE s.status = 'paid' GROUP BY 1 ORDER BY 2 DESC`,
    ],
  ])('%s', (_name, sql) => expect(fingerprintOf(sql)).toBe(fingerprintOf(byChannel)));

  test.each([
    ['with another value', byChannel.replace('paid', 'Paid')],
    ['of another view', byChannel.replace('FROM sales', 'FROM fulfilment')],
    ['with another name of a column', byChannel.replace('AS revenue', 'AS income')],
    ['with a limit', `${byChannel} LIMIT 5`],
    ['in another order', byChannel.replace('DESC', 'ASC')],
    ['without a filter', byChannel.replace(`WHERE status = 'paid'`, '')],
    ['with a name qualified by another', byChannel.replace('SELECT channel', 'SELECT orders.channel')],
  ])('but not %s', (_name, sql) => expect(fingerprintOf(sql)).not.toBe(fingerprintOf(byChannel)));

  test('what does not parse is none', () => expect(fingerprintOrNull('SELEC')).toBeNull());
});

describe('a question is the same', () => {
  const queries = [
    query('Channels', byChannel, 'What sells where?', 'Revenue by channel'),
    query('Total', 'SELECT MEASURE(revenue) FROM sales', 'How much revenue do we have?'),
  ];
  test.each([
    ['What sells where?', 'Channels'],
    ['  what   SELLS\nwhere ', 'Channels'],
    ['What sells where?!', 'Channels'],
    ['“Revenue by channel”.', 'Channels'],
    ['ｗｈａｔ sells where', 'Channels'],
    ['How much revenue do we have', 'Total'],
  ])('%s', (question, name) => expect(matchExactly(queries, question).map((it) => it.name)).toEqual([name]));

  test.each(['What sells where in 2025?', 'sells where', '', '?!', `${'!'.repeat(40_000)}x`])(
    'but not %.30s',
    (question) => expect(matchExactly(queries, question)).toEqual([]),
  );

  test('normalising twice changes nothing more', () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('a', ' ', '!', '’', 'İ', ',', '\n') }));
    fc.assert(
      fc.property(text, (it) => {
        const once = normaliseRequest(it);
        return normaliseRequest(once) === once;
      }),
    );
  });

  test('the nearest come first', () => {
    expect(nearest(queries, 'how much revenue was there?', 2).map(({ name }) => name)).toEqual(['Total', 'Channels']);
    expect(nearest(queries, 'which channels sell best?', 1).map(({ name }) => name)).toEqual(['Channels']);
  });
});

describe('the line below an answer', () => {
  const queries = [query('Channels', byChannel, 'a'), query('T*tal', 'SELECT MEASURE(revenue) FROM sales', 'b')];
  const call = (sqlQuery: string, more: object = {}) => ({
    name: 'platformSqlApi',
    input: JSON.stringify({ sqlQuery }),
    result: '{}',
    hasFailed: false,
    ...more,
  });
  const line = (...calls: ReturnType<typeof call>[]) => certifiedLine(queries, 'platformSqlApi', calls);
  const other = 'SELECT MEASURE(orders_count) FROM sales';

  test('names the query that ran, however it was written', () => {
    expect(line(call(byChannel.toLowerCase()))).toBe('From the certified query “Channels”.');
    expect(line(call(byChannel), call(byChannel))).toBe('From the certified query “Channels”.');
    expect(line(call(byChannel), call(queries[1]?.sql ?? ''))).toBe(
      'From the certified queries “Channels”, “T\\*tal”.',
    );
  });

  test('says that others ran as well', () => {
    expect(line(call(byChannel), call(other))).toBe(
      'Partly from the certified query “Channels”; the other queries are not certified.',
    );
  });

  test('is not there without one', () => {
    expect(line()).toBeNull();
    expect(line(call(other))).toBeNull();
    expect(line(call(byChannel, { hasFailed: true }))).toBeNull();
    expect(line(call(byChannel, { name: 'platformMeta' }))).toBeNull();
    expect(line(call(byChannel, { input: 'no JSON' }))).toBeNull();
    expect(line(call(byChannel, { input: '{"sqlQuery":1}' }))).toBeNull();
  });

  test('a failed attempt before it changes nothing', () => {
    expect(line(call(other, { hasFailed: true }), call(byChannel))).toBe('From the certified query “Channels”.');
  });
});

test('a query is parsed once, and again only when others have taken its place in memory', () => {
  let parsed: string[] = [];
  const kept = keepFingerprints(250, (sql) => {
    parsed.push(sql);
    return sql.startsWith('bad') ? null : 'f'.repeat(90);
  });
  const [one, two, three] = ['SELECT 1', 'SELECT 2', 'SELECT 3'] as const;
  for (const sql of [one, two, 'bad', one, 'bad', one]) kept(sql);
  expect(parsed).toEqual([one, two, 'bad']);
  parsed = [];
  // The one that was met longest ago goes.
  kept(three);
  for (const sql of [one, 'bad', three]) kept(sql);
  expect(parsed).toEqual([three]);
  kept(two);
  expect(parsed).toEqual([three, two]);
});
