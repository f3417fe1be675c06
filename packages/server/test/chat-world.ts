/** Accounts, users and agents with equal names side by side, and the chat over them with a scripted language model. */
import { randomUUID } from 'node:crypto';
import { type ChatRequest, type Frame, frameSchema } from '@inlay/contract/chat.ts';
import { z } from 'zod';
import type { AgentDependencies, AgentLimits } from '../src/agent/agent-dependencies.ts';
import { runAgent } from '../src/agent/agent-loop.ts';
import type { LanguageModel } from '../src/agent/language-models/language-model.ts';
import type { RunAgent } from '../src/agent/run-agent.ts';
import { defineTool, type Tool } from '../src/agent/tools/tool.ts';
import { abortChat } from '../src/chat/abort-chat.ts';
import { findAgent } from '../src/chat/find-agent.ts';
import type { Message } from '../src/chat/frames.ts';
import { createRunTails, type RunTails } from '../src/chat/run-tails.ts';
import { createRuns, type RunLimits, type Runs } from '../src/chat/runs.ts';
import { openChatStream } from '../src/chat/stream-chat.ts';
import { readHistory } from '../src/chat/thread-history.ts';
import { type Changes, noChanges } from '../src/store/changes.ts';
import { type Metrics, noMetrics } from '../src/telemetry/telemetry.ts';
import type { Principal } from '../src/users/principal.ts';
import { createPrincipalWatches } from '../src/users/principal-watch.ts';
import { type DatabaseKind, openTestDatabase, type TestDatabase } from './databases.ts';

/** Limits that a test does not meet unless it means to. */
export const testLimits: AgentLimits = {
  agentTurnsMax: 20,
  agentToolCallsMax: 40,
  runMs: 20_000,
  languageModelSilenceMs: 20_000,
  textCharactersMax: 10_000,
  runTokensMax: 1_000_000,
  modelRowsMax: 25,
  runResultBytesMax: 4_194_304,
};

/** The same for runs. */
export const testRunLimits: RunLimits = {
  runsPerUserMax: 100,
  runsPerAccountMax: 1000,
  runsMax: 100,
  runsWaitingMax: 100,
  runLeaseMs: 10_000,
  runAttemptsMax: 3,
  threadMessagesMax: 5000,
  threadBytesMax: 33_554_432,
};

/** What a chat of the test is made of; all but the language model has a default. */
export interface ChatSetup {
  readonly languageModel: LanguageModel;
  readonly tools?: readonly Tool[];
  readonly limits?: Partial<AgentLimits>;
  readonly brand?: string;
  readonly clock?: () => Date;
  readonly runLimits?: Partial<RunLimits>;
  /** Left out: it hears of none. */
  readonly changes?: Changes;
  readonly metrics?: Metrics;
  /** Characters of lines that are remembered of each run. */
  readonly rememberedMax?: number;
  /** Instead of the agent's own way with the language model. */
  readonly runAgent?: RunAgent;
  /** Left out: that of no node which is alive. */
  readonly nodeId?: string;
  /** Instead of the world's own. */
  readonly db?: TestDatabase['db'];
}

/** Someone who may chat: a user and the agent they talk to. */
export interface Caller {
  readonly principal: Principal;
  readonly agentId: number;
  readonly accountName: string;
}

/** One chat over the world's database: a node of its own. For the others it is gone as long as it is not in `nodes`. */
export interface Chat {
  readonly nodeId: string;
  readonly runs: Runs;
  readonly tails: RunTails;
  /** What was logged as an error. */
  readonly errors: object[];
  open(caller: Caller, request: Request, signal?: AbortSignal): Promise<AsyncIterable<Frame>>;
  /** The same, as the lines that they are. */
  openLines(caller: Caller, request: Request, signal?: AbortSignal): Promise<AsyncIterable<string>>;
  /** The whole stream, to its end. */
  read(caller: Caller, request: Request): Promise<Frame[]>;
  abort(caller: Caller, chatId: string): Promise<void>;
}
type Request = Omit<ChatRequest, 'sessionSettings'>;

/** A database with accounts, users and agents in it, and chats over it. */
export interface ChatWorld {
  readonly database: TestDatabase;
  /** Two users of account one, and one of account two with the first one's name. */
  readonly callers: { readonly ann: Caller; readonly bob: Caller; readonly annElsewhere: Caller };
  chat(setup: ChatSetup): Chat;
  /** From now on the node is alive for the others. */
  keepAlive(chat: Chat): Promise<void>;
  close(): Promise<void>;
}

/** Makes the world on a fresh database. Close it: its runs end with it. */
export async function openChatWorld(kind: DatabaseKind): Promise<ChatWorld> {
  const database = await openTestDatabase(kind);
  const { db } = database;
  const callers: Caller[] = [];
  for (const [agentId, accountName, externalId] of [
    [1, 'one', 'ann'],
    [1, 'one', 'bob'],
    [2, 'two', 'ann'],
  ] as const) {
    await db
      .insertInto('accounts')
      .values({ name: accountName, plan: 'Enterprise', use_creator_mode: false })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    const account = await db
      .selectFrom('accounts')
      .select('id')
      .where('name', '=', accountName)
      .executeTakeFirstOrThrow();
    const own = { id: agentId, account_id: account.id, name: 'shop' };
    const warehouse = JSON.stringify({ type: 'duckdb', folder: 'nowhere' });
    await db
      .insertInto('deployments')
      .values({ ...own, model_folder: 'nowhere', warehouse })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    await db
      .insertInto('agents')
      .values({ ...own, deployment_id: agentId })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    const user = await db
      .insertInto('users')
      .values({ account_id: account.id, kind: 'external', external_id: externalId })
      .returning('id')
      .executeTakeFirstOrThrow();
    const principal = {
      accountId: account.id,
      userId: user.id,
      sessionId: null,
      apiKeyId: null,
      scopeId: null,
      securityContext: {},
    };
    callers.push({ principal, agentId, accountName });
  }
  const [ann, bob, annElsewhere] = callers;
  if (ann === undefined || bob === undefined || annElsewhere === undefined) throw new Error('not seeded');
  const open: Chat[] = [];
  return {
    database,
    callers: { ann, bob, annElsewhere },
    chat: (setup) => {
      const chat = createChat(database, setup);
      open.push(chat);
      return chat;
    },
    async keepAlive({ nodeId }) {
      const seenAt = new Date(Date.now() + 3_600_000);
      await db.insertInto('nodes').values({ id: nodeId, seen_at: seenAt }).execute();
    },
    async close() {
      for (const { tails } of open) tails.close();
      await Promise.all(open.map(({ runs }) => runs.close(0)));
      await database.close();
    },
  };
}

function createChat(database: TestDatabase, setup: ChatSetup): Chat {
  const { db = database.db, brand = 'platform', clock = () => new Date(), tools = [], languageModel } = setup;
  const { changes = noChanges, nodeId = randomUUID(), rememberedMax } = setup;
  const errors: object[] = [];
  const log = {
    error: (fields: object) => void errors.push(fields),
    warn: () => undefined,
    info: () => undefined,
  };
  const context = {
    today: '2026-01-01',
    relations: [],
    valueMatches: [],
    toolNames: { meta: `${brand}Meta`, sql: `${brand}SqlApi` },
  };
  const agent: AgentDependencies = {
    languageModel,
    tools,
    log,
    clock,
    limits: { ...testLimits, ...setup.limits },
    ground: async () => ({ context, system: '' }),
    isPrivate: false,
    showsThinking: false,
  };
  const tails = createRunTails({ db, log, ...(rememberedMax === undefined ? {} : { rememberedMax }) });
  const runs = createRuns({
    db,
    clock,
    log,
    metrics: setup.metrics ?? noMetrics,
    brand,
    limits: { ...testRunLimits, ...setup.runLimits },
    changes,
    watches: createPrincipalWatches({ db: database.db, changes: noChanges, clock: () => new Date(), log }),
    nodeId,
    readers: tails,
    runAgent: setup.runAgent ?? ((input) => runAgent(agent, input)),
  });
  const agentOf = ({ principal: { accountId }, agentId, accountName }: Caller) =>
    findAgent(db, { cloudRegion: undefined, accountName, agentId: String(agentId), accountId });

  const chat: Chat = {
    nodeId,
    runs,
    tails,
    errors,
    async openLines(caller, request, signal = new AbortController().signal) {
      const { principal } = caller;
      const reader = { gone: signal, ended: new AbortController().signal, requestId: 'req_test' };
      const asked = { principal, agent: await agentOf(caller), branch: null, request };
      return openChatStream({ db, clock, runs, tails }, { ...asked, requestId: 'req_test', reader });
    },
    open: async (caller, request, signal) => toFrames(await chat.openLines(caller, request, signal)),
    read: async (caller, request) => Array.fromAsync(await chat.open(caller, request)),
    abort: async (caller, chatId) =>
      abortChat({ db, runs }, { agent: await agentOf(caller), asker: caller.principal, chatId }),
  };
  return chat;
}

async function* toFrames(lines: AsyncIterable<string>): AsyncGenerator<Frame> {
  for await (const line of lines) yield frameSchema.parse(JSON.parse(line));
}

/** A tool that answers what it is told to, after a wait if any. */
export function toolThat(
  name: string,
  run: (input: object, signal: AbortSignal) => Promise<Record<string, unknown>>,
): Tool {
  return defineTool({
    name,
    description: name,
    schema: z.looseObject({}),
    shown: (input) => input,
    run: async (input, { signal }) => ({ result: await run(input, signal), queries: 0, rows: 0 }),
  });
}

/** A tool that gives a stored result of two rows, as SQL would. */
export function queryTool(name: string, result: object): Tool {
  return defineTool({
    name,
    description: name,
    schema: z.looseObject({}),
    shown: (input) => input,
    run: async () => {
      const uuid = randomUUID();
      return { result: { ...result, uuid }, queries: 1, rows: 2, resultId: uuid };
    },
  });
}

/** The closed messages of a thread in order. */
export async function readMessages(db: TestDatabase['db'], threadId: string): Promise<Message[]> {
  const all = { threadId, messages: [], lastSort: 2_147_483_647 };
  const read = await Array.fromAsync(readHistory(db, all));
  return read.map(({ runId, ...message }) => message);
}

/** The id of the thread that a stream speaks of. */
export function chatIdOf(frames: readonly Frame[]): string {
  const chatId = frames.find(({ id }) => id === '__cutoff__')?.state?.chatId;
  if (chatId === undefined) throw new Error('no cut-off in the stream');
  return chatId;
}

/** Waits until `condition` holds, ten seconds at most. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('waited in vain');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
