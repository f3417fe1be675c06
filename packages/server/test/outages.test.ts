/** An outage of the store in the log: two lines, however often a loop asked meanwhile; a defect: each time. */
import { expect, test } from 'vitest';
import { logOutages } from '../src/store/outages.ts';

test('of a store that is away the log tells once, and once that it is back; of a defect always', () => {
  const told: [level: string, text: string, fields: object][] = [];
  const to = (level: string) => (fields: object, text: string) => void told.push([level, text, fields]);
  const outages = logOutages({ error: to('error'), warn: to('warn'), info: to('info') }, 'it did not work');
  const away = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  const defect = new Error('no such column');
  outages.succeeded();
  for (const err of [away, away, defect, defect, away]) outages.failed(err);
  outages.succeeded();
  outages.succeeded();
  outages.failed(away);
  expect(told).toEqual([
    ['warn', 'it did not work', { err: away }],
    ['error', 'it did not work', { err: defect }],
    ['error', 'it did not work', { err: defect }],
    ['info', 'the store is there again', { failures: 3, was: 'it did not work' }],
    ['warn', 'it did not work', { err: away }],
  ]);
});
