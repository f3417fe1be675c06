/** drizzle-cube's SQL for the question of ../semantic-peers.ts over PostgreSQL, and how long it takes. Runs in the peer's folder. */
import { createPostgresExecutor, defineCube, SemanticLayerCompiler } from 'drizzle-cube/server';
import { eq } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { doublePrecision, integer, pgTable, text } from 'drizzle-orm/pg-core';

const rounds = 60;
const orders = pgTable('orders', {
  id: integer('id').primaryKey(),
  tenant: integer('tenant'),
  customerId: integer('customer_id'),
  amount: doublePrecision('amount'),
});
const customers = pgTable('customers', {
  id: integer('id').primaryKey(),
  tenant: integer('tenant'),
  city: text('city'),
});
const schema = { orders, customers };
// Asks nothing: only the SQL is wanted. It keeps what was asked last.
let asked = { text: '', values: [] };
const client = {
  query: async (query, values) => {
    asked = { text: query.text, values: values ?? query.values ?? [] };
    return { rows: [], rowCount: 0, fields: [] };
  },
};
const permitted = (table) => (context) => ({ from: table, where: eq(table.tenant, context.securityContext.tenant) });
const key = (column) => ({ name: 'id', type: 'number', sql: column, primaryKey: true });
const customersCube = defineCube('Customers', {
  sql: permitted(customers),
  dimensions: { id: key(customers.id), city: { name: 'city', type: 'string', sql: customers.city } },
  measures: {},
});
const ordersCube = defineCube('Orders', {
  sql: permitted(orders),
  joins: {
    Customers: {
      targetCube: () => customersCube,
      relationship: 'belongsTo',
      on: [{ source: orders.customerId, target: customers.id }],
    },
  },
  dimensions: { id: key(orders.id) },
  measures: {
    revenue: { name: 'revenue', type: 'sum', sql: orders.amount },
    ordersCount: { name: 'ordersCount', type: 'count', sql: orders.id },
  },
});
const layer = new SemanticLayerCompiler({
  databaseExecutor: createPostgresExecutor(drizzle(client, { schema }), schema),
});
layer.registerCube(ordersCube);
layer.registerCube(customersCube);
const question = {
  measures: ['Orders.revenue', 'Orders.ordersCount'],
  dimensions: ['Customers.city'],
  order: { 'Orders.revenue': 'desc' },
};
const context = { tenant: 3 };
const times = [];
for (let round = 0; round < rounds; round += 1) {
  const startedMs = performance.now();
  await layer.dryRun(question, context);
  times.push(performance.now() - startedMs);
}
times.sort((one, other) => one - other);
await layer.execute(question, context);
console.log(JSON.stringify({ sql: asked.text, parameters: asked.values, compileMs: times[rounds / 2] }));
process.exit(0);
