/** The programs of the guides, run as they stand in the documents against a real server. */
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect, createServer as createProxy } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTestServer, type TestServer } from '../../test-server.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../../../../..');

let server: TestServer;
let folder: string;
let embedding: string;
let creatorMode: string;
let chat: string;
let mcp: string;
let dataApi: string;
beforeAll(async () => {
  server = await openTestServer();
  folder = await mkdtemp(join(tmpdir(), 'inlay-guides-'));
  // Where libraries are found.
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  embedding = await readFile(join(root, 'docs/guides/embed-a-session.md'), 'utf8');
  chat = await readFile(join(root, 'docs/guides/chat.md'), 'utf8');
  creatorMode = await readFile(join(root, 'docs/guides/creator-mode.md'), 'utf8');
  mcp = await readFile(join(root, 'docs/guides/mcp.md'), 'utf8');
  dataApi = await readFile(join(root, 'docs/guides/data-api.md'), 'utf8');
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await server.close();
});

/** The code blocks in `language` ('' where none is named) under a heading, up to the next heading of its level. */
function programs(text: string, heading: string, language: string): string[] {
  const section = new RegExp(`^(#+) ${heading}\\n(.*?)(?=^\\1 |$(?![^]))`, 'ms').exec(text)?.[2] ?? '';
  const blocks = [...section.matchAll(/^```(\w*)\n(.*?)^```$/gms)];
  return blocks.filter(([, named]) => named === language).map(([, , source = '']) => source);
}

/** The first of them. */
function program(text: string, heading: string, language: string): string {
  const [first] = programs(text, heading, language);
  if (first === undefined) throw new Error(`There is no ${language} under ${heading}.`);
  return first;
}

/** What a program prints. Rejects when it fails, with what it complained of. Commands of Inlay need no npm here. */
async function output(command: string, name: string, source: string, url = server.url): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, source.replaceAll('npm run -s inlay --', `${process.execPath} packages/server/src/cli.ts`));
  const env = { PATH: process.env['PATH'], INLAY_URL: url, INLAY_API_KEY: server.apiKey };
  const { stdout } = await run(command, [file], { env, cwd: root, timeout: 60_000 });
  return stdout;
}

const isThere = (command: string): boolean => spawnSync(command, ['--version']).status === 0;

describe('embed a session', () => {
  test('Node prints what the guide says', async () => {
    const printed = await output(process.execPath, 'embed.mjs', program(embedding, 'Node', 'js'));
    expect(printed).toMatch(/^Revenue by channel, 2025: mobile app leads with 330,696\.66, .* 5 rows$/m);
    expect(printed).toMatch(/^Revenue for channel web, 2025: 318,547\.79\.$/m);
    expect(embedding).toContain('Revenue for channel web, 2025: 318,547.79.');
  });

  test.skipIf(!isThere('python3'))('Python', async () => {
    const printed = await output('python3', 'embed.py', program(embedding, 'Python', 'python'));
    expect(printed).toMatch(/mobile app leads with 330,696\.66/);
    expect(printed).toMatch(/^Revenue for channel web, 2025: 318,547\.79\.$/m);
  });

  test.skipIf(!isThere('curl'))('curl', async () => {
    const printed = await output('sh', 'embed.sh', program(embedding, 'curl', 'sh'));
    expect(printed).toMatch(/^\{"id":"__cutoff__"/);
    expect(printed).toContain('mobile app leads with 330,696.66');
  });

  test.skipIf(!isThere('curl'))('an API key that asks for a user', async () => {
    const source = program(embedding, 'Without a session: the back end asks itself', 'sh');
    expect(await output('sh', 'ask.sh', source)).toContain('mobile app leads with 330,696.66');
  });

  test.skipIf(spawnSync('go', ['version']).status !== 0)(
    'Go',
    async () => {
      const file = join(folder, 'embed.go');
      await writeFile(file, program(embedding, 'Go', 'go'));
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

  test('the page asks, and gets itself a new session where its own has ended', async () => {
    const backEnd = await openBackEnd();
    try {
      const page = program(embedding, 'The page', 'js')
        .replace('https://inlay.example.com', server.url)
        .replace('/analytics/session', `${backEnd.url}/analytics/session`);
      const more = `
        console.log(reply.status, (await reply.text()).includes('mobile app leads with 330,696.66'));
        await fetch('${backEnd.url}/sign-out', { method: 'POST' });
        console.log((await call('/api/v1/deployments/1/cubesql', { query: 'SELECT MEASURE(revenue) FROM sales' })).status);`;
      expect(await output(process.execPath, 'page.mjs', page + more)).toBe('200 true\n200\n');
      expect(backEnd.minted).toHaveLength(2);
    } finally {
      await backEnd.close();
    }
  });

  test.skipIf(!isThere('curl'))('origins are listed, and the check says so', async () => {
    const [list = '', check = ''] = programs(embedding, 'With CORS', 'sh');
    await expect(output('sh', 'check.sh', check)).rejects.toMatchObject({ code: 1, stdout: '' });
    expect(await output('sh', 'list.sh', list)).toContain('["https://app.example.com","http://localhost:5173"]');
    expect((await output('sh', 'check.sh', check)).trimEnd()).toBe(program(embedding, 'With CORS', '').trimEnd());
  });
});

describe('the data API', () => {
  test("Cube's client prints what the guide says", async () => {
    const printed = await output(process.execPath, 'charts.mjs', program(dataApi, 'In a service', 'js'));
    expect(printed).toBe(program(dataApi, 'In a service', 'text'));
  });
});

describe('chat', () => {
  const answers =
    /^Revenue by channel, 2025: mobile app leads with 330,696\.66, .*$\nRevenue for channel web, 2025: 318,547\.79\.$/m;

  /** Runs a program whose first connections to the server are cut after so many bytes of the replies. */
  async function outputThroughCuts(command: string, name: string, source: string): Promise<string> {
    await using proxy = await openCuttingProxy(server.url, [300, 1500, 4000]);
    return await output(command, name, source, proxy.url);
  }

  test('Node asks, and comes back when it is cut off', async () => {
    const source = program(chat, 'Node', 'js');
    const printed = await output(process.execPath, 'chat.mjs', source);
    expect(printed).toMatch(answers);
    expect(printed).not.toContain('… and again');
    const cut = await outputThroughCuts(process.execPath, 'chat.mjs', source);
    expect(cut.match(/… and again/g)).toHaveLength(3);
    expect(cut.replaceAll('… and again\n', '')).toBe(printed);
    expect(program(chat, 'Node', '').split('\n')[1]).toBe(printed.split('\n')[1]);
  });

  test('the SDK', async () => {
    const printed = await output(process.execPath, 'sdk.ts', program(chat, 'With the SDK', 'ts'));
    expect(printed.trimEnd().split('\n').at(-1)).toMatch(
      /^Revenue by channel, 2025: mobile app leads with 330,696\.66, /,
    );
  });

  test.skipIf(!isThere('python3'))('Python too', async () => {
    const cut = await outputThroughCuts('python3', 'chat.py', program(chat, 'Python', 'python'));
    expect(cut.match(/… and again/g)).toHaveLength(3);
    expect(cut.replaceAll('… and again\n', '')).toMatch(answers);
  });

  test.skipIf(!isThere('curl'))('curl asks, asks again, reads, lists and deletes', async () => {
    const lines = (await output('sh', 'chat.sh', program(chat, 'curl', 'sh'))).trimEnd().split('\n');
    expect(lines.map((line) => /^\{"(?:id":"\w+|items)|^\d+$/.exec(line)?.[0])).toEqual([
      '{"id":"__usage__',
      '{"id":"__cutoff__',
      '{"items',
      '204',
    ]);
    expect(lines[2]).toContain('"title":"revenue by channel in 2025"');
  });
});

/** A way to a server that cuts its first connections off, each after so many bytes of the replies. */
async function openCuttingProxy(target: string, cuts: readonly number[]): Promise<AsyncDisposable & { url: string }> {
  const { hostname, port } = new URL(target);
  const left = [...cuts];
  const proxy = createProxy((client) => {
    const server = connect(Number(port), hostname);
    let bytes = left.shift() ?? Number.POSITIVE_INFINITY;
    const end = (): void => {
      client.destroy();
      server.destroy();
    };
    client.on('error', end).on('close', end).pipe(server);
    server.on('error', end).on('close', end);
    server.on('data', (data) => {
      client.write(data.subarray(0, Math.min(bytes, data.length)));
      bytes -= data.length;
      if (bytes <= 0) client.end();
    });
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const address = proxy.address();
  if (address === null || typeof address === 'string') throw new Error('not listening');
  return {
    url: `http://127.0.0.1:${address.port}`,
    [Symbol.asyncDispose]: () => new Promise((resolve) => proxy.close(() => resolve())),
  };
}

describe('creator mode', () => {
  test('Node prints what the guide says', async () => {
    const printed = await output(process.execPath, 'creator.mjs', program(creatorMode, 'Node', 'js'));
    expect(printed).toBe(program(creatorMode, 'Node', ''));
  });

  test.skipIf(!isThere('curl'))(
    'one call, and the commands to look and tidy up',
    async () => {
      const turnOn = program(creatorMode, 'Turn it on', 'sh');
      expect(await output('sh', 'on.sh', turnOn)).toMatch(/^useCreatorMode +true$/m);
      const printed = await output('sh', 'call.sh', program(creatorMode, 'One call', 'sh'));
      expect(printed).toBe(program(creatorMode, 'One call', 'json'));

      const reply = await fetch(`${server.url}/api/v1/embed-tenants/acme-shoes/groups?name=buyers`, {
        headers: { authorization: `Api-Key ${server.apiKey}` },
      });
      const id = /"id":(\d+)/.exec(await reply.text())?.[1] ?? '';
      const tidyUp = `set -e\n${program(creatorMode, 'Look and tidy up', 'sh').replace('acme-shoes 12', `acme-shoes ${id}`)}`;
      const told = await output('sh', 'tidy-up.sh', tidyUp);
      expect(told).toMatch(/^groupCount +2$/m);
      expect(told).toMatch(/ acme-ada /);
      expect(told).toMatch(/^revoked +1$/m);
    },
    60_000,
  );
});

interface BackEnd {
  readonly url: string;
  /** The ids of the sessions that it minted. */
  readonly minted: readonly string[];
  close(): Promise<void>;
}

/** What the guide leaves to the reader: mints for the page, and revokes when the user signs out. */
async function openBackEnd(): Promise<BackEnd> {
  const minted: string[] = [];
  const post = (path: string, body: unknown): Promise<Response> =>
    fetch(server.url + path, {
      method: 'POST',
      headers: { authorization: `Api-Key ${server.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const backEnd = createServer(async (request, reply) => {
    if (request.url === '/sign-out') {
      await post('/api/v1/embed/session/revoke', { sessionId: minted.at(-1) });
      reply.end();
      return;
    }
    const session = await post('/api/v1/embed/generate-session', {
      deploymentId: 1,
      externalId: 'user-17',
      groups: ['merchant'],
      userAttributes: [{ name: 'merchant_id', value: 7 }],
    });
    const text = await session.text();
    minted.push(/es-[\w-]+/.exec(text)?.[0] ?? '');
    reply.end(text);
  }).listen(0, '127.0.0.1');
  await once(backEnd, 'listening');
  const address = backEnd.address();
  if (address === null || typeof address === 'string') throw new Error('no TCP address');
  return {
    url: `http://127.0.0.1:${address.port}`,
    minted,
    close: async () => {
      backEnd.close();
      backEnd.closeAllConnections();
      await once(backEnd, 'close').catch(() => undefined);
    },
  };
}

describe('MCP', () => {
  test('Node prints what the guide says', async () => {
    const printed = await output(process.execPath, 'mcp.mjs', program(mcp, 'Node', 'js'));
    expect(printed).toBe(program(mcp, 'Node', 'text'));
  });

  test.skipIf(!isThere('curl'))('curl', async () => {
    expect(await output('sh', 'mcp.sh', program(mcp, 'curl', 'sh'))).toContain(
      'Revenue for channel web, 2025: 318,547.79.',
    );
  });
});
