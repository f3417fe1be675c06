/** Deployments ready to answer: data model loaded, warehouse open. Opened when first asked for, then kept. */
import { type Compiler, createCompiler } from '@inlay/semantic/compiler.ts';
import { clickhouse } from '@inlay/semantic/dialects/clickhouse.ts';
import type { Dialect } from '@inlay/semantic/dialects/dialect.ts';
import { duckdb } from '@inlay/semantic/dialects/duckdb.ts';
import { postgres } from '@inlay/semantic/dialects/postgres.ts';
import type { DataModel } from '@inlay/semantic/model/data-model.ts';
import { createRelationSearch, type SearchRelations } from '@inlay/semantic/search/search-relations.ts';
import type { Kysely, Selectable } from 'kysely';
import { InlayError } from '../errors.ts';
import type { Log } from '../log.ts';
import { type Changes, isHearing } from '../store/changes.ts';
import type { Schema } from '../store/schema.ts';
import type { Connections } from '../warehouse/connections-file.ts';
import { createWarehouseOpener } from '../warehouse/open-warehouse.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { SourceFile } from './model-files.ts';
import { createModelSource, type ModelSource, type ModelVersion } from './model-source.ts';
import { createValueLists, type ValueLists } from './value-lists.ts';

/** A deployment ready to answer, with the data model of one branch. */
export interface Deployment {
  readonly id: number;
  readonly accountId: number;
  /** Tells this data model over this warehouse from every other that the process has loaded. */
  readonly version: number;
  readonly dataModel: DataModel;
  /** The SQL that its warehouse speaks. */
  readonly dialect: Dialect;
  /** Compiles queries over the data model, and keeps the plans. */
  readonly compiler: Compiler;
  /** Searches in what a user may see of this data model. */
  readonly searchRelations: SearchRelations;
  /** The same for every branch. */
  readonly warehouse: Warehouse;
  /** The same for every branch: a list is kept under the compiled query. */
  readonly valueLists: ValueLists;
  /** The branch that the data model is of; null: the default one. */
  readonly branch: string | null;
  /** The configuration of its agents: files below the folder for it, paths relative to that (`rules/fiscal-year.md`). */
  readonly agentFiles: readonly SourceFile[];
}

/** The deployments of this process. */
export interface Deployments extends AsyncDisposable {
  /**
   * @param branch null: the default one
   * @throws InlayError NOT_FOUND when the account has no such deployment, BRANCH_NOT_FOUND, DATA_MODEL_INVALID when its data model
   * does not load in that branch (what is wrong is in the log), NOT_READY when its warehouse does not open
   */
  get(accountId: number, deploymentId: number, branch: string | null): Promise<Deployment>;
  /** The name of the default branch; the repository alone decides it (chat-stream.md). @throws InlayError NOT_FOUND */
  defaultBranch(accountId: number, deploymentId: number): Promise<string>;
  /** The branch of that name as `get` takes it: null when it is the default one. @throws InlayError NOT_FOUND, BRANCH_NOT_FOUND */
  findBranch(accountId: number, deploymentId: number, name: string): Promise<string | null>;
  /** Resolves when every warehouse that was opened answers; rejects otherwise. */
  ping(): Promise<void>;
}

/** Branches of a deployment whose data models are kept, beside the default one: those that were asked for last. */
const branchesMax = 16;

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
  /** Those that the operator's file names; left out: none. */
  readonly connections?: Connections;
  /** Whether data models are read anew when their files on disk change; left out: no. */
  readonly reloadsModels?: boolean;
}

const dialects: Readonly<Record<Dialect['name'], Dialect>> = { duckdb, postgres, clickhouse };

type Row = Pick<Selectable<Schema['deployments']>, 'model_folder' | 'agents_folder' | 'warehouse'>;

/** A branch at a commit, or as it lies on disk. Null when the deployment was let go meanwhile. */
interface Loaded extends Pick<ModelVersion, 'commit' | 'state'> {
  readonly deployment: Promise<Deployment | null>;
}

interface Opened {
  readonly accountId: number;
  readonly id: number;
  readonly found: Promise<{ readonly row: Row; readonly source: ModelSource }>;
  readonly valueLists: ValueLists;
  /** Null until the first branch is loaded. */
  warehouse: Promise<Warehouse> | null;
  /** By branch; the one asked for last stands last. */
  readonly loaded: Map<string | null, Loaded>;
}

/**
 * The deployments of a process; none is open yet. One that was changed or deleted is let go as soon as this node hears of it;
 * while it hears nothing, the store is asked at every use. Disposing closes every warehouse that was opened.
 */
export function openDeployments({
  db,
  log,
  changes,
  connections = new Map(),
  reloadsModels = false,
}: DeploymentsDependencies): Deployments {
  const opener = createWarehouseOpener(connections, log);
  const opened = new Map<string, Opened>();
  let versions = 0;
  const retired = new Map<Warehouse, NodeJS.Timeout>();
  const checks = new Set<Promise<void>>();
  const gone = new WeakSet<Opened>();
  let isClosed = false;

  const readRow = (accountId: number, id: number): Promise<Row | undefined> =>
    db
      .selectFrom('deployments')
      .select(['model_folder', 'agents_folder', 'warehouse'])
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst();

  const find = async (accountId: number, id: number): Promise<Awaited<Opened['found']>> => {
    const row = await readRow(accountId, id);
    if (row === undefined) throw new InlayError('NOT_FOUND', 'Deployment not found');
    const folders = { model: row.model_folder, agents: row.agents_folder };
    return { row, source: createModelSource(log, folders, { isWatched: reloadsModels }) };
  };

  /** The entry of a deployment, made when there is none. By account, too: another account's is not even looked for. */
  const entryOf = (accountId: number, id: number): Opened => {
    const key = keyOf(accountId, id);
    const known = opened.get(key);
    if (known !== undefined) return known;
    // Whoever was still loading must not open anything anew.
    if (isClosed) throw new InlayError('NOT_READY', 'The server is stopping');
    const found = find(accountId, id);
    const added: Opened = { accountId, id, found, valueLists: createValueLists(), warehouse: null, loaded: new Map() };
    opened.set(key, added);
    // What failed is tried again at the next call.
    found.catch(() => {
      if (opened.get(key) === added) opened.delete(key);
    });
    return added;
  };

  /** The entry, looked at in the store first while nothing is heard of changes. */
  const currentEntry = async (accountId: number, id: number): Promise<Opened> => {
    const known = opened.get(keyOf(accountId, id));
    if (known !== undefined && !isHearing(changes, performance.now())) await check(known, false);
    return entryOf(accountId, id);
  };

  const openWarehouse = (entry: Opened, { warehouse }: Row): Promise<Warehouse> => {
    if (entry.warehouse !== null) return entry.warehouse;
    const opening = opener.open(warehouse);
    entry.warehouse = opening;
    opening.catch(() => {
      if (entry.warehouse === opening) entry.warehouse = null;
    });
    return opening;
  };

  const load = async (entry: Opened, branch: string | null, version: ModelVersion): Promise<Deployment | null> => {
    const { id, accountId, found, valueLists } = entry;
    const { row } = await found;
    const content = await version.read();
    // Its warehouse would be closed by nobody.
    if (gone.has(entry)) return null;
    const warehouse = await openWarehouse(entry, row);
    const dialect = dialects[warehouse.dialect];
    versions += 1;
    return {
      ...{ id, accountId, branch, warehouse, valueLists, dialect, ...content },
      version: versions,
      compiler: createCompiler(content.dataModel, dialect),
      searchRelations: createRelationSearch(),
    };
  };

  /** {@link load}; where files were changed into what does not load, what was loaded before goes on. */
  const loadOrKeep = async (
    entry: Opened,
    branch: string | null,
    version: ModelVersion,
    known: Loaded | undefined,
  ): Promise<Deployment | null> => {
    try {
      return await load(entry, branch, version);
    } catch (error) {
      const isChange = known?.commit === null && version.commit === null && version.state !== '';
      const before = isChange ? await known.deployment.catch(() => null) : null;
      if (before === null || !(error instanceof InlayError && error.code === 'DATA_MODEL_INVALID')) throw error;
      log.warn({ deploymentId: entry.id }, 'the changed data model does not load: the one before stays');
      return before;
    }
  };

  /** The branch as it is now; null when the deployment was let go meanwhile. */
  const deploymentOf = async (entry: Opened, branch: string | null): Promise<Deployment | null> => {
    const { loaded } = entry;
    const version = await (await entry.found).source.versionOf(branch);
    const known = loaded.get(branch);
    loaded.delete(branch);
    const isSame = known?.commit === version.commit && known.state === version.state;
    const current = isSame ? known : { ...version, deployment: loadOrKeep(entry, branch, version, known) };
    loaded.set(branch, current);
    for (const oldest of loaded.keys()) {
      if (loaded.size <= branchesMax + 1) break;
      if (oldest !== null) loaded.delete(oldest);
    }
    try {
      return await current.deployment;
    } catch (error) {
      // What is broken stays so until its commit or its files change, and is not read again; anything else is tried again at the next call.
      const isBroken = error instanceof InlayError && error.code === 'DATA_MODEL_INVALID' && error.cause === undefined;
      const isForGood = (version.commit !== null || version.state !== '') && isBroken;
      if (!isForGood && loaded.get(branch) === current) loaded.delete(branch);
      throw error;
    }
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
    const warehouse = (await entry.warehouse?.catch(() => null)) ?? null;
    if (warehouse === null) return;
    if (when === 'now') return closeNow(warehouse);
    retired.set(warehouse, setTimeout(() => void closeNow(warehouse), retiredMs).unref());
  };

  /** Lets go of what the store does not have, or has at another place. `isChanged`: even at the same place. */
  const check = async (entry: Opened, isChanged: boolean): Promise<void> => {
    const row = await readRow(entry.accountId, entry.id);
    if (row === undefined) return letGo(entry, 'now');
    const found = await entry.found.catch(() => null);
    if (found !== null && (isChanged || placeOf(found.row) !== placeOf(row))) await letGo(entry, 'later');
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
      while (true) {
        const deployment = await deploymentOf(await currentEntry(accountId, deploymentId), branch);
        if (deployment !== null) return deployment;
      }
    },
    async defaultBranch(accountId, deploymentId) {
      const { source } = await (await currentEntry(accountId, deploymentId)).found;
      return source.defaultBranch();
    },
    async findBranch(accountId, deploymentId, name) {
      const { source } = await (await currentEntry(accountId, deploymentId)).found;
      if (name === (await source.defaultBranch())) return null;
      await source.versionOf(name);
      return name;
    },
    async ping() {
      const warehouses = [...opened.values()].flatMap(({ warehouse }) => (warehouse === null ? [] : [warehouse]));
      await Promise.all(warehouses.map(async (warehouse) => (await warehouse).ping()));
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      subscription[Symbol.dispose]();
      await Promise.allSettled(checks);
      for (const entry of [...opened.values()]) await letGo(entry, 'now');
      for (const warehouse of [...retired.keys()]) await closeNow(warehouse);
    },
  };
}

const keyOf = (accountId: number, id: number): string => `${accountId} ${id}`;

/** Where a deployment's data model and data lie, as text: it differs when they lie elsewhere. */
const placeOf = ({ model_folder, agents_folder, warehouse }: Row): string =>
  JSON.stringify([
    model_folder,
    agents_folder,
    'connection' in warehouse ? [warehouse.connection] : [warehouse.type, warehouse.folder],
  ]);
