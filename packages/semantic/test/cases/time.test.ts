/** Cases 14 to 17 and 19 to 23: windows, shifts, gaps, ranges, zones, weeks, units of the model. */
import { runCases } from './run-cases.ts';

const month = (text: string) => `${text}-01 00:00:00`;
const day = (text: string) => `${text} 00:00:00`;
const berlin = 'Europe/Berlin';
const quarter = "at >= '2024-01-01' AND at < '2024-04-01'";

runCases('time', [
  {
    name: '14 a window reads rows before the filtered months; distinct buyers are counted once',
    sql: `SELECT date_trunc('month', at), MEASURE(of_two_months), MEASURE(buyers_of_two_months) FROM sales WHERE ${quarter} GROUP BY 1 ORDER BY 1`,
    rows: [
      [month('2024-01'), 30, 1],
      [month('2024-02'), 20, 1],
      [month('2024-03'), 30.5, 1],
    ],
  },
  {
    name: '15 a window by an untruncated time is refused',
    sql: 'SELECT at, MEASURE(of_two_months) FROM sales GROUP BY 1',
    refused: ['QUERY_NOT_PLANNABLE', /of_two_months/],
  },
  {
    name: '16 a window of the month before',
    sql: `SELECT date_trunc('month', at), MEASURE(of_two_months_ago) FROM sales WHERE ${quarter} GROUP BY 1 ORDER BY 1`,
    rows: [
      [month('2024-01'), 10],
      [month('2024-02'), 30],
      [month('2024-03'), 20],
    ],
  },
  {
    name: '17 `offset: start` leaves the month itself out',
    sql: `SELECT date_trunc('month', at), MEASURE(of_two_months_before) FROM sales WHERE ${quarter} GROUP BY 1 ORDER BY 1`,
    rows: [
      [month('2024-01'), 10],
      [month('2024-02'), 30],
      [month('2024-03'), 20],
    ],
  },
  {
    name: '19 months without rows are filled in when asked',
    sql: `SELECT date_trunc('month', at), MEASURE(amount), MEASURE(orders_count) FROM sales WHERE ${quarter} GROUP BY 1 ORDER BY 1`,
    isFilled: true,
    rows: [
      [month('2024-01'), 20, 1],
      [month('2024-02'), null, null],
      [month('2024-03'), 30.5, 2],
    ],
  },
  {
    name: '19 and not otherwise',
    sql: `SELECT date_trunc('month', at), MEASURE(amount) FROM sales WHERE ${quarter} GROUP BY 1 ORDER BY 1`,
    rows: [
      [month('2024-01'), 20],
      [month('2024-03'), 30.5],
    ],
  },
  {
    name: '19 what a filter leaves out is not filled in again',
    sql: `SELECT date_trunc('month', at), MEASURE(amount) FROM sales WHERE ${quarter} AND NOT (at >= '2024-02-01' AND at < '2024-03-01') GROUP BY 1 ORDER BY 1`,
    isFilled: true,
    rows: [
      [month('2024-01'), 20],
      [month('2024-03'), 30.5],
    ],
  },
  {
    name: '19 an empty table has its months, too',
    sql: `SELECT date_trunc('month', at), MEASURE(total) FROM nothing WHERE at >= '2024-01-01' AND at < '2024-03-01' GROUP BY 1 ORDER BY 1`,
    isFilled: true,
    rows: [
      [month('2024-01'), null],
      [month('2024-02'), null],
    ],
  },
  {
    name: '20 the end of a range is not in it',
    sql: "SELECT MEASURE(orders_count) FROM sales WHERE at >= '2024-01-15 12:00:00' AND at < '2024-03-10 08:00:00'",
    rows: [[1]],
  },
  {
    name: '20 a day of a date is the whole day',
    sql: "SELECT MEASURE(orders_count) FROM sales WHERE date_trunc('day', at) = '2024-03-10'",
    rows: [[1]],
  },
  {
    name: '21 23:30 UTC is the next day, and the next year, in Berlin',
    sql: "SELECT date_trunc('day', at), EXTRACT(year FROM at) FROM sales WHERE id = 1",
    timezone: berlin,
    rows: [[day('2024-01-01'), 2024]],
  },
  {
    name: '21 and the same day in UTC',
    sql: "SELECT date_trunc('day', at), EXTRACT(year FROM at) FROM sales WHERE id = 1",
    rows: [[day('2023-12-31'), 2023]],
  },
  {
    name: '21 a day has 23 hours, or 25, where clocks change',
    sql: `SELECT date_trunc('day', at), MEASURE(hours_count) FROM hours
      WHERE at >= '2024-03-31' AND at < '2024-04-01' OR at >= '2024-10-27' AND at < '2024-10-28' GROUP BY 1 ORDER BY 1`,
    timezone: berlin,
    rows: [
      [day('2024-03-31'), 23],
      [day('2024-10-27'), 25],
    ],
  },
  {
    name: '21 by the hour of the clock: none at two in March, two in October',
    sql: `SELECT date_trunc('hour', at), MEASURE(hours_count) FROM hours
      WHERE at >= '2024-03-31 01:00:00' AND at < '2024-03-31 04:00:00' OR at >= '2024-10-27 02:00:00' AND at < '2024-10-27 03:00:00'
      GROUP BY 1 ORDER BY 1`,
    timezone: berlin,
    rows: [
      ['2024-03-31 01:00:00', 1],
      ['2024-03-31 03:00:00', 1],
      ['2024-10-27 02:00:00', 2],
    ],
  },
  {
    name: '22 the first days of 2021 are in week 53, and week 1 begins on Monday the 4th',
    sql: "SELECT date_trunc('week', at), MEASURE(hours_count) FROM hours WHERE at < '2022-01-01' GROUP BY 1 ORDER BY 1",
    rows: [
      [day('2020-12-28'), 2],
      [day('2021-01-04'), 1],
    ],
  },
  {
    name: '22 by number',
    sql: "SELECT EXTRACT(week FROM at), MEASURE(hours_count) FROM hours WHERE at < '2022-01-01' GROUP BY 1 ORDER BY 1",
    rows: [
      [1, 1],
      [53, 2],
    ],
  },
  {
    name: '23 fiscal years from April',
    sql: "SELECT date_trunc('fiscal_year', at), MEASURE(amount) FROM sales GROUP BY 1 ORDER BY 1",
    rows: [
      [day('2023-04-01'), 60.5],
      [day('2024-04-01'), 5.25],
    ],
  },
  {
    name: '23 and a row that is in April in Berlin only is none of March in UTC',
    sql: "SELECT date_trunc('fiscal_year', at), MEASURE(orders_count) FROM sales GROUP BY 1 ORDER BY 1",
    timezone: 'Pacific/Kiritimati',
    rows: [
      [day('2023-04-01'), 4],
      [day('2024-04-01'), 1],
    ],
  },
]);
