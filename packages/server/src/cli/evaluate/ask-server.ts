/** The chat and the data API of a server, as one user, for grading. */
import { setTimeout as wait } from 'node:timers/promises';
import { type Frame, frameSchema } from '@inlay/contract/chat.ts';
import { cubeSqlLineSchema } from '@inlay/contract/data.ts';
import type { z } from 'zod';
import { ConfigError } from '../../config.ts';
import { reasonOf } from '../../errors.ts';
import type { ClientConfig } from '../client-config.ts';
import { errorLines } from '../http-client.ts';
import type { ResultTable } from './compare-results.ts';
import type { AsUser } from './evaluate-question.ts';
import { readAnswer } from './read-answer.ts';

/** What is asked where, and for whom. */
export interface AskSettings {
  /** The path of the agent's chat. */
  readonly chatPath: string;
  readonly deploymentId: number;
  /** The branch of the data model; undefined: the default one. */
  readonly branch: string | undefined;
  readonly sessionSettings: Readonly<Record<string, unknown>>;
  /** How long a run may take. */
  readonly runMs: number;
  /** `<digits>-message`, of no other question of this user. */
  readonly messageId: string;
}

/** How often a call is made again where the server is busy, or the connection breaks. */
const attemptsMax = 5;
/** The longest wait that the server may ask for. */
const waitSecondsMax = 60;
const queryMs = 600_000;
const bytesMax = 64 * 1024 * 1024;
const rowsMax = 100_000;

/** The server as the user of `settings`. */
export function asUser(config: ClientConfig, settings: AskSettings): AsUser {
  const { chatPath, deploymentId, branch, sessionSettings, runMs, messageId } = settings;
  return {
    async ask(question) {
      // With the same id a call joins the run that the one before it began, so that it can be made again.
      const body = {
        input: question,
        messageId,
        sessionSettings,
        ...(branch === undefined ? {} : { activeBranchName: branch }),
      };
      let frames: Frame[] = [];
      const isEnded = (): boolean => frames.some(({ id }) => id === '__usage__');
      try {
        await postForLines(config, `${chatPath}/stream-chat-state`, body, {
          timeoutMs: runMs,
          begin: () => {
            frames = [];
          },
          take: (line) => void frames.push(parseAs(frameSchema, line)),
          isWhole: isEnded,
        });
      } catch (error) {
        const chatId = frames.find(({ id }) => id === '__cutoff__')?.state?.chatId;
        // Nobody waits for it any more, and its language model costs money.
        if (chatId !== undefined && !isEnded())
          await abort(config, `${chatPath}/stream-chat-state/abort`, { chatId, sessionSettings });
        throw error;
      }
      return readAnswer(frames);
    },
    async query(sql) {
      const body = { query: sql, sessionSettings, ...(branch === undefined ? {} : { branch }) };
      let schema: ResultTable['schema'] | null = null;
      let rows: ResultTable['rows'][number][] = [];
      await postForLines(config, `/api/v1/deployments/${deploymentId}/cubesql`, body, {
        timeoutMs: queryMs,
        begin: () => {
          schema = null;
          rows = [];
        },
        take(text) {
          const line = parseAs(cubeSqlLineSchema, text);
          if ('error' in line) throw new ConfigError([line.error]);
          if ('schema' in line) schema = line.schema;
          else for (const row of line.data) rows.push(row);
          if (rows.length > rowsMax)
            throw new ConfigError([`It gives more than ${rowsMax} rows, too many to compare.`]);
        },
        isWhole: () => schema !== null,
      });
      return { schema: schema ?? [], rows };
    },
  };
}

interface LinesReader {
  readonly timeoutMs: number;
  /** A reply begins, the first or, after a broken one, another. */
  begin(): void;
  /** One line of it. */
  take(line: string): void;
  /** Whether the reply that has ended is all there is. */
  isWhole(): boolean;
}

/** Posts, and reads the lines of the reply; again where the server is busy or the reply breaks off. @throws ConfigError */
async function postForLines(config: ClientConfig, path: string, body: object, reader: LinesReader): Promise<void> {
  const signal = AbortSignal.timeout(reader.timeoutMs);
  const timedOut = `There was no whole reply within ${Math.round(reader.timeoutMs / 1000)} seconds.`;
  for (let attempt = 1; ; attempt++) {
    const outcome = await postOnce(config, path, body, reader, signal).catch((error: unknown) => {
      if (error instanceof ConfigError) throw error;
      if (signal.aborted) throw new ConfigError([timedOut]);
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
      return { kind: 'again', waitSeconds: 1, problems: [`The connection broke off: ${reasonOf(cause)}`] } as const;
    });
    if (outcome.kind === 'whole') return;
    if (attempt === attemptsMax) throw new ConfigError(outcome.problems);
    await wait(outcome.waitSeconds * 1000, undefined, { signal }).catch(() => {
      throw new ConfigError([timedOut]);
    });
  }
}

type Attempt =
  | { readonly kind: 'whole' }
  | { readonly kind: 'again'; readonly waitSeconds: number; readonly problems: readonly string[] };

async function postOnce(
  { url, apiKey = '' }: ClientConfig,
  path: string,
  body: object,
  reader: LinesReader,
  signal: AbortSignal,
): Promise<Attempt> {
  const reply = await fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Api-Key ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    redirect: 'error',
    signal,
  });
  reader.begin();
  if (!reply.ok) {
    const problems = errorLines(url, reply.status, await reply.json().catch(() => undefined));
    if (reply.status !== 429 && reply.status !== 503) throw new ConfigError(problems);
    const seconds = Number.parseInt(reply.headers.get('retry-after') ?? '1', 10) || 1;
    return { kind: 'again', waitSeconds: Math.min(seconds, waitSecondsMax), problems };
  }
  let bytes = 0;
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of reply.body ?? []) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new ConfigError([`The reply has more than ${bytesMax} bytes.`]);
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') reader.take(line);
  }
  if (reader.isWhole()) return { kind: 'whole' };
  return { kind: 'again', waitSeconds: 1, problems: ['The reply broke off.'] };
}

async function abort({ url, apiKey = '' }: ClientConfig, path: string, body: object): Promise<void> {
  await fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Api-Key ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    redirect: 'error',
    signal: AbortSignal.timeout(10_000),
  }).catch(() => undefined);
}

function parseAs<T>(schema: z.ZodType<T>, line: string): T {
  try {
    return schema.parse(JSON.parse(line));
  } catch (cause) {
    throw new ConfigError(['The server sent a line that is not known.'], { cause });
  }
}
