/** The semantic layer: time to compile a query, and time of the whole way against SQL written by hand. */
import { parseSync } from 'libpg-query';
import { compileSql } from '../packages/semantic/src/compile-sql.ts';
import { duckdb } from '../packages/semantic/src/dialects/duckdb.ts';
import type { Subject } from '../packages/semantic/src/policy/subject.ts';
import { runQuery } from '../packages/server/src/query/run-query.ts';
import type { Principal } from '../packages/server/src/users/principal.ts';
import { type BenchServer, openBenchServer } from './open-server.ts';
import { type Figure, interleave, median, ms, perSecond } from './report.ts';

const rounds = 31;
/** Calls of which the one in the middle counts; as many before them warm it up. */
const compileCalls = 1000;
const clientsMax = 16;
/** Short turns of both, so that what else the machine does falls on both. */
const asksPerClient = 2;
const clientRounds = 7;

const subject: Subject = {
  groups: ['merchant'],
  userAttributes: { merchant_id: 7 },
  securityContext: {},
  embedTenantName: null,
  isEmbedTenantScope: false,
  seesUnprotected: false,
};
const team: Subject = { ...subject, groups: ['platform_team'] };

/** Semantic SQL, and what somebody who knows the tables would write for the same answer. */
const pairs: readonly { name: string; as: Subject; semantic: string; byHand: string }[] = [
  {
    name: 'one order by its number',
    as: team,
    semantic: 'SELECT status, MEASURE(orders_count) AS orders FROM sales WHERE order_number = 12345 GROUP BY 1',
    byHand: 'SELECT status, count(*) FROM orders WHERE id = 12345 GROUP BY 1',
  },
  {
    name: 'revenue by month, one merchant',
    as: subject,
    semantic:
      "SELECT date_trunc('month', created_at) AS month, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 1",
    byHand: `SELECT date_trunc('month', o.created_at), sum(i.amount) FROM (SELECT * FROM orders WHERE merchant_id = 7) o
      LEFT JOIN (SELECT * FROM order_items WHERE merchant_id = 7) i ON i.order_id = o.id GROUP BY 1 ORDER BY 1`,
  },
  {
    name: 'revenue by month, everything',
    as: team,
    semantic:
      "SELECT date_trunc('month', created_at) AS month, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 1",
    byHand: `SELECT date_trunc('month', o.created_at), sum(i.amount) FROM orders o LEFT JOIN order_items i ON i.order_id = o.id GROUP BY 1 ORDER BY 1`,
  },
  {
    name: 'orders by category (fan-out), everything',
    as: team,
    semantic: 'SELECT category, MEASURE(orders_count) AS orders FROM sales GROUP BY 1 ORDER BY 2 DESC LIMIT 10',
    byHand: `SELECT p.category, count(DISTINCT o.id) FROM orders o LEFT JOIN order_items i ON i.order_id = o.id
      LEFT JOIN products p ON p.id = i.product_id GROUP BY 1 ORDER BY 2 DESC LIMIT 10`,
  },
  {
    name: 'eight members of three cubes, one merchant',
    as: subject,
    semantic: `SELECT date_trunc('month', created_at) AS month, status, channel, category, MEASURE(revenue), MEASURE(items_sold),
      MEASURE(orders_count), MEASURE(customers_count) FROM sales WHERE created_at >= '2024-01-01' GROUP BY 1, 2, 3, 4`,
    byHand: `SELECT date_trunc('month', o.created_at), o.status, o.channel, p.category, sum(i.amount), sum(i.quantity), count(DISTINCT o.id),
      count(DISTINCT o.customer_id) FROM (SELECT * FROM orders WHERE merchant_id = 7) o
      LEFT JOIN (SELECT * FROM order_items WHERE merchant_id = 7) i ON i.order_id = o.id LEFT JOIN
      (SELECT * FROM products WHERE merchant_id = 7) p ON p.id = i.product_id
      WHERE o.created_at >= '2024-01-01' GROUP BY 1, 2, 3, 4`,
  },
];

/**
 * Of each of {@link pairs}: the time to compile it, with nothing kept and with its plan kept for another user; and the time of the whole
 * way (the user's rights from the store, compile, run, read), one at a time and many, beside the same SQL by hand on the same engine.
 */
export async function benchSemantic(): Promise<Figure[]> {
  await using server = await openBenchServer({ environment: { INLAY_RESULT_CACHE_BYTES_MAX: '0' } });
  const { dataModel, warehouse, compiler } = await server.context.deployments.get(1, 1, null);
  const principals = await makePrincipals(server);
  const { signal } = new AbortController();
  const byHandRun = async (sql: string): Promise<void> => {
    const result = await warehouse.query({ sql, parameters: [] }, { signal, timeoutMs: 60_000 });
    await Array.fromAsync(result.rows());
  };
  const figures: Figure[] = [];
  for (const { name, as, semantic, byHand } of pairs) {
    const grammar = timesOf(() => parseSync(semantic));
    const cold = timesOf(() => compileSql(semantic, dataModel, as, duckdb));
    // Another user at every call: the plan is the same, the values are not.
    const kept = timesOf((count) => compiler.compile(semantic, { ...as, userAttributes: { merchant_id: count } }));
    figures.push(compileFigure(`compile: ${name}`, cold, grammar));
    figures.push(compileFigure(`compile, plan kept: ${name}`, kept, grammar));

    const principal = as === team ? principals.team : principals.merchant;
    const ask = async (): Promise<void> => {
      const result = await runQuery(server.context.query, {
        principal,
        deploymentId: 1,
        branch: null,
        sql: semantic,
        signal,
      });
      await Array.fromAsync(result.rows());
    };
    const hand = (): Promise<void> => byHandRun(byHand);
    await ask();
    const times = await interleave(rounds, ask, hand);
    const [ours, floor] = [median(times.ours), median(times.floor)];
    // By pairs: what one query takes differs more than what is added to it.
    const more = median(times.ours.map((one, round) => one - (times.floor[round] ?? Number.NaN)));
    figures.push({
      claim: `1 client, ${more.toFixed(2)} ms more: ${name} (floor: by hand)`,
      ...{ ours: ms(ours), floor: ms(floor), ratio: ours / floor },
    });
    const rates = await interleave(clientRounds, clients(ask), clients(hand));
    const [ourRate, handRate] = [rates.ours, rates.floor].map(
      (all) => (1000 * clientsMax * asksPerClient) / median(all),
    );
    figures.push({
      claim: `${clientsMax} clients, queries/s: ${name} (floor: by hand)`,
      ...{ ours: perSecond(ourRate ?? 0), floor: perSecond(handRate ?? 0), ratio: (ourRate ?? 0) / (handRate ?? 1) },
    });
  }
  return figures;
}

/** How long each call takes once all is warm, in milliseconds. */
function timesOf(work: (count: number) => unknown): readonly number[] {
  const times: number[] = [];
  for (let count = 0; count < 2 * compileCalls; count += 1) {
    const startedMs = performance.now();
    work(count);
    if (count >= compileCalls) times.push(performance.now() - startedMs);
  }
  return times;
}

/** Many who each ask some times, one after the other. */
const clients = (ask: () => Promise<void>) => async () => {
  const client = async (): Promise<void> => {
    for (let count = 0; count < asksPerClient; count += 1) await ask();
  };
  await Promise.all(Array.from({ length: clientsMax }, client));
};

function compileFigure(claim: string, times: readonly number[], grammar: readonly number[]): Figure {
  const [ours, floor] = [median(times), median(grammar)];
  return { claim: `${claim} (floor: the grammar alone)`, ours: ms(ours), floor: ms(floor), ratio: ours / floor };
}

/** A merchant and one of the platform's own team, as a session makes them. */
async function makePrincipals(
  server: BenchServer,
): Promise<{ readonly merchant: Principal; readonly team: Principal }> {
  const make = async (externalId: string, body: object): Promise<Principal> => {
    const headers = { authorization: `Api-Key ${server.apiKey}`, 'content-type': 'application/json' };
    const minted = await fetch(`${server.url}/api/v1/embed/generate-session`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ deploymentId: 1, externalId, ...body }),
    });
    if (!minted.ok) throw new Error(`generate-session: ${minted.status} ${await minted.text()}`);
    const user = await server.context.db
      .selectFrom('users')
      .select(['id', 'account_id'])
      .where('external_id', '=', externalId)
      .executeTakeFirstOrThrow();
    const principal = { accountId: user.account_id, userId: user.id, sessionId: null, apiKeyId: null, scopeId: null };
    return { ...principal, securityContext: {} };
  };
  return {
    merchant: await make('bench-merchant', {
      groups: ['merchant'],
      userAttributes: [{ name: 'merchant_id', value: 7 }],
    }),
    team: await make('bench-team', { groups: ['platform_team'] }),
  };
}
