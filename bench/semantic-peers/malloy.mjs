/** Malloy's SQL for the question of ../semantic-peers.ts over DuckDB, and how long it takes to make it. Runs in the peer's folder. */
import malloyDuckDb from '@malloydata/db-duckdb';
import malloy from '@malloydata/malloy';

const rounds = 60;
const connection = new malloyDuckDb.DuckDBConnection('duckdb', ':memory:');
await connection.runSQL('CREATE TABLE orders (id INTEGER, tenant INTEGER, customer_id INTEGER, amount DOUBLE)');
await connection.runSQL('CREATE TABLE customers (id INTEGER, tenant INTEGER, city VARCHAR)');
const runtime = new malloy.SingleConnectionRuntime({ connection });
const model = runtime.loadModel(`
  source: customers is duckdb.table('customers') extend { primary_key: id where: tenant = 3 }
  source: orders is duckdb.table('orders') extend {
    primary_key: id
    where: tenant = 3
    join_one: customers with customer_id
    measure: revenue is amount.sum(), orders_count is count()
  }`);
const question = `run: orders -> { group_by: customers.city aggregate: revenue, orders_count order_by: revenue desc }`;
const times = [];
let sql = '';
for (let round = 0; round < rounds; round += 1) {
  const startedMs = performance.now();
  sql = await model.loadQuery(question).getSQL();
  times.push(performance.now() - startedMs);
}
times.sort((one, other) => one - other);
console.log(JSON.stringify({ sql, parameters: [], compileMs: times[rounds / 2] }));
process.exit(0);
