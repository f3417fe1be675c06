/**
 * `npm run test:lossless -- --runs 300 [--seed n] [--only postgres|embedded]`: answers that are written while their readers are cut
 * off at any byte and come back, on either of two nodes, while nodes and PostgreSQL are killed by SIGKILL, and nodes are stopped or
 * stand still; a third of the runs is on one node with the embedded store. At the end every reader has the thread that the store
 * has, which is what the language model said: nothing lost, nothing doubled, nothing stuck. What went wrong is written into a
 * folder below the system's temporary one: every line that came, when, to whom.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startPostgres } from '../../postgres.ts';
import { queryPglite, queryPostgres } from '../raw-store.ts';
import type { Speaker } from './chat-call.ts';
import { type Nodes, startNodes } from './faults.ts';
import type { Problem } from './fold.ts';
import { type ChatInstallation, writeChatInstallation } from './installation.ts';
import { judgeThread, type ThreadEnd } from './judge.ts';
import { type LosslessModel, openLosslessModel } from './model.ts';
import { readServed, readStoredThreads, type StoredThreads } from './read-end.ts';
import { type AskedRecord, askQuestion } from './readers.ts';
import { randomOf } from './script.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** After the last fault, or after its question where that is later, a reader has to have seen the end within so long. */
const boundMs = 90_000;
/** Between two faults, by chance. */
const betweenMs = { min: 50, max: 1500 };
/** How long an answer is waited for between two faults, at most. */
const answerMsMax = 8000;
/** For so many runs one fault, if they take long enough. */
const runsPerFault = 5;
const usersMax = 40;
const questionsPerThreadMax = 3;

/** Limits that the suite does not stop at, and a lease that is over soon. */
const common = {
  INLAY_RUN_LEASE_MS: '2000',
  INLAY_RUN_ATTEMPTS_MAX: '20',
  INLAY_RUNS_PER_USER_MAX: '100',
  INLAY_EPHEMERAL_USERS_MAX: '1000000',
};
const secret = 'pQ7zL3vXn9Rs5TmWy1BdFhJkGe4CuIaO';

/** A store, and the nodes on it. */
interface Stage {
  readonly name: string;
  readonly nodes: Nodes;
  readonly apiKey: string;
  /** Threads at a time, at most. */
  readonly concurrent: number;
  /** What the store holds; the nodes may have to be stopped first. */
  read(): Promise<StoredThreads>;
}

/** A thread, as it was asked. */
interface ThreadRecord {
  readonly speaker: Speaker;
  readonly chatId: string | null;
  readonly asked: readonly AskedRecord[];
}

/** Threads of one to three questions each. @returns the numbers of the questions by thread. */
function planThreads(seed: number, first: number, runs: number): number[][] {
  const random = randomOf(seed, 'threads', first);
  const threads: number[][] = [];
  for (let next = first; next < first + runs; ) {
    const count = Math.min(1 + Math.floor(random() * questionsPerThreadMax), first + runs - next);
    threads.push(Array.from({ length: count }, (_, index) => next + index));
    next += count;
  }
  return threads;
}

async function askThread(
  questions: readonly number[],
  { seed, stage, model }: { readonly seed: number; readonly stage: Stage; readonly model: LosslessModel },
  progress: Progress,
): Promise<ThreadRecord> {
  const [first = 0] = questions;
  const speaker = { apiKey: stage.apiKey, externalId: `reader-${first % usersMax}`, agentId: 1 + (first % 2) };
  const asked: AskedRecord[] = [];
  let chatId: string | null = null;
  for (const question of questions) {
    const begunAt = Date.now();
    const stuckAt = (): number => Math.max(stage.nodes.quietSince, begunAt) + boundMs;
    const { nodes: addresses } = stage;
    const record = await askQuestion({ seed, question, speaker, chatId, addresses, saidOf: model.find, stuckAt });
    asked.push(record);
    progress.answered += 1;
    chatId = record.chatId;
    // What follows would only tell the same.
    if (chatId === null || record.readers.some(({ isStuck }) => isStuck)) break;
  }
  return { speaker, chatId, asked };
}

/** How far a stage is. */
interface Progress {
  /** Questions of which every reader has seen the end. */
  answered: number;
  isOver: boolean;
}

/**
 * Breaks one thing after another until all is over, `count` of them at most: thereafter whatever still goes on has to end. Mostly
 * something is answered in between, else nothing would ever be; but not always, since what has just come back may go again.
 */
async function goOnBreaking(stage: Stage, random: () => number, progress: Progress, count: number): Promise<void> {
  for (let left = count; left > 0 && !progress.isOver; left--) {
    const { answered } = progress;
    const deadline = Date.now() + (random() < 0.7 ? answerMsMax : 0);
    while (progress.answered === answered && Date.now() < deadline && !progress.isOver) await pause(20);
    await pause(betweenMs.min + random() * (betweenMs.max - betweenMs.min));
    if (progress.isOver) return;
    const what = await stage.nodes.breakOne(random);
    say(`  ${stage.name}: ${what}; ${progress.answered} questions are answered`);
  }
}

/** Everything of one stage: asks, breaks, reads, judges. @returns what was wrong. */
async function runStage(
  stage: Stage,
  { seed, first, runs, model }: { seed: number; first: number; runs: number; model: LosslessModel },
): Promise<readonly Problem[]> {
  const waiting = planThreads(seed, first, runs);
  const records: ThreadRecord[] = [];
  const progress: Progress = { answered: 0, isOver: false };
  const breaking = goOnBreaking(stage, randomOf(seed, 'faults', stage.name), progress, Math.ceil(runs / runsPerFault));
  const work = async (): Promise<void> => {
    for (let questions = waiting.shift(); questions !== undefined; questions = waiting.shift()) {
      records.push(await askThread(questions, { seed, stage, model }, progress));
    }
  };
  await Promise.all(Array.from({ length: Math.min(stage.concurrent, Math.ceil(runs / 6)) }, work));
  progress.isOver = true;
  await breaking;

  const ends: { readonly record: ThreadRecord; readonly served: ThreadEnd['served'] }[] = [];
  for (const record of records) {
    const { chatId, speaker } = record;
    const served =
      chatId === null ? [] : await Promise.all(stage.nodes.list().map((url) => readServed(url, speaker, chatId)));
    ends.push({ record, served });
  }
  const stored = await stage.read();
  const problems: Problem[] = [];
  const bad: object[] = [];
  for (const { record, served } of ends) {
    const id = record.chatId ?? '';
    const end = { asked: record.asked, served, stored: stored.messages.get(id) ?? [], runs: stored.runs.get(id) ?? [] };
    const found = judgeThread(end, { seed, asked: model.asked });
    problems.push(...found);
    if (found.length > 0) bad.push({ chatId: id, problems: found, ...end });
  }
  report(stage, records, stored, problems);
  if (bad.length > 0) await keep(stage, seed, bad, model);
  return problems;
}

function report(
  { name, nodes }: Stage,
  records: readonly ThreadRecord[],
  { runs: stored }: StoredThreads,
  problems: readonly Problem[],
): void {
  const asked = records.flatMap((record) => record.asked);
  const readers = asked.flatMap((record) => record.readers);
  const runs = [...stored.values()].flat();
  const sum = (numbers: readonly number[]): number => numbers.reduce((all, number) => all + number, 0);
  const count = (kind: Problem['kind']): number => problems.filter((problem) => problem.kind === kind).length;
  const inState = (state: string): number => runs.filter((run) => run.state === state).length;
  const codes = [...new Set(runs.flatMap(({ error }) => (error === null ? [] : [error.code])))];
  const { nodesKilled, nodesStopped, nodesStill, postgresKilled } = nodes.counts;
  say(`${name}: ${asked.length} runs in ${records.length} threads, ${readers.length} readers
  cuts by readers ${sum(readers.map(({ cuts }) => cuts))}, breaks and refusals that they met ${sum(readers.map(({ breaks }) => breaks))}
  nodes killed ${nodesKilled}, stopped ${nodesStopped}, stood still ${nodesStill}, PostgreSQL killed ${postgresKilled}
  runs carried on ${runs.filter(({ attempts }) => attempts > 1).length} (${sum(runs.map(({ attempts }) => attempts - 1))} times)
  completed ${inState('completed')}, aborted ${inState('aborted')}, failed ${inState('failed')}${codes.length > 0 ? ` (${codes})` : ''}
  lost ${count('lost')}, doubled ${count('doubled')}, stuck ${count('stuck')}, wrong otherwise ${count('wrong')}`);
  for (const { kind, text } of problems.slice(0, 12)) say(`  ${kind}: ${text.slice(0, 500)}`);
}

/** Writes down what is needed to find out why. */
async function keep({ name, nodes }: Stage, seed: number, bad: readonly object[], model: LosslessModel): Promise<void> {
  const folder = join(tmpdir(), `inlay-lossless-${seed}`, name.replaceAll(' ', '-'));
  await mkdir(folder, { recursive: true });
  for (const [index, thread] of bad.entries()) {
    await writeFile(join(folder, `thread-${index}.json`), JSON.stringify(thread, null, 1));
  }
  await writeFile(join(folder, 'language-model.json'), JSON.stringify(model.asked, null, 1));
  await writeFile(join(folder, 'nodes.log'), nodes.output());
  say(`  what happened is in ${folder}`);
}

async function onPostgres(installation: ChatInstallation, folder: string, stack: AsyncDisposableStack): Promise<Stage> {
  const postgres = await startPostgres();
  stack.defer(() => postgres.stop());
  await queryPostgres(`${postgres.baseUrl}postgres`, (query) => query('create database lossless'));
  const url = `${postgres.baseUrl}lossless`;
  const env = { ...common, ...installation.env, DATABASE_URL: url, INLAY_SECRET: secret };
  const envs = ['one', 'two'].map((node) => ({ ...env, INLAY_DATA_DIR: join(folder, node) }));
  const apiKey = await installation.apply({ ...env, INLAY_DATA_DIR: join(folder, 'one') });
  const nodes = stack.use(await startNodes(envs, postgres));
  const read = (): Promise<StoredThreads> => queryPostgres(url, readStoredThreads);
  return { name: 'two nodes on PostgreSQL', nodes, apiKey, concurrent: 30, read };
}

async function onEmbedded(installation: ChatInstallation, folder: string, stack: AsyncDisposableStack): Promise<Stage> {
  const dataFolder = join(folder, 'embedded');
  const env = { ...common, ...installation.env, INLAY_DATA_DIR: dataFolder };
  const apiKey = await installation.apply(env);
  const nodes = stack.use(await startNodes([env], null));
  const read = async (): Promise<StoredThreads> => {
    await nodes.stop();
    return await queryPglite(join(dataFolder, 'store'), readStoredThreads);
  };
  return { name: 'one node on the embedded store', nodes, apiKey, concurrent: 20, read };
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { runs: { type: 'string' }, seed: { type: 'string' }, only: { type: 'string' } },
  });
  const runs = Number(values.runs ?? 300);
  const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000_000));
  say(`seed ${seed}`);
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'inlay-lossless-'));
  stack.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  const model = stack.use(await openLosslessModel(seed));
  const installation = stack.use(await writeChatInstallation(model.server));
  const embedded = values.only === 'postgres' ? 0 : values.only === 'embedded' ? runs : Math.floor(runs / 3);
  let problems = 0;
  const stages = [
    { open: onPostgres, first: 0, runs: runs - embedded },
    { open: onEmbedded, first: runs - embedded, runs: embedded },
  ];
  for (const { open, ...part } of stages) {
    if (part.runs === 0) continue;
    await using parts = new AsyncDisposableStack();
    problems += (await runStage(await open(installation, folder, parts), { seed, model, ...part })).length;
  }
  say(`${problems} problems, seed ${seed}`);
  return problems;
}

process.exitCode = (await main()) === 0 ? 0 : 1;
