/**
 * What a client gets for each way in which a language model may answer, over real HTTP on both sides and in both wire formats.
 * The frames are in `golden/`; `INLAY_GOLDEN=write` in the environment writes them anew.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Frame, frameSchema } from '@inlay/contract/chat.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Config } from '../src/config.ts';
import {
  calls,
  type LanguageModelServer,
  openLanguageModelServer,
  says,
  scriptedEntry,
  scriptedKey,
  thinks,
  type Wire,
  type WireStep,
  type WireTurn,
  wireCall,
  writeLanguageModels,
} from './language-model-server.ts';
import { openTestServer, type TestServer } from './test-server.ts';

const isWriting = process.env['INLAY_GOLDEN'] === 'write';
const folder = join(import.meta.dirname, 'golden');

const sql = (sqlQuery: string) => ({
  sqlQuery,
  queryTitle: 'Revenue by channel',
  description: 'Revenue per sales channel, all time',
  userRequest: 'revenue by channel',
});
const right = sql('SELECT channel, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 1');
const wrong = sql('SELECT chanel, MEASURE(revenue) FROM sales GROUP BY 1');
const answer = 'The web leads, then the store.';
const slowly = (text: string): WireStep[] =>
  (text.match(/\S+\s*/g) ?? []).flatMap((word) => [
    { type: 'text', pieces: [word] },
    { type: 'wait', for: pause(20) },
  ]);

/** The turns of each script. A function makes them when they are asked for; what comes after the last one is the last one. */
const scripts: Readonly<Record<string, () => readonly WireTurn[]>> = {
  text: () => [{ steps: [says(answer)] }],
  reasoning: () => [
    { steps: [thinks('I have to know what there is.'), calls('platformMeta', { searchQuery: 'zebra' }, 'c1')] },
    { steps: [thinks('Nothing.'), says('There is nothing about zebras.')] },
  ],
  'parallel-tool-calls': () => [
    {
      steps: [
        says('I look at both.'),
        {
          type: 'calls',
          calls: [
            wireCall('platformSqlApi', right, 'c1'),
            wireCall('platformMeta', { searchQuery: 'zebra' }, 'c2'),
            wireCall('platformSqlApi', wrong, 'c3'),
          ],
        },
      ],
    },
    { steps: [says(answer)] },
  ],
  'slow-tokens': () => [{ steps: slowly(answer) }],
  'broken-tool-input': () => [
    { steps: [calls('platformSqlApi', '{"sqlQuery":"SELECT', 'c1')] },
    { steps: [calls('platformSqlApi', right, 'c2')] },
    { steps: [says(answer)] },
  ],
  'unknown-tool': () => [
    { steps: [calls('run_shell', { command: 'ls' }, 'c1')] },
    { steps: [says('I cannot do that.')] },
  ],
  stall: () => [{ steps: [{ type: 'stall' }] }],
  'stall-in-the-middle': () => [{ steps: [says('The web '), { type: 'stall' }] }],
  'cut-connection': () => [{ steps: [says('The web '), { type: 'cut' }] }],
  'rate-limited-then-success': () => [
    { status: 429, headers: { 'retry-after': '0' }, message: 'slow down' },
    { steps: [says(answer)] },
  ],
  'server-error': () => [{ status: 500, message: 'the secret name of a machine' }],
  'refused-then-fallback': () => [{ status: 401, message: 'no such key' }, { steps: [says(answer)] }],
  'nothing-said': () => [{ steps: [] }],
  'same-failure-twice': () => [{ steps: [calls('platformSqlApi', wrong, 'c1')] }],
  'endless-tool-loop': () =>
    ['zebra', 'zebras', 'okapi', 'okapis', 'gnu'].map((searchQuery) => ({
      steps: [calls('platformMeta', { searchQuery }, `call-${searchQuery}`)],
    })),
};
const names = Object.keys(scripts);
const wires = ['openai', 'anthropic'] as const;

/** Those that wait for a time-out have a server of their own, which is hasty. */
const hasty: readonly string[] = ['stall', 'stall-in-the-middle'];

let models: LanguageModelServer;
let patientServer: TestServer;
let hastyServer: TestServer;
const closing = new AsyncDisposableStack();
/** The turns of the run that goes on, and how many of them were asked for. */
let current: { readonly turns: readonly WireTurn[]; asked: number } = { turns: [], asked: 0 };

beforeAll(async () => {
  models = await openLanguageModelServer(() => {
    const turn = current.turns[Math.min(current.asked, current.turns.length - 1)];
    current.asked += 1;
    return turn ?? { status: 500 };
  });
  closing.defer(() => models.close());
  patientServer = await openServer({}, {});
  hastyServer = await openServer({ first_token_seconds: 1 }, { languageModelSilenceMs: 2000 });
});
afterAll(() => closing.disposeAsync());

describe.each(wires)('%s', (wire) => {
  test.each(names)('%s', async (name) => {
    current = { turns: scripts[name]?.() ?? [], asked: 0 };
    const text = await ask(hasty.includes(name) ? hastyServer : patientServer, wire, `a question for ${name}`);
    expect(text).not.toContain(scriptedKey);
    expect(text).not.toContain('secret name');
    const frames = text
      .trimEnd()
      .split('\n')
      .map((line) => frameSchema.parse(JSON.parse(line)));
    const golden = normalised(frames)
      .map((frame) => `${JSON.stringify(frame)}\n`)
      .join('');
    const file = join(folder, `${name}.${wire}.ndjson`);
    if (isWriting) {
      await mkdir(folder, { recursive: true });
      await writeFile(file, golden);
    }
    expect(golden).toBe(await readFile(file, 'utf8'));
  });
});

test('the two wire formats make no difference to a client', async () => {
  for (const name of names) {
    const [one = '', other = ''] = await Promise.all(
      wires.map((wire) => readFile(join(folder, `${name}.${wire}.ndjson`), 'utf8')),
    );
    expect(one.replaceAll('openai-', '')).toBe(other.replaceAll('anthropic-', ''));
  }
});

/** A server whose agents are answered by scripted models: those of `demo` in one wire format, those of `other` in the other. */
async function openServer(more: object, config: Partial<Config>): Promise<TestServer> {
  const entry = (wire: Wire, name: string, fallback: object = {}) =>
    scriptedEntry(models, wire, { name, retries: 1, ...more, ...fallback });
  const languageModels = closing.use(
    await writeLanguageModels([
      entry('openai', 'openai-one', { fallback: 'openai-two' }),
      entry('openai', 'openai-two'),
      entry('anthropic', 'anthropic-one', { fallback: 'anthropic-two' }),
      entry('anthropic', 'anthropic-two'),
    ]),
  );
  const server = await openTestServer({ config: { languageModels, agentTurnsMax: 4, ...config } });
  closing.defer(() => server.close());
  for (const [wire, { deploymentId }] of [
    ['openai', server.demo],
    ['anthropic', server.other],
  ] as const) {
    const agents = await mkdtemp(join(tmpdir(), 'inlay-agents-'));
    closing.defer(() => rm(agents, { recursive: true, force: true }));
    await writeFile(join(agents, 'config.yml'), `llm: ${wire}-one\ndevelopment: true\n`);
    await server.context.db
      .updateTable('deployments')
      .set({ agents_folder: agents })
      .where('id', '=', deploymentId)
      .execute();
  }
  return server;
}

/** The whole stream of a new thread. */
async function ask(server: TestServer, wire: Wire, input: string): Promise<string> {
  const [account, accountName] = wire === 'openai' ? [server.demo, 'demo'] : [server.other, 'other'];
  const reply = await fetch(
    `${server.url}/api/v1/public/${accountName}/agents/${account.agentId}/chat/stream-chat-state`,
    {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Api-Key ${account.apiKey}` },
      body: JSON.stringify({ input, sessionSettings: { externalId: 'ann', groups: ['platform_team'] } }),
    },
  );
  expect(reply.status).toBe(200);
  return reply.text();
}

/**
 * Frames with labels for ids and times. Increments of a message that follow each other are one: how they fall together is a
 * matter of time. So is the order in which calls beside each other end.
 */
function normalised(frames: readonly Frame[]): unknown[] {
  const labels = new Map<string, string>();
  const merged: Frame[] = [];
  for (const frame of frames) {
    const last = merged.at(-1);
    if (last !== undefined && isIncrement(last) && isIncrement(frame) && last.id === frame.id) {
      merged[merged.length - 1] = {
        ...last,
        content: last.content + frame.content,
        ...(last.thinking === undefined ? {} : { thinking: last.thinking + (frame.thinking ?? '') }),
      };
    } else merged.push(frame);
  }
  const isEnded = ({ toolCall, isInProcess }: Frame): boolean => toolCall !== undefined && isInProcess === false;
  for (let index = 1; index < merged.length; index++) {
    for (let at = index; at > 0; at--) {
      const [one, other] = [merged[at - 1], merged[at]];
      if (one === undefined || other === undefined || !isEnded(one) || !isEnded(other) || one.sort <= other.sort) break;
      merged[at - 1] = other;
      merged[at] = one;
    }
  }
  const text = merged
    .map((frame) => JSON.stringify(frame))
    .join('\n')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id) => {
      const label = labels.get(id) ?? `id-${labels.size + 1}`;
      labels.set(id, label);
      return label;
    })
    .replaceAll(/\d{13,20}-message/g, '0-message')
    .replaceAll(/req_[\w-]+/g, 'req');
  return text.split('\n').map((line): unknown => JSON.parse(line));
}

function isIncrement({ isDelta }: Frame): boolean {
  return isDelta === true;
}
