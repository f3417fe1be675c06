/** The built-in analyst, against its warehouse query by hand. */
import { openBenchServer } from './open-server.ts';
import { type Figure, interleave, median, ms } from './report.ts';

const sessionSettings = {
  externalId: 'bench',
  groups: ['merchant'],
  userAttributes: [{ name: 'merchant_id', value: 7 }],
  isEphemeral: false,
};

/** The built-in analyst from question to last frame, against the time that its one warehouse query takes by hand. */
export async function benchAnalyst(): Promise<Figure[]> {
  await using server = await openBenchServer();
  const url = `${server.url}/api/v1/public/demo/agents/1/chat/stream-chat-state`;
  const headers = { authorization: `Api-Key ${server.apiKey}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ input: 'revenue by month', sessionSettings });
  const ask = async (): Promise<string> => (await fetch(url, { method: 'POST', headers, body })).text();
  await ask();
  const { warehouse } = await server.context.deployments.get(1, 1, null);
  const sql = `SELECT date_trunc('month', o.created_at), sum(i.amount) FROM orders o LEFT JOIN order_items i ON i.order_id = o.id
    WHERE o.merchant_id = 7 GROUP BY 1 ORDER BY 1`;
  const byHand = async () => {
    const result = await warehouse.query(
      { sql, parameters: [] },
      { signal: new AbortController().signal, timeoutMs: 60_000 },
    );
    await Array.fromAsync(result.rows());
  };
  const times = await interleave(9, ask, byHand);
  const [ours, bare] = [median(times.ours), median(times.floor)];
  return [
    {
      claim: '"revenue by month", question to last frame (less is better)',
      ours: ms(ours),
      floor: ms(bare),
      ratio: ours / bare,
    },
  ];
}
