/** Deployments ready to answer: data model loaded, warehouse open. Opened when first asked for, then kept. */
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DataModel } from '@inlay/semantic/data-model.ts';
import { loadDataModel } from '@inlay/semantic/load-data-model.ts';
import type { Kysely } from 'kysely';
import { InlayError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Schema } from '../store/schema.ts';
import { openDuckDb } from '../warehouse/duckdb.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { createValueLists, type ValueLists } from './value-lists.ts';

/** A deployment ready to answer. */
export interface Deployment {
  readonly id: number;
  readonly accountId: number;
  readonly dataModel: DataModel;
  readonly warehouse: Warehouse;
  readonly valueLists: ValueLists;
}

/** The deployments of this process. */
export interface Deployments extends AsyncDisposable {
  /**
   * @throws InlayError NOT_FOUND when the account has no such deployment, DATA_MODEL_INVALID when its data model does not
   * load (what is wrong is in the log), NOT_READY when its warehouse does not open
   */
  get(accountId: number, deploymentId: number): Promise<Deployment>;
  /** Resolves when every warehouse that was opened answers; rejects otherwise. */
  ping(): Promise<void>;
}

/** Threads of one DuckDB instance. */
const duckDbThreads = 4;

/** The deployments of a process; none is open yet. Disposing closes every warehouse that was opened. */
export function openDeployments(dependencies: { readonly db: Kysely<Schema>; readonly log: Log }): Deployments {
  const { db, log } = dependencies;
  const opened = new Map<string, Promise<Deployment>>();

  const open = async (accountId: number, id: number): Promise<Deployment> => {
    const row = await db
      .selectFrom('deployments')
      .selectAll()
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst();
    if (row === undefined) throw notFound(id);
    const dataModel = await readDataModel(row.model_folder, log);
    const warehouse = await openDuckDb({ folder: row.warehouse.folder, threads: duckDbThreads });
    return { id, accountId: row.account_id, dataModel, warehouse, valueLists: createValueLists() };
  };

  return {
    async get(accountId, deploymentId) {
      // By account, too: another account's deployment is not even opened, so that nothing tells that it exists.
      const key = `${accountId} ${deploymentId}`;
      let deployment = opened.get(key);
      if (deployment === undefined) {
        deployment = open(accountId, deploymentId);
        opened.set(key, deployment);
        // What failed to open is tried again at the next call.
        deployment.catch(() => opened.delete(key));
      }
      return deployment;
    },
    async ping() {
      await Promise.all([...opened.values()].map(async (deployment) => (await deployment).warehouse.ping()));
    },
    async [Symbol.asyncDispose]() {
      const settled = await Promise.allSettled(opened.values());
      for (const result of settled) if (result.status === 'fulfilled') await result.value.warehouse.close();
    },
  };
}

const notFound = (id: number) => new InlayError('NOT_FOUND', `No deployment ${id}.`);

async function readDataModel(folder: string, log: Log): Promise<DataModel> {
  const files: { path: string; text: string }[] = [];
  for await (const path of glob('**/*.{yml,yaml}', { cwd: folder })) {
    files.push({ path, text: await readFile(join(folder, path), 'utf8') });
  }
  // Cubes and views come in the order of their files' names, whatever order the disk gives.
  files.sort((one, other) => (one.path < other.path ? -1 : 1));
  const loaded = loadDataModel(files);
  if (!('issues' in loaded)) return loaded;
  log.error({ folder, issues: loaded.issues }, 'data model does not load');
  throw new InlayError('DATA_MODEL_INVALID', 'The data model of this deployment does not load; the log says why.');
}
