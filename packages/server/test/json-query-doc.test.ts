/** Every example of json-query.md with its rows, as a user of merchant 7. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSession, openTestServer, type TestServer } from './test-server.ts';

const text = readFileSync(join(import.meta.dirname, '../../../docs/reference/json-query.md'), 'utf8');
const examples = [...text.matchAll(/^```json\n(\{.*?)^```\n\n```json\n(.*?)^```\n/gms)].map(
  ([, query = '', rows = '']) => ({ query: JSON.parse(query), rows: rows.trim() }),
);

let server: TestServer;
let token: string;
beforeAll(async () => {
  server = await openTestServer({ clock: () => new Date('2026-05-01T10:00:00Z') });
  const user = { externalId: 'seven', groups: ['merchant'], userAttributes: [{ name: 'merchant_id', value: 7 }] };
  token = await openSession(server, server.demo, user);
});
afterAll(() => server.close());

test('none is passed over', () => {
  expect(examples).toHaveLength(3);
  expect(text.match(/^```json$/gm)).toHaveLength(2 * examples.length);
});

test.each(examples)('$query', async ({ query, rows }) => {
  const reply = await fetch(`${server.url}/api/v1/deployments/1/load`, {
    method: 'POST',
    headers: { authorization: token, 'content-type': 'application/json' },
    body: JSON.stringify({ query, queryType: 'multi' }),
  });
  const { results } = JSON.parse(await reply.text());
  const data = results.flatMap((it: { data: object[] }) => it.data);
  expect(JSON.stringify(data).replaceAll('},{', '},\n{')).toBe(rows);
});
