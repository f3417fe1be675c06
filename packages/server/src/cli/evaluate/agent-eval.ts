/** `agent eval`: asks an agent the questions of a folder, and grades the answers by what their SQL gives. */
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { type AgentReply, agentSchema } from '@inlay/contract/admin/agents.ts';
import { pageRowsMax } from '@inlay/contract/page.ts';
import { z } from 'zod';
import { ConfigError } from '../../config.ts';
import { reasonOf } from '../../errors.ts';
import { createSemaphore } from '../../semaphore.ts';
import type { ClientConfig } from '../client-config.ts';
import { callOperation, pageSchema, plain } from '../http-client.ts';
import type { Printer } from '../run-operation.ts';
import { asUser } from './ask-server.ts';
import { type AskAs, askAsSchema } from './eval-file.ts';
import { evaluateQuestion } from './evaluate-question.ts';
import { prepareQuestions, type ReadyQuestion, readAgentsFolder } from './read-questions.ts';
import { countVerdicts, reportJson, reportText, type TimedOutcome } from './report.ts';

/** Users of questions are gone after two hours, two of the longest runs. */
const userSeconds = 7200;

/**
 * Runs the command.
 * @returns whether all is well: nothing failed, nothing went wrong, and with `--strict` nothing is left to review
 * @throws ConfigError for wrong arguments or files, and when the agents cannot be read
 */
export async function runAgentEval(config: ClientConfig, args: readonly string[], print: Printer): Promise<boolean> {
  const flags = readFlags(args);
  const folder = await readAgentsFolder(flags.dir);
  const agent = await findAgent(config, flags.agent);
  const wanted = flags.filter.toLowerCase();
  const questions = prepareQuestions(folder, { agentName: agent.name, as: flags.as }).filter(
    ({ file, name, question }) => [file, name, question].some((text) => text.toLowerCase().includes(wanted)),
  );
  if (questions.length === 0) throw new ConfigError([`No question has "${flags.filter}" in it.`]);
  print.say(`Asking ${agent.name} (agent ${agent.id}) ${questions.length} questions.`);

  const chatPath = /\/api\/v1\/public\/.*(?=\/stream-chat-state$)/.exec(agent.chatApiUrl)?.[0];
  if (chatPath === undefined) throw new ConfigError([`The agent's Chat API URL is not known: ${agent.chatApiUrl}`]);
  const run = randomBytes(6).toString('hex');
  const outcomes: TimedOutcome[] = [];
  await inTurns(questions, flags.concurrency, async (question, index) => {
    const user = asUser(config, {
      chatPath,
      deploymentId: agent.deploymentId,
      branch: flags.branch,
      sessionSettings: sessionSettingsOf(question.as, `inlay-eval-${run}-${index + 1}`),
      runMs: flags.timeout * 1000,
      messageId: `${Date.now()}${String(index).padStart(4, '0')}-message`,
    });
    const started = performance.now();
    const outcome = await evaluateQuestion(user, question);
    outcomes[index] = { ...outcome, seconds: (performance.now() - started) / 1000 };
    print.say(`${Object.keys(outcomes).length}/${questions.length} ${outcome.verdict} ${plain(question.name)}`);
  });
  print.out(
    flags.json
      ? JSON.stringify({ agent: { id: agent.id, name: agent.name }, ...reportJson(outcomes) }, null, 2)
      : reportText(outcomes),
  );
  const { fail, error, review } = countVerdicts(outcomes);
  return fail === 0 && error === 0 && (review === 0 || !flags.strict);
}

const flagsSchema = z.object({
  dir: z.string().min(1).default('agents'),
  agent: z.string().min(1).optional(),
  filter: z.string().default(''),
  as: z
    .string()
    .transform((text, context) => {
      try {
        return askAsSchema.parse(JSON.parse(text));
      } catch (error) {
        const [issue] = error instanceof z.ZodError ? error.issues : [];
        context.addIssue(issue === undefined ? 'must be JSON' : `${issue.path.join('.')}: ${issue.message}`);
        return z.NEVER;
      }
    })
    .optional(),
  branch: z.string().min(1).max(255).optional(),
  concurrency: z.coerce.number().int().min(1).max(20).default(4),
  timeout: z.coerce.number().int().min(1).max(7200).default(900),
  strict: z.boolean().default(false),
  json: z.boolean().default(false),
});

function readFlags(args: readonly string[]): z.infer<typeof flagsSchema> {
  const problem = (text: string): ConfigError => new ConfigError([`${text} (npm run inlay -- agent eval --help)`]);
  const text = { type: 'string' } as const;
  const bare = { type: 'boolean' } as const;
  const options = {
    ...{ dir: text, agent: text, filter: text, as: text, branch: text, concurrency: text, timeout: text },
    ...{ strict: bare, json: bare },
  };
  try {
    const { values } = parseArgs({ args: [...args], options, strict: true, allowPositionals: false });
    const parsed = flagsSchema.safeParse(values);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    throw problem(`--${issue?.path.join('.')}: ${issue?.message}`);
  } catch (error) {
    throw error instanceof ConfigError ? error : problem(reasonOf(error));
  }
}

/** The agent by id or by name; the only one where none is named. @throws ConfigError that says which there are */
async function findAgent(config: ClientConfig, wanted: string | undefined): Promise<AgentReply> {
  const call = { path: '/api/v1/agents', query: { first: String(pageRowsMax) }, body: undefined };
  const page = pageSchema.parse(await callOperation(config, { method: 'GET' }, call));
  const agents = z.array(agentSchema).parse(page.items);
  const found = agents.filter(
    ({ id, name }) => wanted === undefined || String(id) === wanted || name.toLowerCase() === wanted.toLowerCase(),
  );
  const [agent, another] = found;
  if (agent !== undefined && another === undefined) return agent;
  const which = agents.map(({ id, name }) => `  ${id}  ${name}`);
  const problem =
    wanted === undefined
      ? 'Say which agent'
      : another
        ? `Several agents are called ${wanted}`
        : `There is no agent ${wanted}`;
  throw new ConfigError([`${problem}: --agent ID`, ...which]);
}

/** For whom a question is asked: whom it names, or else somebody new, so that questions do not disturb each other. */
function sessionSettingsOf(as: AskAs, externalId: string): Readonly<Record<string, unknown>> {
  if (as.externalId !== undefined || as.internalId !== undefined) return as;
  return { ...as, externalId, ephemeralTtlSeconds: userSeconds };
}

/**
 * Works on all of them, `countMax` at a time. Those of one named user come one after the other, since each call gives the user the
 * groups and values that it names.
 */
async function inTurns(
  questions: readonly ReadyQuestion[],
  countMax: number,
  work: (question: ReadyQuestion, index: number) => Promise<void>,
): Promise<void> {
  const places = createSemaphore(countMax);
  const never = new AbortController().signal;
  const before = new Map<string, Promise<void>>();
  const all = questions.map(async (question, index) => {
    const { externalId, internalId } = question.as;
    const user = externalId ?? internalId ?? String(index);
    const own = (before.get(user) ?? Promise.resolve()).then(async () => {
      using _place = await places.enter(never);
      await work(question, index);
    });
    before.set(user, own);
    await own;
  });
  await Promise.all(all);
}
