/** A real server for tests: the storefront example in two accounts side by side, listening on a port of its own. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defaultLimits } from '@inlay/contract/limits.ts';
import { userShapes } from '@inlay/contract/user.ts';
import type { Kysely, LogEvent } from 'kysely';
import { inject } from 'vitest';
import { insertApiKey } from '../src/admin/make-api-key.ts';
import { keepNode } from '../src/chat/keep-node.ts';
import { type Config, readConfig } from '../src/config.ts';
import { type Context, type Overrides, openContext } from '../src/context.ts';
import { buildApp, type RegisteredRoute } from '../src/http/app.ts';
import { applyInstallation } from '../src/installation/apply-installation.ts';
import { readInstallation } from '../src/installation/installation-file.ts';
import { openLog } from '../src/log.ts';
import { type Changes, noChanges } from '../src/store/changes.ts';
import { openStore } from '../src/store/database.ts';
import type { Schema } from '../src/store/schema.ts';
import { type DatabaseKind, openTestDatabase } from './databases.ts';

const installationFile = fileURLToPath(new URL('../../../examples/storefront/inlay.yml', import.meta.url));

/** An account of the test server. `demo` has deployment 1 and agent 1, `other` the same under 2 and 2. */
export interface TestAccount {
  readonly accountId: number;
  readonly deploymentId: number;
  readonly agentId: number;
  /** An admin key. */
  readonly apiKey: string;
}

/** A server that listens, and what tests need to know of its inside. */
export interface TestServer {
  /** Without a trailing slash. */
  readonly url: string;
  readonly context: Context;
  readonly routes: readonly RegisteredRoute[];
  /** The admin key of `demo`. */
  readonly apiKey: string;
  /** The account `demo`. */
  readonly accountId: number;
  readonly demo: TestAccount;
  /** An account with the same names of groups, attributes and users. */
  readonly other: TestAccount;
  /** Where its store lies, for a second node. */
  readonly store: Config['store'];
  /** What signs its tokens. */
  readonly signingSecret: string;
  /** All that the server has logged so far. */
  logText(): string;
  close(): Promise<void>;
}

/** What may differ from a server as it is started: settings, the clock, the language model. */
export interface TestServerOptions extends Pick<Overrides, 'clock' | 'languageModel'> {
  readonly kind?: DatabaseKind;
  readonly config?: Partial<Config>;
  /** Another node of this server: the same accounts in the same PostgreSQL database. Close it before that one. */
  readonly nodeOf?: TestServer;
  /** It hears of no change, as a node whose channel is lost. */
  readonly isDeaf?: boolean;
  /** Told of every statement to the store, once it is done. */
  readonly onStatement?: (statement: LogEvent) => void;
}

/** Tests ask as often as they like, and fail to authenticate as often: all from one address. */
const unlimited = {
  keyRequestsPerMinuteMax: 10_000_000,
  userRequestsPerMinuteMax: 10_000_000,
  failedAuthenticationsPerMinuteMax: 10_000_000,
};

/** Starts a server on a fresh database (PostgreSQL when left out, which opens faster) over the demo data. Close it. */
export async function openTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { kind = 'postgres', clock, languageModel, nodeOf, isDeaf = false, onStatement } = options;
  await using opening = new AsyncDisposableStack();
  const dataFolder = await mkdtemp(join(tmpdir(), 'inlay-server-'));
  opening.defer(() => rm(dataFolder, { recursive: true, force: true, maxRetries: 3 }));
  const { db, changes, store } = await openTestStore({ kind, nodeOf, onStatement }, opening);

  const lines: string[] = [];
  const log = openLog({ write: (line: string) => void lines.push(line) });
  const config = {
    ...readConfig({ PORT: '0', INLAY_DATA_DIR: dataFolder }),
    ...unlimited,
    ...(nodeOf === undefined ? {} : { secrets: [nodeOf.signingSecret] }),
    ...options.config,
  };
  const context = opening.use(
    await openContext(config, {
      db,
      changes: isDeaf ? noChanges : changes,
      log,
      ...(clock === undefined ? {} : { clock }),
      ...(languageModel === undefined ? {} : { languageModel }),
    }),
  );
  const { demo, other } = nodeOf ?? (await installTwice(context));
  const { clock: now, node, runs } = context;
  opening.use(await keepNode({ db, clock: now, log, node, runs, isAlone: false, leaseMs: config.runLeaseMs }));
  const app = await buildApp(context);
  opening.defer(() => app.close());
  const url = await app.listen({ host: '127.0.0.1', port: 0 });

  const parts = opening.move();
  return {
    url,
    context,
    routes: app.registeredRoutes,
    apiKey: demo.apiKey,
    accountId: demo.accountId,
    demo,
    other,
    store,
    signingSecret: config.secrets[0] ?? (await readFile(join(dataFolder, 'signing-secret'), 'utf8')).trim(),
    logText: () => lines.join(''),
    close: () => parts.disposeAsync(),
  };
}

/** A fresh database, or a further way into that of another node, and the changes in it. */
async function openTestStore(
  {
    kind,
    nodeOf,
    onStatement,
  }: {
    readonly kind: DatabaseKind;
    readonly nodeOf: TestServer | undefined;
    readonly onStatement: ((statement: LogEvent) => void) | undefined;
  },
  opening: AsyncDisposableStack,
): Promise<{ db: Kysely<Schema>; changes: Changes; store: Config['store'] }> {
  if (nodeOf !== undefined) {
    const { db, changes } = opening.use(await openStore(nodeOf.store, () => undefined, onStatement));
    return { db, changes, store: nodeOf.store };
  }
  const database = await openTestDatabase(kind, onStatement);
  opening.defer(() => database.close());
  return { db: database.db, changes: await database.openChanges(), store: database.store };
}

/** Applies the storefront's installation as account `demo`, and once more as `other` with ids of its own. */
async function installTwice({ db, config }: Context): Promise<{ demo: TestAccount; other: TestAccount }> {
  const { dataFolder } = config;
  const user = userShapes(defaultLimits);
  const [account] = (await readInstallation(installationFile, { dataFolder, user })).accounts;
  if (account === undefined) throw new Error('The storefront example declares no account.');
  const install = async (name: string, id: number): Promise<TestAccount> => {
    const deployments = account.deployments.map((deployment) => ({
      ...deployment,
      id,
      model: inject('demoModelFolder'),
      warehouse: { ...deployment.warehouse, folder: inject('demoDataFolder') },
    }));
    const agents = account.agents.map((agent) => ({ ...agent, id, deployment: id }));
    const { accountIds } = await applyInstallation(db, { accounts: [{ ...account, name, deployments, agents }] });
    const accountId = accountIds.get(name);
    if (accountId === undefined) throw new Error(`The account ${name} was not made.`);
    const { key } = await insertApiKey(db, { accountId, role: 'admin' });
    return { accountId, deploymentId: id, agentId: id, apiKey: key };
  };
  return { demo: await install('demo', 1), other: await install('other', 2) };
}

/** The parsed body of a JSON reply, whatever it holds. */
export type JsonReply = { readonly status: number; readonly headers: Headers; readonly body: Record<string, unknown> };

/** Posts `body` as JSON to a path of the server. */
export async function postJson(
  server: Pick<TestServer, 'url'>,
  path: string,
  body: unknown,
  authorization?: string,
): Promise<JsonReply> {
  const reply = await fetch(server.url + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(authorization === undefined ? {} : { authorization }),
    },
    body: JSON.stringify(body),
  });
  const text = await reply.text();
  return { status: reply.status, headers: reply.headers, body: text === '' ? {} : JSON.parse(text) };
}

/** Mints a session as the account, exchanges it, and gives the value of an Authorization header. */
export async function openSession(
  server: Pick<TestServer, 'url'>,
  account: TestAccount,
  user: Record<string, unknown>,
): Promise<string> {
  const path = '/api/v1/embed/generate-session';
  const minted = await postJson(
    server,
    path,
    { deploymentId: account.deploymentId, ...user },
    `Api-Key ${account.apiKey}`,
  );
  if (minted.status !== 200) throw new Error(`generate-session: ${JSON.stringify(minted.body)}`);
  const { status, body } = await postJson(server, '/api/v1/embed/session/token', minted.body);
  if (status !== 200) throw new Error(`session/token: ${JSON.stringify(body)}`);
  return `Bearer ${String(body['token'])}`;
}
