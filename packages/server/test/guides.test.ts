/** The programs of the guides, run as they stand in the documents against a real server. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTestServer, type TestServer } from './test-server.ts';

const run = promisify(execFile);
const guide = join(import.meta.dirname, '../../../docs/guides/embed-a-session.md');

let server: TestServer;
let folder: string;
let text: string;
beforeAll(async () => {
  server = await openTestServer();
  folder = await mkdtemp(join(tmpdir(), 'inlay-guides-'));
  text = await readFile(guide, 'utf8');
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await server.close();
});

/** The first code block in `language` under a heading. */
function program(heading: string, language: string): string {
  const section = text.slice(text.indexOf(`\n## ${heading}\n`));
  const block = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'ms').exec(section)?.[1];
  if (block === undefined) throw new Error(`There is no ${language} under ${heading}.`);
  return block;
}

/** What a program prints. Rejects when it fails, with what it complained of. */
async function output(command: string, name: string, source: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, source);
  const env = { PATH: process.env['PATH'], INLAY_URL: server.url, INLAY_API_KEY: server.apiKey };
  const { stdout } = await run(command, [file], { env, timeout: 25_000 });
  return stdout;
}

const isThere = (command: string): boolean => spawnSync(command, ['--version']).status === 0;

describe('embed a session', () => {
  test('Node prints what the guide says', async () => {
    const printed = await output(process.execPath, 'embed.mjs', program('Node', 'js'));
    expect(printed).toMatch(/^Revenue by channel, 2025: mobile app leads with 330,696\.66, .* 5 rows$/m);
    expect(printed).toMatch(/^Revenue for channel web, 2025: 318,547\.79\.$/m);
    expect(text).toContain('Revenue for channel web, 2025: 318,547.79.');
  });

  test.skipIf(!isThere('python3'))('Python', async () => {
    const printed = await output('python3', 'embed.py', program('Python', 'python'));
    expect(printed).toMatch(/mobile app leads with 330,696\.66/);
    expect(printed).toMatch(/^Revenue for channel web, 2025: 318,547\.79\.$/m);
  });

  test.skipIf(!isThere('curl'))('curl', async () => {
    const printed = await output('sh', 'embed.sh', program('curl', 'sh'));
    expect(printed).toMatch(/^\{"id":"__cutoff__"/);
    expect(printed).toContain('mobile app leads with 330,696.66');
  });

  test.skipIf(!isThere('curl'))('an API key that asks for a user', async () => {
    const printed = await output('sh', 'ask.sh', program('Without a session: the back end asks itself', 'sh'));
    expect(printed).toContain('mobile app leads with 330,696.66');
  });

  test.skipIf(spawnSync('go', ['version']).status !== 0)(
    'Go',
    async () => {
      const file = join(folder, 'embed.go');
      await writeFile(file, program('Go', 'go'));
      const env = {
        PATH: process.env['PATH'],
        HOME: folder,
        GOFLAGS: '-mod=mod',
        INLAY_URL: server.url,
        INLAY_API_KEY: server.apiKey,
      };
      const { stdout } = await run('go', ['run', file], { env, cwd: folder, timeout: 120_000 });
      expect(stdout).toMatch(/^es-[\w-]{43}$/m);
    },
    150_000,
  );
});
