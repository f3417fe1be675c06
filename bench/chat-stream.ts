/** A chat stream: time to the first frames, and deltas delivered per second, against node:http writing the same lines. */
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { LanguageModel } from '../packages/server/src/agent/language-models/language-model.ts';
import { openBenchServer } from './open-server.ts';
import { type Figure, interleave, median, ms, perSecond } from './report.ts';

const deltas = 5000;
const rounds = 7;

/** Deltas that come in one piece from the network, as those of a quick language model do. */
const burst = 20;

/** A language model that says short words as fast as it is asked. */
const fast: LanguageModel = {
  name: 'fast',
  async *stream() {
    for (let index = 0; index < deltas; index += 1) {
      if (index % burst === 0) await new Promise((resolve) => setImmediate(resolve));
      yield { type: 'text', text: `word ${index} ` };
    }
  },
};

const sessionSettings = {
  externalId: 'bench',
  groups: ['merchant'],
  userAttributes: [{ name: 'merchant_id', value: 7 }],
  isEphemeral: false,
};

/** Posts, and gives the milliseconds to the first byte of the body, and the body. */
function post(url: string, headers: Record<string, string>, body: object): Promise<{ firstMs: number; text: string }> {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const call = request(
      url,
      { method: 'POST', headers: { ...headers, 'content-type': 'application/json' } },
      (reply) => {
        const chunks: Buffer[] = [];
        let firstMs = 0;
        reply.on('data', (chunk: Buffer) => {
          if (chunks.length === 0) firstMs = performance.now() - started;
          chunks.push(chunk);
        });
        reply.once('end', () => {
          const text = Buffer.concat(chunks).toString();
          if (reply.statusCode === 200) resolve({ firstMs, text });
          else reject(new Error(text));
        });
      },
    );
    call.once('error', reject);
    call.end(JSON.stringify(body));
  });
}

/** A server that writes the given lines, one write each, and nothing else. */
async function openFloor(lines: readonly string[]) {
  const server = createServer((call, reply) => {
    call.resume();
    call.once('end', async () => {
      reply.writeHead(200, { 'content-type': 'application/x-ndjson' });
      for (const line of lines)
        if (!reply.write(`${line}\n`)) await new Promise<void>((resolve) => reply.once('drain', resolve));
      reply.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port }: Pick<AddressInfo, 'port'> = Object(server.address());
  return { url: `http://127.0.0.1:${port}`, close: () => new Promise((resolve) => server.close(resolve)) };
}

/** First frame and rate of deltas. */
export async function benchChatStream(): Promise<Figure[]> {
  await using server = await openBenchServer({ languageModel: fast });
  const url = `${server.url}/api/v1/public/demo/agents/1/chat/stream-chat-state`;
  const headers = { authorization: `Api-Key ${server.apiKey}` };
  const ask = () => post(url, headers, { input: 'tell me', sessionSettings });
  const lines = (await ask()).text.trimEnd().split('\n');
  const floor = await openFloor(lines);
  const firsts = { ours: [] as number[], floor: [] as number[] };
  const whole = await interleave(
    rounds,
    async () => firsts.ours.push((await ask()).firstMs),
    async () => firsts.floor.push((await post(floor.url, {}, {})).firstMs),
  );
  await floor.close();
  const rate = (times: readonly number[]) => (lines.length * 1000) / median(times);
  const [ours, bare] = [rate(whole.ours), rate(whole.floor)];
  const [first, bareFirst] = [median(firsts.ours), median(firsts.floor)];
  return [
    {
      claim: 'chat: first frame, thread and run kept (less is better)',
      ours: ms(first),
      floor: ms(bareFirst),
      ratio: first / bareFirst,
    },
    {
      claim: `chat: ${deltas} deltas to one reader (more is better)`,
      ours: perSecond(ours),
      floor: perSecond(bare),
      ratio: ours / bare,
    },
  ];
}

/** The built-in analyst from question to last frame, against the time that its one warehouse query takes by hand. */
export async function benchAnalyst(): Promise<Figure[]> {
  await using server = await openBenchServer();
  const url = `${server.url}/api/v1/public/demo/agents/1/chat/stream-chat-state`;
  const headers = { authorization: `Api-Key ${server.apiKey}` };
  const ask = () => post(url, headers, { input: 'revenue by month', sessionSettings });
  await ask();
  const { warehouse } = await server.context.deployments.get(1, 1);
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
