/** The agent's days are those of the session: what it takes for today, what it is told of it, and where its queries cut. */

import { DuckDBInstance } from '@duckdb/node-api';
import type { Frame } from '@inlay/contract/chat.ts';
import { readFrames } from '@inlay/sdk/chat-stream.ts';
import { finalAnswer } from '@inlay/sdk/thread-state.ts';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { chatIdOf } from '../chat-world.ts';
import { say, scriptedNetwork } from '../scripted-language-model.ts';
import { openSession, openTestServer, type TestServer } from '../test-server.ts';

let now = new Date();
const clock = (): Date => now;

const open = (server: TestServer, timezone: string | null): Promise<string> =>
  openSession(server, server.demo, {
    externalId: 'merchant-7',
    groups: ['merchant'],
    userAttributes: [{ name: 'merchant_id', value: 7 }],
    ...(timezone === null ? {} : { settings: { timezone } }),
  });

async function ask(server: TestServer, authorization: string, input: string, chatId?: string): Promise<Frame[]> {
  const reply = await fetch(`${server.url}/api/v1/public/demo/agents/1/chat/stream-chat-state`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization },
    body: JSON.stringify({ input, ...(chatId === undefined ? {} : { chatId }) }),
  });
  if (reply.status !== 200 || reply.body === null) throw new Error(`chat: ${reply.status}`);
  return Array.fromAsync(readFrames(reply.body));
}

describe('the built-in analyst', () => {
  let server: TestServer;
  let duckdb: Awaited<ReturnType<typeof openDuckdb>>;
  const openDuckdb = async () => (await DuckDBInstance.create(':memory:')).connect();
  beforeAll(async () => {
    server = await openTestServer({ clock });
    duckdb = await openDuckdb();
  });
  afterAll(() => server.close());

  /** The orders of merchant 7 from one instant to another, counted beside the product. */
  async function ordersBetween(from: string, to: string, condition = 'true'): Promise<string> {
    const file = `${inject('demoDataFolder')}/orders.parquet`;
    const result = await duckdb.runAndReadAll(
      `select count(*) from read_parquet('${file}')
       where merchant_id = 7 and created_at >= '${from}' and created_at < '${to}' and ${condition}`,
    );
    return String(result.getRows()[0]?.[0]);
  }
  const sumOf = (frames: readonly Frame[]): string => {
    const results = frames.flatMap(({ toolCall }) =>
      toolCall?.name === 'platformSqlApi' && toolCall.result !== undefined ? [toolCall.result] : [],
    );
    const rows: readonly unknown[][] = JSON.parse(results.at(-1) ?? '{}').data;
    return String(rows.reduce((sum, row) => sum + Number(row.at(-1)), 0));
  };
  const countOf = (frames: readonly Frame[]): string => / ([\d,]+)\.$/.exec(finalAnswer(frames) ?? '')?.[1] ?? '';

  // At each of these instants it is one day in UTC and another one there, or will be in a moment.
  test.each([
    { timezone: 'Pacific/Auckland', at: '2025-06-30T11:59:59Z', today: '30 June 2025', from: '2025-06-29 12:00' },
    { timezone: 'Pacific/Auckland', at: '2025-06-30T12:00:00Z', today: '1 July 2025', from: '2025-06-30 12:00' },
    { timezone: 'America/Los_Angeles', at: '2025-07-01T06:59:59Z', today: '30 June 2025', from: '2025-06-30 07:00' },
    { timezone: 'America/Los_Angeles', at: '2025-07-01T07:00:00Z', today: '1 July 2025', from: '2025-07-01 07:00' },
    { timezone: null, at: '2025-07-01T06:59:59Z', today: '1 July 2025', from: '2025-07-01 00:00' },
  ])('takes for today what $timezone shows at $at', async ({ timezone, at, today, from }) => {
    now = new Date(at);
    const frames = await ask(server, await open(server, timezone), 'how many orders today');
    expect(finalAnswer(frames)).toContain(`today (${today})`);
    const to = new Date(Date.parse(`${from}:00Z`) + 86_400_000).toISOString().slice(0, 16).replace('T', ' ');
    expect(countOf(frames)).toBe(await ordersBetween(from, to));
    expect(Number(countOf(frames))).toBeGreaterThan(0);
  });

  test('a month and a year end with the wall clock of the session', async () => {
    now = new Date('2025-06-30T12:30:00Z');
    const [there, here] = [await open(server, 'Pacific/Auckland'), await open(server, null)];
    const lastMonth = await ask(server, there, 'how many orders last month');
    expect(finalAnswer(lastMonth)).toContain('last month (June 2025)');
    expect(countOf(lastMonth)).toBe(await ordersBetween('2025-05-31 12:00', '2025-06-30 12:00'));
    expect(finalAnswer(await ask(server, here, 'how many orders last month'))).toContain('last month (May 2025)');
    now = new Date('2025-01-01T07:30:00Z');
    const lastYear = await ask(server, await open(server, 'America/Los_Angeles'), 'how many orders last year');
    // In Los Angeles it is still the last day of 2024.
    expect(finalAnswer(lastYear)).toContain('last year (2023)');
    expect(countOf(lastYear).replace(',', '')).toBe(await ordersBetween('2023-01-01 08:00', '2024-01-01 08:00'));
  });

  test('a follow-up keeps the zone, the range and the filters', async () => {
    now = new Date('2025-06-30T12:30:00Z');
    const authorization = await open(server, 'Pacific/Auckland');
    const first = await ask(server, authorization, 'how many orders last month');
    const second = await ask(server, authorization, 'only for web', chatIdOf(first));
    const third = await ask(server, authorization, 'and by day?', chatIdOf(first));
    const fourth = await ask(server, authorization, 'in May', chatIdOf(first));
    expect(finalAnswer(second)).toContain('last month (June 2025)');
    expect(countOf(second)).toBe(await ordersBetween('2025-05-31 12:00', '2025-06-30 12:00', "channel = 'web'"));
    // The first day there begins in May in UTC.
    const from = await ordersBetween('2025-05-31 12:00', '2025-06-01 12:00', "channel = 'web'");
    expect(finalAnswer(third)).toContain(`last month (June 2025): from ${from} in 1 June 2025 to `);
    expect(finalAnswer(fourth)).toContain('May 2025');
    expect(sumOf(fourth)).toBe(await ordersBetween('2025-04-30 12:00', '2025-05-31 12:00', "channel = 'web'"));
  });
});

test('a language model over the network is told the date and the zone of the session', async () => {
  const languageModel = scriptedNetwork(() => [say('Noted.')]);
  const server = await openTestServer({ clock, languageModel });
  try {
    now = new Date('2025-06-30T12:30:00Z');
    for (const timezone of ['Pacific/Auckland', 'America/Los_Angeles', null]) {
      await ask(server, await open(server, timezone), 'hello');
    }
    expect(languageModel.requests.map(({ system }) => /^Today is .*$/m.exec(system)?.[0])).toEqual([
      "Today is 2025-07-01, a Tuesday. The user's time zone is Pacific/Auckland.",
      "Today is 2025-06-30, a Monday. The user's time zone is America/Los_Angeles.",
      "Today is 2025-06-30, a Monday. The user's time zone is UTC.",
    ]);
  } finally {
    await server.close();
  }
});
