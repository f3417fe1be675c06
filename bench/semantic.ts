/** The semantic layer: time to compile a query, and time of the compiled query against SQL written by hand. */
import { parseSync } from 'libpg-query';
import { compileSql } from '../packages/semantic/src/compile-sql.ts';
import { duckdb } from '../packages/semantic/src/dialects/duckdb.ts';
import type { Subject } from '../packages/semantic/src/policy/subject.ts';
import type { WarehouseQuery } from '../packages/server/src/warehouse/warehouse.ts';
import { openBenchServer } from './open-server.ts';
import { type Figure, interleave, median, ms } from './report.ts';

const rounds = 25;
const compileRepeats = 200;

const subject: Subject = {
  groups: ['merchant'],
  userAttributes: { merchant_id: 7 },
  securityContext: {},
  embedTenantName: null,
  isEmbedTenantScope: false,
  isInternal: false,
};
const team: Subject = { ...subject, groups: ['platform_team'] };

/** Semantic SQL, and what somebody who knows the tables would write for the same answer. */
const pairs: readonly { name: string; as: Subject; semantic: string; byHand: string }[] = [
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
];

/** Compile time and query time of each of {@link pairs}. */
export async function benchSemantic(): Promise<Figure[]> {
  await using server = await openBenchServer();
  const { dataModel, warehouse } = await server.context.deployments.get(1, 1, null);
  const run = async (query: WarehouseQuery) => {
    const result = await warehouse.query(query, { signal: new AbortController().signal, timeoutMs: 60_000 });
    await Array.fromAsync(result.rows());
  };
  const repeat = (work: () => unknown) => async () => {
    for (let count = 0; count < compileRepeats; count += 1) work();
  };
  const figures: Figure[] = [];
  for (const { name, as, semantic, byHand } of pairs) {
    const compile = () => compileSql(semantic, dataModel, as, duckdb);
    const compiling = await interleave(
      5,
      repeat(compile),
      repeat(() => parseSync(semantic)),
    );
    const [compileMs, parseMs] = [median(compiling.ours) / compileRepeats, median(compiling.floor) / compileRepeats];
    figures.push({
      claim: `compile: ${name} (floor: the grammar alone)`,
      ours: ms(compileMs),
      floor: ms(parseMs),
      ratio: compileMs / parseMs,
    });
    const compiled = compile();
    const hand = { sql: byHand, parameters: [] };
    await run(compiled);
    const times = await interleave(
      rounds,
      () => run(compiled),
      () => run(hand),
    );
    const [ours, floor] = [median(times.ours), median(times.floor)];
    figures.push({ claim: `query: ${name} (floor: by hand)`, ours: ms(ours), floor: ms(floor), ratio: ours / floor });
  }
  return figures;
}
