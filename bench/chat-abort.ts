/**
 * How long an abort takes, from the call to the last byte of the stream: on one node, on two nodes over one PostgreSQL (the stream on the
 * one, the abort on the other), and until DuckDB has let go of the query that was running. The floor is `node:http` that ends
 * the stream of the same lines. Servers and clients are processes of their own on the loopback.
 */
import { newApiKey } from '../packages/server/src/admin/make-api-key.ts';
import { startPostgres } from '../packages/server/test/postgres.ts';
import { type Child, startChild } from './chat/child.ts';
import { type Clients, startClients } from './chat/measure.ts';
import { type Figure, median, ms, quantile } from './report.ts';

const program = (file: string): string => new URL(`./chat/${file}`, import.meta.url).pathname;

/** What is aborted: a run that speaks, or one whose query the warehouse works on. */
interface Aborted {
  readonly input: string;
  readonly agent: 1 | 9;
  readonly times: number;
}
const speaking: Aborted = { input: JSON.stringify({ deltas: 1_000_000, everyMs: 20 }), agent: 1, times: 60 };
const querying: Aborted = { input: 'endless', agent: 9, times: 20 };

/** Milliseconds from each abort to the end of its stream, and until the engine had let go. */
async function abortTimes(clients: Clients, reads: Child, called: Child, { input, agent, times }: Aborted) {
  const urlOn = ({ ready }: Child): string => String(ready['url']).replace('/agents/1/', `/agents/${agent}/`);
  const taken = { last: [] as number[], engine: [] as number[] };
  for (let index = 0; index < times; index += 1) {
    const abort = await clients.abort({
      url: urlOn(reads),
      abortUrl: `${urlOn(called)}/abort`,
      apiKey: String(reads.ready['apiKey'] ?? ''),
      input,
      user: `bench-abort-${index}`,
    });
    taken.last.push((abort.ended - abort.called) / 1000);
    if (agent === 9) taken.engine.push((Number((await reads.ask({ kind: 'engine' }))['at']) - abort.called) / 1000);
  }
  return taken;
}

/** The times of aborts. */
export async function benchChatAbort(): Promise<Figure[]> {
  await using stack = new AsyncDisposableStack();
  const clients = stack.use(await startClients());
  const bare = stack.use(await startChild(program('bare-server.ts')));
  const floor = (await abortTimes(clients, bare, bare, speaking)).last;
  const figure = (claim: string, times: readonly number[]): Figure[] =>
    (['p50', 'p95'] as const).map((name) => {
      const of = (values: readonly number[]): number => (name === 'p50' ? median(values) : quantile(values, 0.95));
      return {
        claim: `abort: ${claim}, ${name}`,
        ours: ms(of(times)),
        floor: ms(of(floor)),
        ratio: of(times) / of(floor),
      };
    });
  const figures: Figure[] = [];
  {
    await using server = await startChild(program('inlay-server.ts'));
    figures.push(...figure('one node, to the last byte', (await abortTimes(clients, server, server, speaking)).last));
    const { last, engine } = await abortTimes(clients, server, server, querying);
    figures.push(...figure('one node, during a query, to the last byte', last));
    figures.push(...figure('one node, until DuckDB has let go of the query', engine));
  }
  const postgres = await startPostgres(undefined, true);
  stack.defer(() => postgres.stop());
  const database = [`${postgres.baseUrl}postgres`, newApiKey()];
  const first = stack.use(await startChild(program('inlay-server.ts'), database));
  const second = stack.use(await startChild(program('inlay-server.ts'), database));
  for (const [claim, node] of [
    ['one node', first],
    ['two nodes', second],
  ] as const) {
    const spoken = await abortTimes(clients, first, node, speaking);
    figures.push(...figure(`${claim} on PostgreSQL, to the last byte`, spoken.last));
  }
  const { engine } = await abortTimes(clients, first, second, querying);
  figures.push(...figure('two nodes, until DuckDB has let go of the query', engine));
  return figures;
}
