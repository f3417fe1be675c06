import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ConfigError } from '../src/config.ts';
import { lockDataFolder, makeDataFolder, readOrCreateSecretFile } from '../src/store/data-folder.ts';

let folder: string;
let children: ChildProcess[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inlay-data-'));
  children = [];
});
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

const moduleUrl = new URL('../src/store/data-folder.ts', import.meta.url).href;

/** A process that waits for a line, tries to take the lock, prints `held` or the error, and holds until it is killed. */
async function startContender(): Promise<{ child: ChildProcess; go(): void; outcome: Promise<string> }> {
  const script = `
    import { lockDataFolder } from ${JSON.stringify(moduleUrl)};
    console.log('ready');
    await new Promise((resolve) => process.stdin.once('data', resolve));
    try {
      globalThis.lock = await lockDataFolder(${JSON.stringify(folder)});
      console.log('held');
    } catch (error) {
      console.log(error.problems?.join() ?? String(error));
    }
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe('ready');
  return { child, go: () => child.stdin.write('go\n'), outcome: lines.next().then(({ value }) => String(value)) };
}

async function killHard(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

const inUse = () =>
  `Another Inlay process uses the data folder ${folder}. Stop it first, or set INLAY_DATA_DIR to another folder.`;

describe('the lock', () => {
  test('keeps a second process out, which touches nothing', async () => {
    await using stack = new AsyncDisposableStack();
    stack.use(await lockDataFolder(folder));
    const before = await stat(folder);
    const second = await startContender();
    second.go();
    expect(await second.outcome).toBe(inUse());
    expect(await readdir(folder)).toStrictEqual(['lock']);
    expect((await stat(folder)).mtimeMs).toBe(before.mtimeMs);
  });

  test('is free again once given back', async () => {
    (await lockDataFolder(folder))[Symbol.dispose]();
    (await lockDataFolder(folder))[Symbol.dispose]();
  });

  test('keeps a second holder in the same process out, who does not break the first', async () => {
    using _held = await lockDataFolder(folder);
    await expect(lockDataFolder(folder)).rejects.toThrow(new ConfigError([inUse()]));
    const other = await startContender();
    other.go();
    expect(await other.outcome).toBe(inUse());
  });

  test('is taken over after kill -9', async () => {
    const first = await startContender();
    first.go();
    expect(await first.outcome).toBe('held');
    await expect(lockDataFolder(folder)).rejects.toThrow(inUse());
    await killHard(first.child);
    (await lockDataFolder(folder))[Symbol.dispose]();
  });

  test('goes to exactly one of several that race for it after kill -9', async () => {
    const first = await startContender();
    first.go();
    expect(await first.outcome).toBe('held');
    const racers = await Promise.all(Array.from({ length: 5 }, startContender));
    await killHard(first.child);
    for (const racer of racers) racer.go();
    const outcomes = await Promise.all(racers.map(({ outcome }) => outcome));
    expect(outcomes.toSorted()).toStrictEqual([...Array.from({ length: 4 }, inUse), 'held']);
  });

  test('fails closed, in one line, where it cannot be taken', async () => {
    await mkdir(join(folder, 'lock'));
    await expect(lockDataFolder(folder)).rejects.toThrow(`The data folder ${folder} cannot be locked: `);
  });
});

test('the folder is made for its owner only', async () => {
  const path = join(folder, 'a', 'b');
  await makeDataFolder(path);
  await makeDataFolder(path);
  expect((await stat(path)).mode & 0o777).toBe(0o700);
});

test('a folder that cannot be made is one line', async () => {
  await writeFile(join(folder, 'file'), '');
  await expect(makeDataFolder(join(folder, 'file', 'x'))).rejects.toThrow(/^The data folder .* cannot be made: /);
});

describe('a secret file', () => {
  const secret = 'x'.repeat(40);

  test('is made once, for its owner only, and stays', async () => {
    const path = join(folder, 'api-key');
    expect(await readOrCreateSecretFile(path, () => secret)).toBe(secret);
    expect(await readOrCreateSecretFile(path, () => 'y'.repeat(40))).toBe(secret);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readFile(path, 'utf8')).toBe(`${secret}\n`);
    expect(await readdir(folder)).toStrictEqual(['api-key']);
  });

  test('made by many at once is the same for all', async () => {
    const path = join(folder, 'api-key');
    const made = await Promise.all(
      Array.from({ length: 20 }, (_, number) => readOrCreateSecretFile(path, () => `${number}`.padStart(40, '-'))),
    );
    expect(new Set(made).size).toBe(1);
    expect(await readdir(folder)).toStrictEqual(['api-key']);
  });

  test('without a secret in it is refused and kept', async () => {
    const path = join(folder, 'api-key');
    await writeFile(path, 'short\n');
    await expect(readOrCreateSecretFile(path, () => secret)).rejects.toThrow(
      `${path} holds no secret. Delete it to have a new one made.`,
    );
    expect(await readFile(path, 'utf8')).toBe('short\n');
  });
});
