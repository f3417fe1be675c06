/** The storefront with agents of a test's own configuration, and runs of them without a chat around. */
import { globSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defaultLimits } from '@inlay/contract/limits.ts';
import { userShapes } from '@inlay/contract/user.ts';
import { inject } from 'vitest';
import { createAgent } from '../src/agent/create-agent.ts';
import type { AgentEvent } from '../src/agent/events.ts';
import type { LanguageModel } from '../src/agent/language-models/language-model.ts';
import { openLanguageModels } from '../src/agent/language-models/registry.ts';
import type { AgentInput } from '../src/agent/run-agent.ts';
import { applyInstallation } from '../src/installation/apply-installation.ts';
import { readInstallation } from '../src/installation/installation-file.ts';
import { openLog } from '../src/log.ts';
import { openDeployments } from '../src/query/deployments.ts';
import { noChanges } from '../src/store/changes.ts';
import { createAskers } from '../src/users/subject.ts';
import { openTestDatabase } from './databases.ts';
import { initRepository } from './git-repository.ts';

/** A user of the demo: of merchant 7, or in no group. */
export type DemoUser = 'merchant' | 'nobody';

/** What differs from the first question of a merchant to the agent of the demo on the default branch. */
export interface Asked extends Partial<Pick<AgentInput, 'branch' | 'signal' | 'messages'>> {
  readonly user?: DemoUser;
  readonly agentName?: string;
}

/** A deployment with the configuration `agentFiles`, and what its agents do. */
export interface AgentWorld {
  /** Runs the agent to its end. */
  ask(question: string, asked?: Asked): Promise<readonly AgentEvent[]>;
  /** All that was logged so far. */
  logText(): string;
  close(): Promise<void>;
}

/** Files of the agents by their paths. */
export type AgentFiles = Readonly<Record<string, string>>;

/** What a world is made of. `builtin` stands in the place of the built-in analyst. */
export interface AgentWorldSetup {
  /** On the default branch. */
  readonly agentFiles: AgentFiles;
  readonly languageModels?: Readonly<Record<string, LanguageModel>>;
  /** By branch; each has the same data model. */
  readonly branches?: Readonly<Record<string, AgentFiles>>;
}

const limits = defaultLimits;
const installationFile = fileURLToPath(new URL('../../../examples/storefront/inlay.yml', import.meta.url));

/** The storefront on a fresh database; its agents get their configuration with each world. Close it. */
export interface AgentWorlds extends AsyncDisposable {
  /** Makes a world, in the place of the one before, which is to be closed first. */
  open(setup: AgentWorldSetup): Promise<AgentWorld>;
}

/** What all worlds on one database share. */
interface Storefront {
  readonly db: Db;
  readonly accountId: number;
  readonly users: Readonly<Record<DemoUser, number>>;
}

/** Installs the storefront, with a merchant and a user in no group. */
export async function openAgentWorlds(): Promise<AgentWorlds> {
  await using opening = new AsyncDisposableStack();
  const database = await openTestDatabase('postgres');
  opening.defer(() => database.close());
  const { db } = database;
  const { accounts } = await readInstallation(installationFile, { dataFolder: tmpdir(), user: userShapes(limits) });
  const own = accounts.map((account) => ({
    ...account,
    deployments: account.deployments.map((deployment) => ({
      ...deployment,
      warehouse: { ...deployment.warehouse, folder: inject('demoDataFolder') },
    })),
  }));
  const { accountIds } = await applyInstallation(db, { accounts: own });
  const accountId = [...accountIds.values()][0] ?? 0;
  const users: Readonly<Record<DemoUser, number>> = {
    merchant: await insertMerchant(db, accountId),
    nobody: await insertUser(db, accountId, 'nobody'),
  };
  const parts = opening.move();
  return {
    open: (setup) => openAgentWorld({ db, accountId, users }, setup),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

async function openAgentWorld(
  { db, accountId, users }: Storefront,
  { agentFiles, languageModels = {}, branches }: AgentWorldSetup,
): Promise<AgentWorld> {
  await using opening = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'inlay-agents-'));
  opening.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  await writeAgents(folder, agentFiles);
  if (branches !== undefined) await makeBranches(folder, branches);
  await db
    .updateTable('deployments')
    .set({
      model_folder: branches === undefined ? inject('demoModelFolder') : join(folder, 'model'),
      agents_folder: join(folder, 'agents'),
    })
    .execute();
  const lines: string[] = [];
  const log = openLog({ write: (line: string) => void lines.push(line) });
  const deployments = opening.use(openDeployments({ db, log, changes: noChanges }));
  const models = new Map(await openLanguageModels({ source: undefined, silenceMs: 60_000, log }));
  for (const [name, model] of Object.entries(languageModels)) models.set(name, model);
  const clock = (): Date => new Date();
  const askers = createAskers({ db, changes: noChanges });
  const runAgent = createAgent(
    { db, query: { askers, deployments, clock, queryTimeoutMs: limits.queryTimeoutMs }, languageModels: models, log },
    { ...limits, brand: 'acme' },
  );
  const parts = opening.move();
  return {
    logText: () => lines.join(''),
    close: () => parts.disposeAsync(),
    ask(question, { user = 'merchant', agentName = 'Shop analyst', ...more } = {}) {
      const input: AgentInput = {
        messages: [{ role: 'user', content: question }],
        resultIds: [],
        principal: {
          accountId,
          userId: users[user],
          sessionId: null,
          apiKeyId: null,
          scopeId: null,
          securityContext: {},
        },
        agent: { id: 1, name: agentName, deploymentId: 1 },
        branch: null,
        requestId: 'req_test',
        startedAt: clock(),
        resume: null,
        signal: new AbortController().signal,
        ...more,
      };
      return Array.fromAsync(runAgent(input));
    },
  };
}

async function writeAgents(folder: string, files: AgentFiles): Promise<void> {
  await mkdir(join(folder, 'agents'));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, 'agents', path)), { recursive: true });
    await writeFile(join(folder, 'agents', path), text);
  }
}

/** Makes the folder a repository with the demo's data model in it, whose default branch is what lies on disk. */
async function makeBranches(folder: string, branches: Readonly<Record<string, AgentFiles>>): Promise<void> {
  const from = inject('demoModelFolder');
  await cp(from, join(folder, 'model'), { recursive: true });
  const model: Record<string, string> = {};
  for (const path of globSync('**/*.yml', { cwd: from })) {
    model[`model/${path}`] = await readFile(join(from, path), 'utf8');
  }
  const repository = await initRepository(folder, { isBare: false });
  await repository.setRef('refs/heads/main', await repository.commit(model));
  for (const [branch, files] of Object.entries(branches)) {
    const agents = Object.fromEntries(Object.entries(files).map(([path, text]) => [`agents/${path}`, text]));
    await repository.setRef(`refs/heads/${branch}`, await repository.commit({ ...model, ...agents }));
  }
}

type Db = Awaited<ReturnType<typeof openTestDatabase>>['db'];

async function insertUser(db: Db, accountId: number, externalId: string): Promise<number> {
  const { id } = await db
    .insertInto('users')
    .values({ account_id: accountId, kind: 'external', external_id: externalId })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

/** A user of the group `merchant` with the rows of merchant 7. */
async function insertMerchant(db: Db, accountId: number): Promise<number> {
  const userId = await insertUser(db, accountId, 'merchant-7');
  const found = async (table: 'groups' | 'user_attributes', name: string): Promise<number> => {
    const row = await db.selectFrom(table).select('id').where('name', '=', name).executeTakeFirstOrThrow();
    return row.id;
  };
  await db
    .insertInto('user_groups')
    .values({ user_id: userId, group_id: await found('groups', 'merchant') })
    .execute();
  await db
    .insertInto('user_attribute_values')
    .values({ user_id: userId, attribute_id: await found('user_attributes', 'merchant_id'), value: JSON.stringify(7) })
    .execute();
  return userId;
}

/** The text of the run's answer; empty when it has none. */
export function answerOf(events: readonly AgentEvent[]): string {
  return events.find((event) => event.type === 'final')?.text ?? '';
}
