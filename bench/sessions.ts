/**
 * Sessions per second: generate-session for users who return and for new ones, with 3 groups and 5 attributes each, against bare
 * Fastify with one INSERT in the same database. The floor's statement goes through a pool of `pg` with its default settings, as
 * a program has it that takes no trouble: ten connections, not prepared; on PGlite through the one that there is. PostgreSQL is as
 * it comes: every commit waits for the disk.
 */
import { randomUUID } from 'node:crypto';
import { fastify } from 'fastify';
import { sql } from 'kysely';
import { Pool } from 'pg';
import { startPostgres } from '../packages/server/test/postgres.ts';
import { type LoadResult, runLoad } from './load.ts';
import { type BenchServer, openBenchServer } from './open-server.ts';
import { type Figure, median, ms, perSecond, quantile } from './report.ts';

const connections = 32;
const warmUpMs = 1500;
const roundMs = 2000;
const rounds = 4;
const returningUsers = 500;

/** What a call says of its user. `n` tells users apart. */
const callOf = (n: number | string, index: number): object => ({
  deploymentId: 1,
  externalId: `bench-${n}`,
  groups: ['merchant', 'merchant_admin', 'platform_team'],
  userAttributes: [
    { name: 'merchant_id', value: 1 + (index % 40) },
    { name: 'region', value: 'Nordics' },
    { name: 'regions', value: ['Nordics', 'British Isles'] },
    { name: 'bench_tier', value: index % 3 },
    { name: 'bench_label', value: `label ${index}` },
  ],
  userProfile: { displayName: `Shop ${index}` },
});

/** The statement of the floor, in whichever way the store is reached. */
type Insert = (id: string, body: string) => Promise<unknown>;

async function openFloor(insert: Insert) {
  const floor = fastify();
  floor.post('/', async (request) => {
    const id = randomUUID();
    await insert(id, JSON.stringify(request.body));
    return { sessionId: id };
  });
  const url = await floor.listen({ host: '127.0.0.1', port: 0 });
  return { url, [Symbol.asyncDispose]: () => floor.close() };
}

async function measure(server: BenchServer, store: string, insert: Insert): Promise<Figure[]> {
  const { db } = server.context;
  await sql`create table bench_floor (id uuid primary key, body jsonb not null, created_at timestamptz not null default now())`.execute(
    db,
  );
  await sql`insert into user_attributes (account_id, name, type)
    select id, attribute, type from accounts,
      (values ('bench_tier', 'number'), ('bench_label', 'string')) as v (attribute, type)`.execute(db);
  await using floor = await openFloor(insert);
  const headers = { 'content-type': 'application/json', authorization: `Api-Key ${server.apiKey}` };
  const load = (url: string, bodies: readonly string[], milliseconds: number) =>
    runLoad({ url, headers, bodies, connections, milliseconds });
  const oursUrl = `${server.url}/api/v1/embed/generate-session`;

  /** Leaves the account with the users who return, and the tables without what is gone. */
  const tidy = async (): Promise<void> => {
    await sql`delete from users where external_id like 'bench-new-%'`.execute(db);
    await sql`vacuum analyze users, user_groups, user_attribute_values, sessions`.execute(db);
  };

  const compare = async (claim: string, bodiesOf: (round: number) => readonly string[]): Promise<Figure[]> => {
    await load(oursUrl, bodiesOf(-1), warmUpMs);
    await load(floor.url, bodiesOf(-1), warmUpMs);
    const taken: { ours: LoadResult; bare: LoadResult }[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const bodies = bodiesOf(round);
      await tidy();
      taken.push({ ours: await load(oursUrl, bodies, roundMs), bare: await load(floor.url, bodies, roundMs) });
    }
    const oursP99 = quantile(
      taken.flatMap(({ ours }) => ours.latenciesMs),
      0.99,
    );
    const bareP99 = quantile(
      taken.flatMap(({ bare }) => bare.latenciesMs),
      0.99,
    );
    return [
      {
        claim: `${claim}, ${connections} connections, ${store} (more is better)`,
        ours: perSecond(median(taken.map(({ ours }) => ours.perSecond))),
        floor: perSecond(median(taken.map(({ bare }) => bare.perSecond))),
        // Of each round by itself: what else the machine does changes from round to round.
        ratio: median(taken.map(({ ours, bare }) => ours.perSecond / bare.perSecond)),
      },
      { claim: '  p99 (less is better)', ours: ms(oursP99), floor: ms(bareP99), ratio: oursP99 / bareP99 },
    ];
  };

  const returning = Array.from({ length: returningUsers }, (_, index) => JSON.stringify(callOf(index, index)));
  const newIn = (round: number) =>
    Array.from({ length: 30_000 }, (_, index) => JSON.stringify(callOf(`new-${round + 1}-${index}`, index)));
  return [
    ...(await compare('sessions of returning users', () => returning)),
    ...(await compare('sessions of new users', newIn)),
  ];
}

/** Sessions per second and their slowest hundredth, on PGlite and on PostgreSQL. */
export async function benchSessions(): Promise<Figure[]> {
  const figures: Figure[] = [];
  {
    await using server = await openBenchServer();
    const { db } = server.context;
    const insert: Insert = (id, body) => sql`insert into bench_floor (id, body) values (${id}, ${body})`.execute(db);
    figures.push(...(await measure(server, 'PGlite', insert)));
  }
  await using parts = new AsyncDisposableStack();
  const postgres = await startPostgres(undefined, true);
  parts.defer(() => postgres.stop());
  const databaseUrl = `${postgres.baseUrl}postgres`;
  const server = parts.use(await openBenchServer({ databaseUrl }));
  const pool = new Pool({ connectionString: databaseUrl });
  // Its end is said and not waited for: PostgreSQL, which stops right after, may cut connections that are still being closed.
  pool.on('error', () => undefined);
  parts.defer(() => pool.end());
  const insert: Insert = (id, body) => pool.query('insert into bench_floor (id, body) values ($1, $2)', [id, body]);
  figures.push(...(await measure(server, 'PostgreSQL', insert)));
  return figures;
}
