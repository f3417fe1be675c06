/** What a DuckDB instance may read: the files of a folder, each a table, or one database; nothing else, for good. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { z } from 'zod';
import { InlayError } from '../errors.ts';

/** Where the data of a DuckDB warehouse lie, and how much of the machine it may use. */
export type DuckDbSettings = (
  | { /** Of Parquet and CSV files, each a table named as the file. */ readonly folder: string }
  | { /** A database of DuckDB; opened so that nobody writes to it. */ readonly file: string }
) & {
  readonly threads: number;
  /** As DuckDB has it (`4GB`); left out: 80 % of the machine. */
  readonly memoryMax?: string | undefined;
};

/** An instance that can be reached by queries alone. */
export interface LockedDuckDb {
  readonly instance: DuckDBInstance;
  /** Of the files that it may read. */
  readonly paths: readonly string[];
}

const tableNamePattern = /^(.+)\.(parquet|csv)$/;
const text = (value: string): string => `'${value.replaceAll("'", "''")}'`;
const notReady = (message: string, cause?: unknown): InlayError => new InlayError('NOT_READY', message, { cause });

/**
 * Opens it and locks it down: no file, network or extension can be reached but those files, and no setting changed.
 * @throws InlayError NOT_READY when they cannot be read, or there are none
 */
export async function openLockedDuckDb(settings: DuckDbSettings): Promise<LockedDuckDb> {
  const options = {
    threads: String(settings.threads),
    ...(settings.memoryMax === undefined ? {} : { memory_limit: settings.memoryMax }),
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
  };
  if ('file' in settings) {
    await stat(settings.file).catch((cause: unknown) => {
      throw notReady('The database file of a deployment cannot be read.', cause);
    });
    const unreadable = 'The database file of a deployment cannot be opened.';
    const instance = await DuckDBInstance.create(settings.file, { ...options, access_mode: 'READ_ONLY' }).catch(
      (cause: unknown) => {
        throw notReady(unreadable, cause);
      },
    );
    return lock(instance, { paths: [], unreadable, prepare: async () => undefined });
  }
  const files = await readdir(settings.folder).catch((cause: unknown) => {
    throw notReady('The data folder of a deployment cannot be read.', cause);
  });
  const tables = files.filter((file) => tableNamePattern.test(file)).sort();
  if (tables.length === 0) throw notReady('The data folder of a deployment holds no Parquet or CSV file.');
  const names = tables.map((file) => file.replace(tableNamePattern, '$1').toLowerCase());
  if (new Set(names).size < names.length) {
    throw notReady('Two files in the data folder of a deployment have the same name.');
  }
  const paths = tables.map((file) => join(settings.folder, file));
  return lock(await DuckDBInstance.create(':memory:', options), {
    paths,
    unreadable: 'A data file of a deployment cannot be read.',
    async prepare(connection) {
      for (const path of paths) await addTable(connection, path);
    },
  });
}

async function lock(
  instance: DuckDBInstance,
  plan: {
    readonly paths: readonly string[];
    readonly unreadable: string;
    readonly prepare: (connection: DuckDBConnection) => Promise<void>;
  },
): Promise<LockedDuckDb> {
  try {
    const connection = await instance.connect();
    await plan.prepare(connection);
    await connection.run(`SET GLOBAL TimeZone = 'UTC'`);
    // Wrong answers otherwise: merging equal subplans lost rows where inner queries read the same joins (DuckDB 1.5.5).
    await connection.run(`SET GLOBAL disabled_optimizers = 'common_subplan'`);
    await connection.run(`SET temp_directory = ''`);
    await connection.run(`SET allowed_paths = [${plan.paths.map(text).join(', ')}]`);
    await connection.run('SET enable_external_access = false');
    await connection.run('SET lock_configuration = true');
    connection.closeSync();
    return { instance, paths: plan.paths };
  } catch (cause) {
    instance.closeSync();
    throw notReady(plan.unreadable, cause);
  }
}

async function addTable(connection: DuckDBConnection, path: string): Promise<void> {
  const name = path.replace(/^.*[/\\]/s, '').replace(tableNamePattern, '$1');
  const source = path.endsWith('.parquet') ? `read_parquet(${text(path)})` : await csvSource(connection, path);
  await connection.run(`CREATE VIEW "${name.replaceAll('"', '""')}" AS SELECT * FROM ${source}`);
}

const describedSchema = z.array(z.tuple([z.string(), z.string()]).rest(z.unknown()));

/** The types are found once, by all rows: found by the first ones at each query, a later row would make it fail. */
async function csvSource(connection: DuckDBConnection, path: string): Promise<string> {
  const described = await connection.runAndReadAll(`DESCRIBE SELECT * FROM read_csv(${text(path)}, sample_size = -1)`);
  const columns = describedSchema.parse(described.getRows());
  const types = columns.map(([column, type]) => `${text(column)}: ${text(type)}`);
  return `read_csv(${text(path)}, types = {${types.join(', ')}})`;
}
