/**
 * `npm run test:kill -- --server 50 --postgres 10 [--seed n]`: kills by SIGKILL under load. The server is killed on the embedded
 * store and on PostgreSQL, so many times each; then PostgreSQL itself, all its processes. After each kill: no acknowledged call
 * is lost, none is half-applied, and the server serves again without help.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startPostgres, type TestPostgres } from '../../postgres.ts';
import { queryPostgres } from '../raw-store.ts';
import { type ServerProcess, startServer } from '../server-process.ts';
import { attributeNames, firstMark, groupSets, groupsOf, type StoredParts } from './calls.ts';
import { createHistory, type History } from './history.ts';
import { type Load, type LoadSource, post, sessionProblems, startLoad } from './load.ts';
import { killAll } from './postgres-processes.ts';
import { hasConnections, readPglite, readPostgres } from './read-store.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);
/** How long the load goes on before a kill: by chance, between these. */
const loadMs = { min: 150, max: 1500 };
const recoveryDeadlineMs = 120_000;
/** So many acknowledged calls at least go before a kill, or it would prove nothing. */
const callsMin = 20;

/** Signs the tokens of the suite's servers on PostgreSQL. */
const secret = 'mZ4qP8wXr2Ls6TnVy0BcDfGhJkQe3RtU';

/** A run of kills on one store. */
interface Stage {
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  /** What the store holds while no server works on it. */
  read(): Promise<StoredParts>;
}

function randomFrom(seed: number): () => number {
  let state = (seed % 2_147_483_646) + 1;
  return () => {
    state = (state * 16_807) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

function sourceOf(seed: number): LoadSource {
  let mark = firstMark;
  return { history: createHistory(), random: randomFrom(seed), nextMark: () => mark++ };
}

/** The groups and attributes that the calls name. They may be there from an earlier start. */
async function makeCatalogue(url: string): Promise<void> {
  const make = async (path: string, body: unknown): Promise<void> => {
    const reply = await post(url, path, body);
    if (reply === null || (reply.status !== 201 && reply.status !== 409)) throw new Error(`${path}: ${reply?.text}`);
  };
  for (let set = 0; set < groupSets; set++) for (const name of groupsOf(set)) await make('/api/v1/groups', { name });
  for (const name of attributeNames) await make('/api/v1/user-attributes', { name, type: 'number' });
}

/** Lets the load do some work, then as long as chance says. @throws Error when it gets nothing done. */
async function underLoad(load: Load, random: () => number): Promise<void> {
  const before = load.acknowledged;
  const deadline = Date.now() + recoveryDeadlineMs;
  while (load.acknowledged < before + callsMin) {
    if (Date.now() > deadline)
      throw new Error(`the server does not serve: ${load.acknowledged - before} calls. ${load.refusals.slice(0, 3)}`);
    await pause(10);
  }
  await pause(loadMs.min + random() * (loadMs.max - loadMs.min));
}

/** Prints what is wrong, if anything. @returns how many things. */
function report(title: string, problems: readonly string[], history: History): number {
  say(`${title}: ${history.acknowledged} calls acknowledged so far, ${problems.length} problems`);
  for (const problem of problems.slice(0, 10)) say(`  ${problem.slice(0, 400)}`);
  return problems.length;
}

/** Kills the server `kills` times on one store. @returns how many things were wrong. */
async function killServer({ name, env, read }: Stage, kills: number, seed: number): Promise<number> {
  const source = sourceOf(seed);
  let problems = 0;
  let server: ServerProcess = await startServer(env);
  try {
    await makeCatalogue(server.url);
    for (let kill = 1; kill <= kills; kill++) {
      const load = startLoad(server.url, source);
      await underLoad(load, source.random);
      await server.end('SIGKILL');
      await load.stop();
      const stored = await read();
      source.history.settle();
      const sessions = load.takeSessions();
      server = await startServer(env);
      const found = [
        ...load.refusals,
        ...source.history.problemsOf(stored),
        ...(await sessionProblems(server.url, sessions)),
      ];
      problems += report(
        `${name}: server killed ${kill} of ${kills}, ${sessions.length} sessions`,
        found,
        source.history,
      );
    }
    return problems;
  } finally {
    await server.end('SIGKILL');
  }
}

/** Kills PostgreSQL `kills` times under a server that lives on. @returns how many things were wrong. */
async function killPostgres(stage: Stage, postgres: TestPostgres, kills: number, seed: number): Promise<number> {
  const source = sourceOf(seed);
  let problems = 0;
  const server = await startServer(stage.env);
  try {
    await makeCatalogue(server.url);
    for (let kill = 1; kill <= kills; kill++) {
      const load = startLoad(server.url, source);
      await underLoad(load, source.random);
      await killAll(postgres);
      await pause(source.random() * loadMs.max);
      await postgres.resume();
      await underLoad(load, source.random);
      await load.stop();
      source.history.settle();
      const sessions = load.takeSessions();
      const found = [
        ...load.refusals,
        ...source.history.problemsOf(await stage.read()),
        ...(await sessionProblems(server.url, sessions)),
        ...(server.child.exitCode === null ? [] : ['the server has ended']),
      ];
      problems += report(`PostgreSQL killed ${kill} of ${kills}, ${sessions.length} sessions`, found, source.history);
    }
    return problems;
  } finally {
    await server.end('SIGKILL');
  }
}

/** Waits until PostgreSQL does nothing any more for a server that is dead: what it had sent is done or undone then. */
async function untilDisconnected(url: string): Promise<void> {
  const deadline = Date.now() + recoveryDeadlineMs;
  while (await hasConnections(url)) {
    if (Date.now() > deadline) throw new Error('connections of a dead server stay');
    await pause(10);
  }
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { server: { type: 'string' }, postgres: { type: 'string' }, seed: { type: 'string' } },
  });
  const serverKills = Number(values.server ?? 5);
  const postgresKills = Number(values.postgres ?? 2);
  const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000_000));
  say(`seed ${seed}`);
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'inlay-kill-'));
  stack.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  const common = { INLAY_EXTERNAL_USERS_MAX: '10000000' };

  const dataFolder = join(folder, 'embedded');
  const embedded: Stage = {
    name: 'embedded store',
    env: { ...common, INLAY_DATA_DIR: dataFolder },
    read: () => readPglite(join(dataFolder, 'store')),
  };
  let problems = serverKills === 0 ? 0 : await killServer(embedded, serverKills, seed);

  const postgres = await startPostgres();
  stack.defer(() => postgres.stop());
  /** A database of its own for a stage: what is in it, the stage has asked for. */
  const stageOn = async (name: string, waitUntilSettled: (url: string) => Promise<void>): Promise<Stage> => {
    await queryPostgres(`${postgres.baseUrl}postgres`, (query) => query(`create database ${name}`));
    const url = postgres.baseUrl + name;
    const env = { ...common, DATABASE_URL: url, INLAY_SECRET: secret, INLAY_DATA_DIR: join(folder, name) };
    return { name: 'PostgreSQL', env, read: () => waitUntilSettled(url).then(() => readPostgres(url)) };
  };
  if (serverKills > 0)
    problems += await killServer(await stageOn('server_kills', untilDisconnected), serverKills, seed + 1);
  if (postgresKills > 0) {
    problems += await killPostgres(
      await stageOn('postgres_kills', async () => undefined),
      postgres,
      postgresKills,
      seed + 2,
    );
  }
  say(`${problems} problems, seed ${seed}`);
  return problems;
}

process.exitCode = (await main()) === 0 ? 0 : 1;
