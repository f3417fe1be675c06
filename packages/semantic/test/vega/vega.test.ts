/** Two models of data from outside, the npm package vega-datasets: a dozen answers of each, against SQL for DuckDB written by hand. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { compileSql } from '../../src/compile-sql.ts';
import type { Subject } from '../../src/policy/subject.ts';
import { useEngine, type Value } from '../engines.ts';
import { loadModel } from '../load-model.ts';

const here = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');
/** The package exports no files: they lie beside its module. */
const data = (name: string) =>
  fileURLToPath(new URL(`../data/${name}`, import.meta.resolve('vega-datasets'))).replaceAll("'", "''");
const model = loadModel(here('flights.yml'), here('employment.yml'));
const everybody: Subject = {
  groups: ['everybody'],
  userAttributes: {},
  securityContext: {},
  embedTenantName: null,
  isEmbedTenantScope: false,
  seesUnprotected: false,
};
const texan: Subject = { ...everybody, groups: ['state'], userAttributes: { state: 'TX', delay: 0 } };

/** Name, semantic SQL, SQL by hand, and who asks. */
type Question = readonly [name: string, asked: string, byHand: string, as?: Subject];

const flights: readonly Question[] = [
  ['how many', 'SELECT MEASURE(flights_count) FROM travel', 'SELECT count(*) FROM flights'],
  [
    'by month: counts, averages, the worst',
    "SELECT date_trunc('month', left_at), MEASURE(flights_count), MEASURE(mean_delay), MEASURE(worst_delay) FROM travel GROUP BY 1",
    "SELECT date_trunc('month', date), count(*), avg(delay), max(delay) FROM flights GROUP BY 1",
  ],
  [
    'the share that is late, by state of departure, where many leave',
    'SELECT origins_state, MEASURE(share_late) FROM travel GROUP BY 1 HAVING MEASURE(flights_count) > 50000',
    `SELECT o.state, count(*) FILTER (WHERE delay > 15) / count(*) FROM flights AS f
      LEFT JOIN airports AS o ON f.origin = o.iata GROUP BY 1 HAVING count(*) > 50000`,
  ],
  [
    'ten routes by miles',
    'SELECT route, MEASURE(miles) FROM travel GROUP BY 1 ORDER BY 2 DESC LIMIT 10',
    "SELECT origin || '-' || destination, sum(distance) FROM flights GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10",
  ],
  [
    'within one state, between two ends of one table',
    "SELECT origins_city, destinations_city, MEASURE(flights_count) FROM travel WHERE origins_state = 'CA' AND destinations_state = 'CA' GROUP BY 1, 2",
    `SELECT o.city, d.city, count(*) FROM flights AS f JOIN airports AS o ON f.origin = o.iata JOIN airports AS d ON f.destination = d.iata
      WHERE o.state = 'CA' AND d.state = 'CA' GROUP BY 1, 2`,
  ],
  [
    'by length',
    'SELECT length, MEASURE(flights_count), MEASURE(routes) FROM travel GROUP BY 1',
    `SELECT CASE WHEN distance < 500 THEN 'short' WHEN distance < 1500 THEN 'middle' ELSE 'long' END, count(*),
      count(DISTINCT origin || '-' || destination) FROM flights GROUP BY 1`,
  ],
  [
    'by hour of the day, late ones only',
    'SELECT EXTRACT(hour FROM left_at), MEASURE(flights_count) FROM travel WHERE late GROUP BY 1',
    'SELECT hour(date), count(*) FROM flights WHERE delay > 15 GROUP BY 1',
  ],
  [
    'seven days up to each of February',
    "SELECT date_trunc('day', left_at), MEASURE(flights_of_seven_days) FROM travel WHERE left_at >= '2001-02-01' AND left_at < '2001-03-01' GROUP BY 1",
    `SELECT day, (SELECT count(*) FROM flights WHERE date >= day - INTERVAL 6 DAY AND date < day + INTERVAL 1 DAY)
      FROM (SELECT unnest(generate_series(TIMESTAMP '2001-02-01', TIMESTAMP '2001-02-28', INTERVAL 1 DAY)) AS day)`,
  ],
  [
    'beside the month before',
    "SELECT date_trunc('month', left_at), MEASURE(flights_count), MEASURE(flights_last_month) FROM travel WHERE left_at >= '2001-02-01' AND left_at < '2001-04-01' GROUP BY 1",
    `SELECT m, n, before FROM (SELECT m, n, lag(n) OVER (ORDER BY m) AS before FROM
      (SELECT date_trunc('month', date) AS m, count(*) AS n FROM flights GROUP BY 1)) WHERE m >= '2001-02-01' AND m < '2001-04-01'`,
  ],
  [
    'the share of each airport in all',
    "SELECT origins_iata, MEASURE(flights_count) / MEASURE(flights_of_all) FROM travel WHERE origins_state = 'NY' GROUP BY 1",
    `SELECT f.origin, count(*) / sum(count(*)) OVER () FROM flights AS f JOIN airports AS o ON f.origin = o.iata WHERE o.state = 'NY' GROUP BY 1`,
  ],
  [
    'the busiest day of each month',
    "SELECT date_trunc('month', left_at), MEASURE(busiest_day) FROM travel GROUP BY 1",
    `SELECT date_trunc('month', day), max(n) FROM (SELECT date_trunc('day', date) AS day, count(*) AS n FROM flights GROUP BY 1) GROUP BY 1`,
  ],
  [
    'running miles by month, the airports of the top three states ranked',
    `SELECT x.origins_state, x.m, x.miles, RANK() OVER (PARTITION BY x.m ORDER BY x.miles DESC) AS place FROM
      (SELECT origins_state, date_trunc('month', left_at) AS m, MEASURE(running_miles) AS miles FROM travel
        WHERE origins_state IN ('TX', 'CA', 'FL') AND left_at >= '2001-01-01' AND left_at < '2001-07-01' GROUP BY 1, 2) AS x`,
    `SELECT state, m, miles, rank() OVER (PARTITION BY m ORDER BY miles DESC) FROM (SELECT o.state, date_trunc('month', date) AS m,
      sum(sum(distance)) OVER (PARTITION BY o.state ORDER BY date_trunc('month', date)) AS miles
      FROM flights AS f JOIN airports AS o ON f.origin = o.iata WHERE o.state IN ('TX', 'CA', 'FL') AND date < '2001-07-01' GROUP BY 1, 2)`,
  ],
  [
    'as one who sees one state and no early flights: others are as if they had no airport',
    'SELECT origins_state, destinations_state, MEASURE(flights_count) FROM travel GROUP BY 1, 2',
    `SELECT o.state, d.state, count(*) FROM flights AS f LEFT JOIN airports AS o ON f.origin = o.iata AND o.state = 'TX'
      LEFT JOIN airports AS d ON f.destination = d.iata AND d.state = 'TX' WHERE delay >= 0 GROUP BY 1, 2`,
    texan,
  ],
];

const months = 'EXTRACT(year FROM month) = 2010';
const long = 'FROM (UNPIVOT employment ON COLUMNS(* EXCLUDE (month)) INTO NAME sector VALUE jobs)';
const employment: readonly Question[] = [
  [
    'one number',
    `SELECT MEASURE(jobs) FROM employment WHERE sector = 'nonfarm' AND month = '2015-12-01'`,
    "SELECT nonfarm FROM employment WHERE month = '2015-12-01'",
  ],
  [
    'by sector',
    `SELECT sector, MEASURE(mean_jobs), MEASURE(least_jobs) FROM employment GROUP BY 1`,
    `SELECT sector, avg(jobs), min(jobs) ${long} GROUP BY 1`,
  ],
  [
    'by year and kind',
    "SELECT date_trunc('year', month), kind, MEASURE(jobs) FROM employment GROUP BY 1, 2",
    `SELECT date_trunc('year', month)::TIMESTAMP, CASE WHEN sector IN ('construction', 'manufacturing', 'mining_and_logging') THEN 'goods'
      WHEN sector IN ('information', 'financial_activities', 'other_services') THEN 'services' END, sum(jobs) ${long} GROUP BY 1, 2`,
  ],
  [
    'the least month of manufacturing',
    "SELECT date_trunc('month', month), MEASURE(jobs) FROM employment WHERE sector = 'manufacturing' GROUP BY 1 ORDER BY 2 LIMIT 1",
    'SELECT month::TIMESTAMP, manufacturing FROM employment ORDER BY 2, 1 LIMIT 1',
  ],
  [
    'beside the year before',
    `SELECT date_trunc('month', month), MEASURE(jobs), MEASURE(jobs_last_year), MEASURE(growth) FROM employment WHERE sector = 'construction' AND ${months} GROUP BY 1`,
    `SELECT a.month::TIMESTAMP, a.construction, b.construction, a.construction / b.construction - 1 FROM employment AS a
      JOIN employment AS b ON b.month = a.month - INTERVAL 1 YEAR WHERE year(a.month) = 2010`,
  ],
  [
    'the first year has none before it',
    "SELECT date_trunc('year', month), MEASURE(growth) FROM employment WHERE sector = 'private' AND month < '2008-01-01' GROUP BY 1",
    `SELECT TIMESTAMP '2006-01-01', NULL UNION ALL SELECT TIMESTAMP '2007-01-01', (SELECT sum(private) FROM employment WHERE year(month) = 2007) /
      (SELECT sum(private) FROM employment WHERE year(month) = 2006) - 1`,
  ],
  [
    'shares of the kinds',
    `SELECT sector, MEASURE(share) FROM employment WHERE kind = 'goods' AND ${months} GROUP BY 1`,
    `SELECT sector, sum(jobs) / sum(sum(jobs)) OVER () ${long} WHERE sector IN ('construction', 'manufacturing', 'mining_and_logging') AND year(month) = 2010 GROUP BY 1`,
  ],
  [
    'what there was at the end of each year, added up over sectors',
    "SELECT date_trunc('year', month), MEASURE(jobs_at_end) FROM employment WHERE kind = 'goods' GROUP BY 1",
    `SELECT date_trunc('year', month)::TIMESTAMP, construction + manufacturing + mining_and_logging FROM employment WHERE month(month) = 12`,
  ],
  [
    'fiscal years from October',
    "SELECT date_trunc('fiscal_year', month), MEASURE(jobs) FROM employment WHERE sector = 'government' GROUP BY 1",
    "SELECT (date_trunc('year', month + INTERVAL 3 MONTH) - INTERVAL 3 MONTH)::TIMESTAMP, sum(government) FROM employment GROUP BY 1",
  ],
  [
    'an average of three months',
    `SELECT date_trunc('month', month), MEASURE(mean_of_quarter) FROM employment WHERE sector = 'information' AND month >= '2010-01-01' AND month < '2011-01-01' GROUP BY 1`,
    `SELECT month::TIMESTAMP, mean FROM (SELECT month, avg(information) OVER (ORDER BY month ROWS 2 PRECEDING) AS mean FROM employment) WHERE year(month) = 2010`,
  ],
  [
    'the average of yearly sums',
    "SELECT AVG(x.jobs) FROM (SELECT date_trunc('year', month) AS y, MEASURE(jobs) AS jobs FROM employment WHERE sector = 'utilities' GROUP BY 1) AS x",
    'SELECT sum(utilities) / 10 FROM employment',
  ],
  [
    'a zone says nothing of local months',
    "SELECT date_trunc('quarter', month), MEASURE(jobs) FROM employment WHERE sector = 'leisure_and_hospitality' GROUP BY 1",
    "SELECT date_trunc('quarter', month)::TIMESTAMP, sum(leisure_and_hospitality) FROM employment GROUP BY 1",
  ],
  [
    'months that lost jobs',
    "SELECT date_trunc('month', month) FROM employment WHERE sector = 'nonfarm_change' GROUP BY 1 HAVING MEASURE(jobs) < 0",
    'SELECT month::TIMESTAMP FROM employment WHERE nonfarm_change < 0',
  ],
];

/** Doubles without the digits that the order of additions decides; the order of rows is the questions' own where they have one. */
const lines = (rows: readonly (readonly Value[])[]) =>
  rows
    .map((row) => JSON.stringify(row.map((cell) => (typeof cell === 'number' ? Number(cell.toPrecision(10)) : cell))))
    .sort();

describe('data from outside', () => {
  const engine = useEngine('duckdb');
  beforeAll(async () => {
    await engine().exec(
      `CREATE TABLE flights AS SELECT row_number() OVER () AS id, * FROM '${data('flights-3m.parquet')}';
      CREATE TABLE airports AS SELECT * FROM '${data('airports.csv')}';
      CREATE TABLE employment AS SELECT month, COLUMNS(* EXCLUDE (month))::DOUBLE FROM '${data('us-employment.csv')}'`,
    );
  }, 120_000);

  for (const [name, asked, byHand, as = everybody] of [...flights, ...employment]) {
    test(name, { timeout: 120_000 }, async () => {
      const timezone = asked.includes('leisure') ? 'America/Los_Angeles' : 'UTC';
      const { sql, parameters } = compileSql(asked, model, as, engine().dialect, { timezone });
      const rows = await engine().run(sql, parameters);
      const expected = await engine().run(byHand);
      expect(expected.length).toBeGreaterThan(0);
      expect(lines(rows)).toEqual(lines(expected));
    });
  }
});
