/** Pages of the management API's lists at 10,000 rows: the first, the middle and the last one, which are to cost the same. */
import { sql } from 'kysely';
import { z } from 'zod';
import { startPostgres } from '../packages/server/test/postgres.ts';
import { type BenchServer, openBenchServer } from './open-server.ts';
import { type Figure, median, ms } from './report.ts';

const rowsPerList = 10_000;
const pageRows = 50;
const rounds = 100;

const pageSchema = z.object({ items: z.array(z.unknown()), pageInfo: z.object({ endCursor: z.string().nullable() }) });

/** Rows for every list that may become long. */
async function fill({ context: { db } }: BenchServer): Promise<void> {
  const rows = sql.raw(`generate_series(1, ${rowsPerList}) n`);
  await sql`insert into users (account_id, kind, external_id) select a.id, 'external', 'list-' || n from accounts a, ${rows}`.execute(
    db,
  );
  await sql`insert into groups (account_id, name) select a.id, 'list ' || n from accounts a, ${rows}`.execute(db);
  await sql`insert into embed_tenants (account_id, name) select a.id, 'list-' || n from accounts a, ${rows}`.execute(
    db,
  );
  await sql`insert into sessions (id, secret_hash, account_id, deployment_id, user_id, api_key_id, security_context, created_at,
      exchange_before, ends_at)
    select gen_random_uuid(), 'list ' || u.id, u.account_id, 1, u.id, k.id, '{}', now() - u.id * interval '1 second', now(),
      now() + interval '1 day'
    from users u join api_keys k on k.account_id = u.account_id where u.external_id like 'list-%'`.execute(db);
  await sql`insert into audit_log (account_id, at, actor_kind, action, result)
    select a.id, now() - n * interval '1 second', 'server', 'bench', 'OK' from accounts a, ${rows}`.execute(db);
  await sql`analyze`.execute(db);
}

async function measure(server: BenchServer, list: string, store: string): Promise<Figure[]> {
  const read = async (first: number, after: string | null) => {
    const cursor = after === null ? '' : `&after=${encodeURIComponent(after)}`;
    const reply = await fetch(`${server.url}/api/v1/${list}?first=${first}${cursor}`, {
      headers: { authorization: `Api-Key ${server.apiKey}` },
    });
    return pageSchema.parse(await reply.json());
  };
  /** The cursor after so many rows. */
  const cursorAfter = async (rows: number): Promise<string | null> => {
    let cursor: string | null = null;
    for (let left = rows; left > 0; left -= 500) {
      cursor = (await read(Math.min(left, 500), cursor)).pageInfo.endCursor;
    }
    return cursor;
  };
  const places = [null, await cursorAfter(rowsPerList / 2), await cursorAfter(rowsPerList - pageRows)];
  const times: number[][] = places.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, place] of places.entries()) {
      const started = performance.now();
      const { items } = await read(pageRows, place);
      if (items.length !== pageRows) throw new Error(`${list} gave ${items.length} rows`);
      // The first rounds prepare the statements.
      if (round >= rounds / 4) times[index]?.push(performance.now() - started);
    }
  }
  const [first = 0, middle = 0, last = 0] = times.map(median);
  return [
    {
      claim: `${list}, ${store}: last page of ${rowsPerList.toLocaleString('en')} rows (floor: the first)`,
      ours: ms(last),
      floor: ms(first),
      ratio: last / first,
    },
    { claim: '  a page in the middle', ours: ms(middle), floor: ms(first), ratio: middle / first },
  ];
}

/** The long lists, on PGlite and on PostgreSQL. */
export async function benchLists(): Promise<Figure[]> {
  const figures: Figure[] = [];
  const measureAll = async (server: BenchServer, store: string): Promise<void> => {
    await fill(server);
    for (const list of ['external-users', 'groups', 'embed-tenants', 'sessions', 'audit-log']) {
      figures.push(...(await measure(server, list, store)));
    }
  };
  {
    await using server = await openBenchServer();
    await measureAll(server, 'PGlite');
  }
  await using parts = new AsyncDisposableStack();
  const postgres = await startPostgres();
  parts.defer(() => postgres.stop());
  await measureAll(parts.use(await openBenchServer({ databaseUrl: `${postgres.baseUrl}postgres` })), 'PostgreSQL');
  return figures;
}
