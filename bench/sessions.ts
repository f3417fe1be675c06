/** Sessions per second: generate-session for returning users, against bare Fastify with one INSERT in the same database. */
import { randomUUID } from 'node:crypto';
import { fastify } from 'fastify';
import { sql } from 'kysely';
import { startPostgres } from '../packages/server/test/postgres.ts';
import { runLoad } from './load.ts';
import { openBenchServer } from './open-server.ts';
import { type Figure, perSecond, quantile } from './report.ts';

const connections = 16;
const roundMs = 2500;
const rounds = 2;
const users = 200;

const bodies = Array.from({ length: users }, (_, index) =>
  JSON.stringify({
    deploymentId: 1,
    externalId: `bench-${index}`,
    groups: ['merchant', 'merchant_admin'],
    userAttributes: [
      { name: 'merchant_id', value: 1 + (index % 40) },
      { name: 'region', value: 'north' },
    ],
    userProfile: { displayName: `Shop ${index}` },
  }),
);

async function measure(store: string, databaseUrl: string | undefined): Promise<Figure[]> {
  await using server = await openBenchServer(databaseUrl === undefined ? {} : { databaseUrl });
  const { db } = server.context;
  await sql`create table bench_floor (id uuid primary key, body jsonb not null, created_at timestamptz not null default now())`.execute(
    db,
  );
  const floor = fastify();
  floor.post('/', async (request) => {
    const id = randomUUID();
    await sql`insert into bench_floor (id, body) values (${id}, ${JSON.stringify(request.body)})`.execute(db);
    return { sessionId: id };
  });
  const floorUrl = await floor.listen({ host: '127.0.0.1', port: 0 });
  const headers = { 'content-type': 'application/json', authorization: `Api-Key ${server.apiKey}` };
  const load = (url: string, milliseconds: number) => runLoad({ url, headers, bodies, connections, milliseconds });
  const oursUrl = `${server.url}/api/v1/embed/generate-session`;
  await load(oursUrl, 1000);
  await load(floorUrl, 1000);

  const taken = { ours: [] as number[], floor: [] as number[], oursMs: [] as number[], floorMs: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    const ours = await load(oursUrl, roundMs);
    const bare = await load(floorUrl, roundMs);
    taken.ours.push(ours.perSecond);
    taken.floor.push(bare.perSecond);
    taken.oursMs.push(...ours.latenciesMs);
    taken.floorMs.push(...bare.latenciesMs);
  }
  await floor.close();
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [ours, bare] = [mean(taken.ours), mean(taken.floor)];
  const [oursP99, bareP99] = [quantile(taken.oursMs, 0.99), quantile(taken.floorMs, 0.99)];
  return [
    {
      claim: `sessions, ${connections} connections, ${store} (more is better)`,
      ours: perSecond(ours),
      floor: perSecond(bare),
      ratio: ours / bare,
    },
    {
      claim: '  p99 (less is better)',
      ours: `${oursP99.toFixed(1)} ms`,
      floor: `${bareP99.toFixed(1)} ms`,
      ratio: oursP99 / bareP99,
    },
  ];
}

/** Sessions per second and their slowest hundredth, on PGlite and on PostgreSQL. */
export async function benchSessions(): Promise<Figure[]> {
  const embedded = await measure('PGlite', undefined);
  const postgres = await startPostgres();
  try {
    return [...embedded, ...(await measure('PostgreSQL', `${postgres.baseUrl}postgres`))];
  } finally {
    await postgres.stop();
  }
}
