/** The store without the server: its tables as they lie there, whatever the code above them makes of them. */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { Client } from 'pg';
import { z } from 'zod';

/** Runs one statement. @returns its rows. */
export type Query = (text: string) => Promise<unknown[]>;

/** Asks a PGlite folder that no process has open. The folder stays as it is: a copy is opened. */
export async function queryPglite<T>(folder: string, work: (query: Query) => Promise<T>): Promise<T> {
  const copy = await mkdtemp(join(tmpdir(), 'inlay-store-copy-'));
  try {
    await cp(folder, copy, { recursive: true });
    const store = await PGlite.create(copy);
    try {
      return await work(async (text) => (await store.query(text)).rows);
    } finally {
      await store.close();
    }
  } finally {
    await rm(copy, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Asks a PostgreSQL database. */
export async function queryPostgres<T>(url: string, work: (query: Query) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(async (text) => (await client.query(text)).rows);
  } finally {
    await client.end();
  }
}

const names = z.array(z.object({ name: z.string() }));
const lines = z.array(z.object({ line: z.string() }));

/** Every row of every table of every schema but the database's own, as lines of text that begin with the table's name. */
export async function dumpTables(query: Query): Promise<string> {
  const tables = names.parse(
    await query(`select quote_ident(table_schema) || '.' || quote_ident(table_name) as name from information_schema.tables
      where table_schema not in ('pg_catalog', 'information_schema') order by 1`),
  );
  const all: string[] = [];
  for (const { name } of tables) {
    const rows = lines.parse(await query(`select t::text as line from ${name} t`));
    all.push(...rows.map(({ line }) => `${name} ${line}`));
  }
  return all.join('\n');
}
