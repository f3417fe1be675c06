/** Deployments ready to answer: data model loaded, warehouse open. Opened when first asked for, then kept. */
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DataModel } from '@inlay/semantic/data-model.ts';
import { loadDataModel } from '@inlay/semantic/load-data-model.ts';
import type { Kysely, Selectable } from 'kysely';
import { InlayError } from '../errors.ts';
import type { Log } from '../log.ts';
import { type Changes, isHearing } from '../store/changes.ts';
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
  /** The branch that the data model is of; null: the default one. */
  readonly branch: string | null;
  /** The configuration of its agents: files below the folder for it, paths relative to that (`rules/fiscal-year.md`). */
  readonly agentFiles: readonly { readonly path: string; readonly text: string }[];
}

/** The deployments of this process. */
export interface Deployments extends AsyncDisposable {
  /**
   * @throws InlayError NOT_FOUND when the account has no such deployment, DATA_MODEL_INVALID when its data model does not
   * load (what is wrong is in the log), NOT_READY when its warehouse does not open
   */
  get(accountId: number, deploymentId: number, branch: string | null): Promise<Deployment>;
  /** Resolves when every warehouse that was opened answers; rejects otherwise. */
  ping(): Promise<void>;
}

/** Threads of one DuckDB instance. */
const duckDbThreads = 4;

/**
 * How long a warehouse that was replaced stays open for those who hold it still: more than the longest time that a query may
 * take, waiting for its turn included.
 */
const retiredMs = 660_000;

/** What opening deployments needs. */
export interface DeploymentsDependencies {
  readonly db: Kysely<Schema>;
  readonly log: Log;
  readonly changes: Pick<Changes, 'subscribe' | 'heardUntil'>;
}

/** Where a deployment's data model and data lie, as text: it differs when they lie elsewhere. */
type Place = string;

interface Opened {
  readonly accountId: number;
  readonly id: number;
  readonly deployment: Promise<Deployment & { readonly place: Place }>;
}

/**
 * The deployments of a process; none is open yet. One that was changed or deleted is let go as soon as this node hears of it;
 * while it hears nothing, the store is asked at every use. Disposing closes every warehouse that was opened.
 */
export function openDeployments({ db, log, changes }: DeploymentsDependencies): Deployments {
  const opened = new Map<string, Opened>();
  const retired = new Map<Warehouse, NodeJS.Timeout>();
  const checks = new Set<Promise<void>>();
  const gone = new WeakSet<Opened>();

  const readRow = (accountId: number, id: number) =>
    db
      .selectFrom('deployments')
      .select(['model_folder', 'warehouse'])
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst();

  const open = async (accountId: number, id: number) => {
    const row = await readRow(accountId, id);
    if (row === undefined) throw notFound(id);
    const dataModel = await readDataModel(row.model_folder, log);
    const warehouse = await openDuckDb({ folder: row.warehouse.folder, threads: duckDbThreads });
    return { id, accountId, dataModel, warehouse, valueLists: createValueLists(), branch: null, agentFiles: [], place: placeOf(row) };
  };

  /** Never rejects: one that does not close is no reason to leave the others open. */
  const closeNow = async (warehouse: Warehouse): Promise<void> => {
    clearTimeout(retired.get(warehouse));
    retired.delete(warehouse);
    await warehouse.close().catch((err: unknown) => log.error({ err }, 'a warehouse could not be closed'));
  };

  /** Nobody gets it any more from now on. Its warehouse is closed at once, or when nobody can hold it any longer. */
  const letGo = async (entry: Opened, when: 'now' | 'later'): Promise<void> => {
    const key = keyOf(entry.accountId, entry.id);
    if (opened.get(key) === entry) opened.delete(key);
    // Several may find out at once.
    if (gone.has(entry)) return;
    gone.add(entry);
    const deployment = await entry.deployment.catch(() => null);
    if (deployment === null) return;
    const { warehouse } = deployment;
    if (when === 'now') return closeNow(warehouse);
    retired.set(warehouse, setTimeout(() => void closeNow(warehouse), retiredMs).unref());
  };

  /** Lets go of what the store does not have, or has at another place. `isChanged`: even at the same place. */
  const check = async (entry: Opened, isChanged: boolean): Promise<void> => {
    const row = await readRow(entry.accountId, entry.id);
    if (row === undefined) return letGo(entry, 'now');
    const deployment = await entry.deployment.catch(() => null);
    if (deployment !== null && (isChanged || deployment.place !== placeOf(row))) await letGo(entry, 'later');
  };

  const checkBeside = (entry: Opened, isChanged: boolean): void => {
    const checked = check(entry, isChanged)
      .catch(async (err: unknown) => {
        log.error({ err, deploymentId: entry.id }, 'a deployment could not be checked');
        // Nobody gets it any more: its warehouse would stay open for ever.
        if (isChanged) await letGo(entry, 'later');
      })
      .finally(() => checks.delete(checked));
    checks.add(checked);
  };

  const subscription = changes.subscribe((news) => {
    for (const [key, entry] of [...opened]) {
      const isMeant = news.kind === 'deployment' && news.id === entry.id;
      // The next one who asks must not get it, whatever the check takes.
      if (isMeant) opened.delete(key);
      if (isMeant || news.kind === 'gap') checkBeside(entry, isMeant);
    }
  });

  return {
    async get(accountId, deploymentId, branch) {
      if (branch !== null) throw new InlayError('BRANCH_NOT_FOUND', 'The data model has no such branch.');
      // By account, too: another account's deployment is not even opened, so that nothing tells that it exists.
      const key = keyOf(accountId, deploymentId);
      const known = opened.get(key);
      if (known !== undefined && !isHearing(changes, performance.now())) await check(known, false);
      const entry = opened.get(key);
      if (entry !== undefined) return entry.deployment;
      const deployment = open(accountId, deploymentId);
      const added: Opened = { accountId, id: deploymentId, deployment };
      opened.set(key, added);
      // What failed to open is tried again at the next call.
      deployment.catch(() => {
        if (opened.get(key) === added) opened.delete(key);
      });
      return deployment;
    },
    async ping() {
      await Promise.all([...opened.values()].map(async ({ deployment }) => (await deployment).warehouse.ping()));
    },
    async [Symbol.asyncDispose]() {
      subscription[Symbol.dispose]();
      await Promise.allSettled(checks);
      for (const entry of [...opened.values()]) await letGo(entry, 'now');
      for (const warehouse of [...retired.keys()]) await closeNow(warehouse);
    },
  };
}

const keyOf = (accountId: number, id: number): string => `${accountId} ${id}`;

const placeOf = (row: Pick<Selectable<Schema['deployments']>, 'model_folder' | 'warehouse'>): Place =>
  JSON.stringify([row.model_folder, row.warehouse.type, row.warehouse.folder]);

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
