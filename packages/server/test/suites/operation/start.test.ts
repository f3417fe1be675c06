/** The real process: `node src/main.ts` and the command line, as an operator meets them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { openTestDatabase } from '../../databases.ts';

const source = (file: string): string => fileURLToPath(new URL(`../../../src/${file}`, import.meta.url));

interface Running {
  readonly child: ChildProcess;
  /** All of standard output and error so far. */
  output(): string;
  readonly exited: Promise<number | null>;
}

let folder: string;
/** With a quote and a blank, which shells and SQL have to survive. */
let dataFolder: string;
let processes: Running[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inlay-start-'));
  dataFolder = join(folder, "it's data");
  processes = [];
});
afterEach(async () => {
  for (const { child } of processes) child.kill('SIGKILL');
  await Promise.all(processes.map(({ exited }) => exited));
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
});

/** Only these variables, so that the machine's own settings do not matter. */
function start(file: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}): Running {
  const child = spawn(process.execPath, [source(file), ...args], {
    env: { PATH: process.env['PATH'] ?? '', INLAY_DATA_DIR: dataFolder, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
  }
  const exited = once(child, 'close').then(([code]) => (typeof code === 'number' ? code : null));
  const running = { child, output: () => text, exited };
  processes.push(running);
  return running;
}

/** Waits until the server listens. @returns its address. */
async function listening({ child, output }: Running): Promise<string> {
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline) {
    const address = /^Inlay listens on (http:\S+)$/m.exec(output())?.[1];
    // The welcome ends with an empty line.
    if (address !== undefined && output().endsWith('\n\n')) return address;
    if (child.exitCode !== null) break;
    await pause(20);
  }
  throw new Error(`the server did not start:\n${output()}`);
}

async function finished(running: Running): Promise<{ code: number | null; output: string }> {
  return { code: await running.exited, output: running.output() };
}

/** Runs a pasted line as a person would. */
async function paste(line: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const child = spawn('sh', ['-c', line], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  await once(child, 'close');
  return text;
}

const curlsIn = (output: string): string[] => output.split('\n').filter((line) => line.startsWith('curl '));

/** A data folder as after a first start, which saves its seconds. */
async function makeLaterStart(): Promise<void> {
  await cp(inject('pgliteTemplateFolder'), join(dataFolder, 'store'), { recursive: true });
  await cp(inject('demoDataFolder'), join(dataFolder, 'storefront'), { recursive: true });
}

/** A request whose body is only half sent once this resolves; the server has it in hand. */
async function sendHalf(address: string): Promise<{ sendRest(): void; reply: Promise<string> }> {
  const body = JSON.stringify({ sessionId: 'unknown' });
  const socket = connect(Number(new URL(address).port), '127.0.0.1').setEncoding('utf8');
  let text = '';
  socket.on('data', (part: string) => {
    text += part;
  });
  const reply = once(socket, 'close').then(() => text);
  const headers = [`Content-Length: ${body.length}`, 'Content-Type: application/json', 'Expect: 100-continue'];
  socket.write(`POST /api/v1/embed/session/token HTTP/1.1\r\nHost: x\r\n${headers.join('\r\n')}\r\n\r\n`);
  await once(socket, 'data');
  socket.write(body.slice(0, 5));
  return { sendRest: () => void socket.write(body.slice(5)), reply };
}

async function stopping({ output }: Running): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!output().includes('"msg":"stopping"') && Date.now() < deadline) await pause(10);
  expect(output()).toContain('"msg":"stopping"');
}

describe('npm start', { timeout: 180_000 }, () => {
  test('prints where things are; the printed commands work; a second start keeps everything', async () => {
    const first = start('main.ts');
    const address = await listening(first);
    const keyFile = join(dataFolder, 'api-key');
    const key = (await readFile(keyFile, 'utf8')).trim();
    expect(first.output()).toContain(`API key:  in the file ${keyFile}\n`);
    expect((await stat(keyFile)).mode & 0o777).toBe(0o600);
    expect((await stat(dataFolder)).mode & 0o777).toBe(0o700);

    const [mint = '', ask = '', abort = '', ...more] = curlsIn(first.output());
    expect(more).toHaveLength(0);
    const { sessionId } = JSON.parse(await paste(mint));
    expect(sessionId).toMatch(/./);
    const frames = (await paste(ask))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const chatId = frames[0].state.chatId;
    const final = frames.find(({ graphPath }) => graphPath?.[0] === 'final');
    expect(final?.content).toMatch(/\d/);
    expect(await paste(abort.replace('CHAT_ID', chatId))).toContain('204 No Content');

    const second = await finished(start('main.ts'));
    expect(second).toStrictEqual({
      code: 1,
      output: `Another Inlay process uses the data folder ${dataFolder}. Stop it first, or set INLAY_DATA_DIR to another folder.\n`,
    });
    expect(await finished(start('cli.ts', ['keys', 'create', '--direct']))).toStrictEqual(second);

    first.child.kill('SIGTERM');
    expect(await first.exited).toBe(0);
    for (const secret of [key, sessionId]) expect(first.output()).not.toContain(secret);

    const again = start('main.ts');
    const newAddress = await listening(again);
    expect((await readFile(keyFile, 'utf8')).trim()).toBe(key);
    const [, askAgain = ''] = curlsIn(again.output());
    const thread = await paste(askAgain.replace('"input":"revenue by month"', `"chatId":"${chatId}"`));
    expect(thread).toContain(JSON.stringify(final.content).slice(1, -1));
    expect(newAddress).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    again.child.kill('SIGINT');
    expect(await again.exited).toBe(0);
  });

  test('kill -9 loses nothing that was acknowledged, and the next start works', async () => {
    await makeLaterStart();
    const first = start('main.ts');
    await listening(first);
    const [mint = ''] = curlsIn(first.output());
    const { sessionId } = JSON.parse(await paste(mint));
    first.child.kill('SIGKILL');
    await first.exited;
    const again = start('main.ts');
    const address = await listening(again);
    const reply = await fetch(`${address}/api/v1/embed/session/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ sessionId }),
    });
    expect(reply.status).toBe(200);
  });

  test('INLAY_API_KEY gives the key, which is neither printed nor kept; changed, the earlier one stops working', async () => {
    await makeLaterStart();
    const ask = async (address: string, key: string): Promise<number> => {
      const reply = await fetch(`${address}/api/v1/embed/generate-session`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Api-Key ${key}` },
        body: JSON.stringify({ deploymentId: 1, externalId: 'merchant-7' }),
      });
      return reply.status;
    };
    const [one, two] = ['one-key-of-the-operators-choosing-1', 'two-key-of-the-operators-choosing-2'];
    const first = start('main.ts', [], { INLAY_API_KEY: one });
    const firstAddress = await listening(first);
    expect(await ask(firstAddress, one)).toBe(200);
    expect(JSON.parse(await paste(curlsIn(first.output())[0] ?? '', { INLAY_API_KEY: one })).sessionId).toMatch(/./);
    first.child.kill('SIGTERM');
    expect(await first.exited).toBe(0);
    expect(first.output()).not.toContain(one);
    expect(await readdir(dataFolder)).not.toContain('api-key');

    const second = start('main.ts', [], { INLAY_API_KEY: two });
    const secondAddress = await listening(second);
    expect([await ask(secondAddress, one), await ask(secondAddress, two)]).toStrictEqual([401, 200]);
  });

  test('a signal lets a request in flight end, takes no new one, and ends the process', async () => {
    await makeLaterStart();
    const server = start('main.ts');
    const address = await listening(server);
    const { sendRest, reply } = await sendHalf(address);
    server.child.kill('SIGTERM');
    await stopping(server);
    await expect(fetch(`${address}/livez`)).rejects.toThrow('fetch failed');
    sendRest();
    // An unknown session: the request was worked on as any other.
    expect(await reply).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 401 Unauthorized\r\n/);
    expect(await server.exited).toBe(0);
  });

  test('a second signal ends the process at once', async () => {
    await makeLaterStart();
    const server = start('main.ts');
    await sendHalf(await listening(server));
    server.child.kill('SIGTERM');
    await stopping(server);
    server.child.kill('SIGINT');
    expect(await server.exited).toBe(130);
  });

  test('a port that is taken is one line, and nothing breaks', async () => {
    await makeLaterStart();
    await using stack = new AsyncDisposableStack();
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    stack.defer(() => void server.close());
    const address = server.address();
    const port = String(address !== null && typeof address !== 'string' ? address.port : 0);
    const { code, output } = await finished(start('main.ts', [], { PORT: port, INLAY_DEMO: 'off' }));
    expect(output).toBe(`Port ${port} on 127.0.0.1 is taken. Stop what uses it, or set PORT to another.\n`);
    expect(code).toBe(1);
    await listening(start('main.ts', [], { INLAY_DEMO: 'off' }));
  });

  test('wrong settings are one line each, and nothing is made', async () => {
    const { code, output } = await finished(start('main.ts', [], { PORT: 'x', INLAY_DEMO: 'perhaps' }));
    expect(output).toBe('PORT must be a whole number from 0 to 65535.\nINLAY_DEMO must be on or off.\n');
    expect(code).toBe(1);
    expect(await readdir(folder)).toStrictEqual([]);
  });

  test('on PostgreSQL without the demo the first key comes from the command line, and nothing is kept in a folder', async () => {
    await using stack = new AsyncDisposableStack();
    const { db, store, close } = await openTestDatabase('postgres');
    stack.defer(close);
    const env = {
      DATABASE_URL: store.kind === 'postgres' ? store.url : '',
      INLAY_SECRET: 'Zk3v9Qw1-Lx7b2Nn5_Rt8y4Uu6Pp0aa!c',
      INLAY_API_KEY: 'a-key-that-would-be-for-the-demo-only',
    };
    const server = start('main.ts', [], env);
    const address = await listening(server);
    expect(server.output()).toMatch(
      /There is no API key yet\..*:\n {2}npm run inlay -- apply -f FILE\n {2}npm run inlay -- keys create --direct --account NAME\n/,
    );
    expect(curlsIn(server.output())).toHaveLength(0);

    expect(await finished(start('cli.ts', ['keys', 'create', '--direct'], env))).toStrictEqual({
      code: 1,
      output: 'There is no account yet. Declare one in a file and apply it: npm run inlay -- apply -f FILE\n',
    });
    const file = fileURLToPath(new URL('../../../../../examples/storefront/inlay.yml', import.meta.url));
    const applied = await finished(start('cli.ts', ['apply', '-f', file], env));
    expect(applied.code).toBe(0);
    expect(applied.output).toMatch(
      /^Applied .*inlay\.yml: demo\nAccount demo: 11 changed, 0 unchanged\n {2}\+ account demo\n/,
    );
    const made = await finished(
      start('cli.ts', ['keys', 'create', '--direct', '--account', 'demo', '--role', 'member'], env),
    );
    expect(made).toMatchObject({ code: 0, output: expect.stringMatching(/sk-[\w-]{43}\n$/) });
    expect(await db.selectFrom('api_keys').select('role').execute()).toStrictEqual([{ role: 'member' }]);
    const key = made.output.trimEnd().split('\n').at(-1);
    const reply = await fetch(`${address}/api/v1/embed/generate-session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Api-Key ${key}` },
      body: JSON.stringify({ deploymentId: 1, externalId: 'merchant-7' }),
    });
    expect(reply.status).toBe(200);
    expect(await readdir(folder)).toStrictEqual([]);
    server.child.kill('SIGTERM');
    expect(await server.exited).toBe(0);
  });
});

describe('npm run inlay', { timeout: 60_000 }, () => {
  test.each([[[]], [['--help']], [['keys', 'create', '--help']]])('%o prints the help', async (args) => {
    const { code, output } = await finished(start('cli.ts', args));
    expect(output).toMatch(/^Usage: npm run inlay -- (<command>|keys create) \[flags\]\n/);
    expect(code).toBe(0);
    expect(await readdir(folder)).toStrictEqual([]);
  });

  test.each([
    [['make', 'coffee'], 'There is no command make coffee (npm run inlay -- --help)'],
    [['keys', 'create', '--direct', '--role', 'owner'], '--role must be admin or member.'],
    [['keys', 'create', '--direct', '--rolle', 'admin'], /^Unknown option '--rolle'.* \(npm run inlay -- --help\)$/],
    [['apply'], 'apply needs a file: npm run inlay -- apply -f FILE'],
    [['apply', '-f', '/no/such.yml'], /^\/no\/such\.yml cannot be read: ENOENT/],
  ])('%o is one line and exit 1', async (args, expected) => {
    const { code, output } = await finished(start('cli.ts', args));
    expect(output.trimEnd().split('\n')).toHaveLength(1);
    expect(output.trimEnd()).toMatch(expected);
    expect(code).toBe(1);
    expect(await readdir(folder)).toStrictEqual([]);
  });
});
