/** What getting-started.md says of one's own data, done as it stands there: files, command line, server, calls. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../../../../..');
const source = (file: string): string => join(root, 'packages/server/src', file);

let folder: string;
let section: string;
let applied: string;
let apiKey: string;
let url: string;
let stop: () => Promise<void>;
beforeAll(async () => {
  const text = await readFile(join(root, 'docs/getting-started.md'), 'utf8');
  section = text.slice(text.indexOf('## 5. Your own data'), text.indexOf('## Where to go on'));
  folder = await mkdtemp(join(tmpdir(), 'inlay-own-data-'));
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const name of ['my/data', 'my/model']) await mkdir(join(folder, name), { recursive: true });
  await writeFile(join(folder, 'make-orders.mjs'), block('js', '**Data.**'));
  await writeFile(join(folder, 'my/model/orders.yml'), block('yaml', '**Model.**'));
  await writeFile(join(folder, 'my/inlay.yml'), block('yaml', '**Installation.**'));

  const env = {
    PATH: process.env['PATH'] ?? '',
    INLAY_DATA_DIR: join(folder, 'my/state'),
    INLAY_DEMO: 'off',
    PORT: '0',
  };
  const settings = { cwd: folder, env, timeout: 60_000 };
  await run(process.execPath, ['make-orders.mjs'], settings);
  applied = (await run(process.execPath, [source('cli.ts'), 'apply', '-f', 'my/inlay.yml'], settings)).stdout;
  const create = [source('cli.ts'), 'keys', 'create', '--direct', '--account', 'acme'];
  apiKey = (await run(process.execPath, create, settings)).stdout.trim();
  ({ url, stop } = await start(env));
}, 120_000);
afterAll(async () => {
  await stop?.();
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
});

/** The first block in a language after some words of the section. */
function block(language: string, after: string): string {
  const found = new RegExp(`\`\`\`${language}\n(.*?)^\`\`\``, 'ms').exec(section.slice(section.indexOf(after)));
  if (!section.includes(after) || found?.[1] === undefined) throw new Error(`There is no ${language} after ${after}`);
  return found[1];
}

/** The server as a process of its own. */
async function start(env: Readonly<Record<string, string>>): Promise<{ url: string; stop: () => Promise<void> }> {
  const child = spawn(process.execPath, [source('main.ts')], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'close');
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
  }
  const end = async (): Promise<void> => {
    child.kill();
    await exited;
  };
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline && child.exitCode === null) {
    const listening = /^Inlay listens on (http:\S+)$/m.exec(text)?.[1];
    if (listening !== undefined) return { url: listening, stop: end };
    await pause(20);
  }
  await end();
  throw new Error(`The server did not start:\n${text}`);
}

test('the installation file is applied, and the command says what it made', () => {
  const told = /^Account acme: .*?^ {2}\+ agent 1$/ms.exec(section)?.[0].split('\n') ?? [];
  expect(told).toHaveLength(6);
  for (const line of told) expect(applied.split('\n')).toContain(line);
});

/** Sends the body that the document shows with these words in it. */
async function send(path: string, words: string): Promise<string> {
  const body = [...section.matchAll(/-d '(.*)'$/gm)]
    .map(([, shown = '']) => shown)
    .find((shown) => shown.includes(words));
  const headers = { authorization: `Api-Key ${apiKey}`, 'content-type': 'application/json' };
  const reply = await fetch(url + path, { method: 'POST', headers, body: body ?? '' });
  return reply.text();
}

test('the rows of one shop, and no others', async () => {
  expect(await send('/api/v1/deployments/1/cubesql', '"query"')).toBe(block('json', 'In another terminal'));
});

test('the agent finds values where there are cubes only', async () => {
  const told = /says `(.*)`:/.exec(section)?.[1];
  const lines = (await send('/api/v1/public/acme/agents/1/chat/stream-chat-state', '"input"')).trimEnd().split('\n');
  expect(told).toBe('Revenue for channel web, all time: 20.00.');
  expect(JSON.parse(lines.at(-2) ?? '')).toMatchObject({ content: told, graphPath: ['final'] });
});
