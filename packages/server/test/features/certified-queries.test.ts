/** Certified queries of the demo, end to end: the built-in analyst over HTTP. */
import type { Frame } from '@inlay/contract/chat.ts';
import { readFrames } from '@inlay/sdk/chat-stream.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openSession, openTestServer, type TestServer } from '../test-server.ts';

const chatPath = '/api/v1/public/demo/agents/1/chat/stream-chat-state';

describe('a certified question', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await openTestServer();
  });
  afterAll(() => server.close());

  async function ask(input: string, merchant: number | null): Promise<readonly Frame[]> {
    const rights = { groups: ['merchant'], userAttributes: [{ name: 'merchant_id', value: merchant }] };
    const user = merchant === null ? { externalId: 'nobody' } : { externalId: `merchant-${merchant}`, ...rights };
    const reply = await fetch(server.url + chatPath, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: await openSession(server, server.demo, user) },
      body: JSON.stringify({ input }),
    });
    if (reply.status !== 200 || reply.body === null) throw new Error(`chat: ${reply.status}`);
    return Array.fromAsync(readFrames(reply.body));
  }
  const finalOf = (frames: readonly Frame[]): string =>
    frames.find(({ graphPath }) => graphPath?.[0] === 'final')?.content ?? '';
  const queriesOf = (frames: readonly Frame[]): readonly string[] =>
    frames.flatMap(({ toolCall }) =>
      toolCall?.name === 'platformSqlApi' && toolCall.result !== undefined ? [toolCall.result] : [],
    );

  test('runs the certified SQL under the rights of who asks, and says that it is certified', async () => {
    const [one, other] = [await ask('How is business?', 7), await ask('how is business', 8)];
    for (const frames of [one, other]) {
      const [result = '{}'] = queriesOf(frames);
      expect(queriesOf(frames)).toHaveLength(1);
      const { sqlQuery, queryTitle, schema, totalRows } = JSON.parse(result);
      expect(sqlQuery).toMatch(/^SELECT\n {2}date_trunc\('year', created_at\) AS year,/);
      expect(queryTitle).toBe('Business by year');
      expect(schema.map(({ name }: { name: string }) => name)).toEqual([
        'year',
        'revenue',
        'orders_count',
        'average_order_value',
      ]);
      expect(totalRows).toBe(4);
      expect(finalOf(frames)).toMatch(
        /^Business by year: 2022 with .*\n\nFrom the certified query “Business by year”\.$/,
      );
    }
    const revenueOf = (frames: readonly Frame[]): number =>
      JSON.parse(queriesOf(frames)[0] ?? '{}').data.reduce(
        (sum: number, [, value]: string[]) => sum + Number(value),
        0,
      );
    expect(revenueOf(one)).toBeCloseTo(2_762_976.15, 2);
    expect(revenueOf(other)).toBeCloseTo(1_625_279.69, 2);
  });

  test('does not exist for a user who may see nothing', async () => {
    const frames = await ask('How is business?', null);
    expect(queriesOf(frames)).toEqual([]);
    expect(finalOf(frames)).toBe('There is no data here that you may query.');
  });

  test('is no other question', async () => {
    expect(finalOf(await ask('revenue by channel in 2025', 7))).not.toContain('ertified');
  });
});
