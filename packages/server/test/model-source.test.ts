/** Data models in git repositories: which branch is the default one, what a branch holds, and names that are none. */
import { mkdir, mkdtemp, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openLog } from '../src/log.ts';
import { readFolderOnDisk } from '../src/query/disk-files.ts';
import { readFolderAtCommit } from '../src/query/git-files.ts';
import { commitOfBranch, findRepository, isBranchName } from '../src/query/git-refs.ts';
import { folderLimits, isModelFile } from '../src/query/model-files.ts';
import { createModelSource, isInBareRepository, type ModelSource } from '../src/query/model-source.ts';
import { initRepository, type TestRepository } from './git-repository.ts';

/** A model with one cube of this name. */
const cube = (name: string): string =>
  `cubes: [{ name: ${name}, sql_table: t, dimensions: [{ name: id, sql: id, type: number, primary_key: true }] }]\n`;

let folder: string;
let logged: string[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inlay-source-'));
  logged = [];
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const log = openLog({ write: (line: string) => void logged.push(line) });
const sourceOf = (model: string, agents: string | null = null): ModelSource =>
  createModelSource(log, { model, agents });
/** The names of the cubes in a branch. */
async function cubesOf(source: ModelSource, branch: string | null): Promise<readonly string[]> {
  const version = await source.versionOf(branch);
  return [...(await version.read()).dataModel.cubes.keys()];
}
async function workTree(): Promise<TestRepository> {
  const repository = await initRepository(join(folder, 'repo'), { isBare: false });
  await mkdir(join(repository.root, 'model'));
  await writeFile(join(repository.root, 'model/a.yml'), cube('on_disk'));
  return repository;
}
const notFound = expect.objectContaining({ code: 'BRANCH_NOT_FOUND' });
const invalid = expect.objectContaining({ code: 'DATA_MODEL_INVALID' });

test('a folder in no repository has the branch main only', async () => {
  await writeFile(join(folder, 'a.yml'), cube('here'));
  const source = sourceOf(folder);
  expect(await source.defaultBranch()).toBe('main');
  for (const branch of [null, 'main']) expect(await cubesOf(source, branch)).toEqual(['here']);
  await expect(source.versionOf('dev')).rejects.toThrow(notFound);
});

describe('a work tree', () => {
  test('the default branch is as it lies on disk, another as it is committed', async () => {
    const repository = await workTree();
    await repository.setRef('refs/heads/main', await repository.commit({ 'model/a.yml': cube('committed') }));
    await repository.setRef('refs/heads/feature/a', await repository.commit({ 'model/a.yml': cube('feature') }));
    const source = sourceOf(join(repository.root, 'model'));
    expect(await source.defaultBranch()).toBe('main');
    expect(await cubesOf(source, null)).toEqual(['on_disk']);
    expect(await cubesOf(source, 'main')).toEqual(['on_disk']);
    expect(await cubesOf(source, 'feature/a')).toEqual(['feature']);
    // A folder of refs is no branch.
    await expect(source.versionOf('feature')).rejects.toThrow(notFound);
    await expect(source.versionOf('feature/a/b')).rejects.toThrow(notFound);
  });

  test("the default branch is origin's where it is known, else the one that is checked out, else main", async () => {
    const repository = await workTree();
    const name = () => sourceOf(join(repository.root, 'model')).defaultBranch();
    await repository.setSymbolicRef('HEAD', 'refs/heads/trunk');
    expect(await name()).toBe('trunk');
    await repository.setSymbolicRef('refs/remotes/origin/HEAD', 'refs/remotes/origin/release/2');
    expect(await name()).toBe('release/2');
    await rm(join(repository.gitFolder, 'refs/remotes/origin/HEAD'));
    await writeFile(join(repository.gitFolder, 'HEAD'), `${await repository.commit({})}\n`);
    expect(await name()).toBe('main');
  });

  test('a branch that was only fetched is found, and its own one goes before', async () => {
    const repository = await workTree();
    const source = sourceOf(join(repository.root, 'model'));
    await repository.setRef('refs/remotes/origin/dev', await repository.commit({ 'model/a.yml': cube('fetched') }));
    expect(await cubesOf(source, 'dev')).toEqual(['fetched']);
    await repository.setRef('refs/heads/dev', await repository.commit({ 'model/a.yml': cube('own') }));
    expect(await cubesOf(sourceOf(join(repository.root, 'model')), 'dev')).toEqual(['own']);
  });

  test('a branch that is moved, or made, is seen', async () => {
    const repository = await workTree();
    const source = sourceOf(join(repository.root, 'model'));
    await expect(source.versionOf('dev')).rejects.toThrow(notFound);
    await repository.setRef('refs/heads/dev', await repository.commit({ 'model/a.yml': cube('first') }));
    expect(await cubesOf(source, 'dev')).toEqual(['first']);
    await repository.setRef('refs/heads/dev', await repository.commit({ 'model/a.yml': cube('second') }));
    await expect.poll(() => cubesOf(source, 'dev'), { timeout: 10_000 }).toEqual(['second']);
  });

  test('packed refs and packed objects are read, and a ref of its own goes before', async () => {
    const repository = await workTree();
    const first = await repository.commit({ 'model/a.yml': cube('packed'), 'model/b/c.yaml': cube('deep') });
    await repository.pack(repository.oids);
    const other = await repository.commit({ 'model/a.yml': cube('loose') });
    const lines = [
      '# pack-refs with: peeled fully-peeled sorted',
      `${first} refs/heads/dev`,
      `${first} refs/heads/dev2`,
    ];
    await writeFile(join(repository.gitFolder, 'packed-refs'), `${lines.join('\n')}\n^${other}\n`);
    await repository.setRef('refs/heads/dev2', other);
    const source = sourceOf(join(repository.root, 'model'));
    expect(await cubesOf(source, 'dev')).toEqual(['packed', 'deep']);
    expect(await cubesOf(source, 'dev2')).toEqual(['loose']);
    await expect(source.versionOf('ev')).rejects.toThrow(notFound);
  });

  test('a further work tree has the branches of the repository, and a link to the folder is followed', async () => {
    const repository = await workTree();
    await repository.setRef('refs/heads/dev', await repository.commit({ 'model/a.yml': cube('dev') }));
    const further = join(folder, 'further');
    const own = join(repository.gitFolder, 'worktrees/further');
    await mkdir(join(further, 'model'), { recursive: true });
    await mkdir(own, { recursive: true });
    await writeFile(join(further, '.git'), `gitdir: ${own}\n`);
    await writeFile(join(own, 'commondir'), '../..\n');
    await writeFile(join(own, 'HEAD'), 'ref: refs/heads/side\n');
    await symlink(join(further, 'model'), join(folder, 'link'));
    const source = sourceOf(join(folder, 'link'));
    expect(await source.defaultBranch()).toBe('side');
    expect(await cubesOf(source, 'dev')).toEqual(['dev']);
  });

  test('the configuration of agents is of the branch, and no part of the model in the same folder', async () => {
    const repository = await workTree();
    await mkdir(join(repository.root, 'model/agents/rules'), { recursive: true });
    await writeFile(join(repository.root, 'model/agents/config.yml'), 'llm: one\n');
    await writeFile(join(repository.root, 'model/agents/rules/a.md'), 'Rule');
    await writeFile(join(repository.root, 'model/agents/notes.txt'), 'Not read');
    const files = { 'model/a.yml': cube('dev'), 'model/agents/config.yml': 'llm: two\n' };
    await repository.setRef('refs/heads/dev', await repository.commit(files));
    await repository.setRef('refs/heads/bare', await repository.commit({ 'model/a.yml': cube('bare') }));
    const source = sourceOf(join(repository.root, 'model'), join(repository.root, 'model/agents'));
    const agentsOf = async (branch: string | null) => (await (await source.versionOf(branch)).read()).agentFiles;
    expect(await agentsOf(null)).toEqual([
      { path: 'config.yml', text: 'llm: one\n' },
      { path: 'rules/a.md', text: 'Rule' },
    ]);
    expect(await agentsOf('dev')).toEqual([{ path: 'config.yml', text: 'llm: two\n' }]);
    expect(await agentsOf('bare')).toEqual([]);
    expect(await cubesOf(source, 'dev')).toEqual(['dev']);
  });

  test('links and submodules of a commit are not followed', async () => {
    const repository = await workTree();
    await writeFile(join(folder, 'secret.yml'), cube('secret'));
    const files = {
      'model/a.yml': cube('real'),
      'model/link.yml': { linkTo: join(folder, 'secret.yml') },
      'model/sub.yml': { submodule: '1'.repeat(40) },
    };
    await repository.setRef('refs/heads/dev', await repository.commit(files));
    expect(await cubesOf(sourceOf(join(repository.root, 'model')), 'dev')).toEqual(['real']);
  });

  test('a branch that is broken, or has no such folder, fails for itself, and the log says why', async () => {
    const repository = await workTree();
    await repository.setRef('refs/heads/broken', await repository.commit({ 'model/a.yml': 'cubes: 7\n' }));
    await repository.setRef('refs/heads/other', await repository.commit({ 'elsewhere/a.yml': cube('x') }));
    await repository.setRef('refs/heads/lost', '2'.repeat(40));
    const source = sourceOf(join(repository.root, 'model'));
    for (const branch of ['broken', 'other', 'lost']) {
      logged.length = 0;
      await expect(cubesOf(source, branch)).rejects.toThrow(invalid);
      expect(logged).toHaveLength(1);
    }
    expect(await cubesOf(source, null)).toEqual(['on_disk']);
  });
});

describe('a bare repository', () => {
  test('every branch is read from its commit, the default one too, which is that of HEAD', async () => {
    const repository = await initRepository(join(folder, 'repo.git'), { isBare: true });
    const source = sourceOf(join(repository.root, 'model'));
    await expect(source.versionOf(null)).rejects.toThrow(invalid);
    await repository.setSymbolicRef('HEAD', 'refs/heads/trunk');
    await repository.setRef('refs/heads/trunk', await repository.commit({ 'model/a.yml': cube('trunk') }));
    await repository.setRef('refs/heads/main', await repository.commit({ 'model/a.yml': cube('main') }));
    await expect.poll(() => source.defaultBranch(), { timeout: 10_000 }).toBe('trunk');
    expect(await cubesOf(source, null)).toEqual(['trunk']);
    expect(await cubesOf(source, 'trunk')).toEqual(['trunk']);
    expect(await cubesOf(source, 'main')).toEqual(['main']);
    await repository.setRef('refs/heads/trunk', await repository.commit({ 'model/a.yml': cube('moved') }));
    await expect.poll(() => cubesOf(source, null), { timeout: 10_000 }).toEqual(['moved']);
  });

  test('its folders are there in the commit of HEAD only', async () => {
    const repository = await initRepository(join(folder, 'repo.git'), { isBare: true });
    expect(await isInBareRepository(join(repository.root, 'model'))).toBe(false);
    await repository.setRef('refs/heads/main', await repository.commit({ 'a/model/a.yml': cube('x') }));
    expect(await isInBareRepository(join(repository.root, 'a/model'))).toBe(true);
    for (const path of ['a/other', 'a/model/a.yml']) {
      expect(await isInBareRepository(join(repository.root, path))).toBe(false);
    }
    expect(await isInBareRepository(join(folder, 'a/model'))).toBe(false);
  });
});

describe('names', () => {
  const hostile = [
    '',
    '@',
    'HEAD',
    'HEAD@{1}',
    '../../HEAD',
    '..',
    'a/../main',
    'refs/heads/main',
    '/main',
    'main/',
    'a//b',
    '.hidden',
    'a/.b',
    'main.lock',
    'main.',
    '-f',
    'ma in',
    'main\n',
    'main\0',
    'main~1',
    'main^',
    'main:a',
    'a?b',
    'a*',
    'a[b',
    'a\\b',
    'a'.repeat(256),
  ];
  test.each(hostile)('%j is no branch', async (name) => {
    const repository = await workTree();
    await repository.setRef('refs/heads/main', await repository.commit({ 'model/a.yml': cube('committed') }));
    expect(isBranchName(name)).toBe(false);
    await expect(sourceOf(join(repository.root, 'model')).versionOf(name)).rejects.toThrow(notFound);
  });

  test.each(['main', 'feature/a-b', 'émile', 'a'.repeat(255), '0'.repeat(40), 'a@b', 'release.1'])(
    '%j may be one',
    (name) => {
      expect(isBranchName(name)).toBe(true);
    },
  );

  test('a ref that leads out of the repository, or in a circle, is no branch', async () => {
    const { root, gitFolder, setSymbolicRef } = await workTree();
    const found = await findRepository(root);
    if (found === null) throw new Error('It lies in a repository.');
    await writeFile(join(gitFolder, 'secret'), '3'.repeat(40));
    await setSymbolicRef('refs/heads/out', 'refs/../secret');
    await setSymbolicRef('refs/heads/one', 'refs/heads/two');
    await setSymbolicRef('refs/heads/two', 'refs/heads/one');
    await writeFile(join(gitFolder, 'refs/heads/text'), 'not a commit');
    for (const name of ['out', 'one', 'text', 'a'.repeat(255)]) {
      expect([name, await commitOfBranch(found.repository, name)]).toEqual([name, null]);
    }
  });
});

describe('limits', () => {
  const limits = { ...folderLimits, filesMax: 2, fileBytesMax: 100, bytesMax: 150, entriesMax: 8, depthMax: 3 };
  const wanted = { isWanted: isModelFile, skipped: [] };
  const text = (bytes: number): string => '#'.repeat(bytes);
  test.each<[what: string, files: Record<string, string>, isAllowed: boolean]>([
    ['just so', { 'a.yml': text(100), 'b/c/d.yml': text(50), 'e.txt': text(1000) }, true],
    ['a file too many', { 'a.yml': '', 'b.yml': '', 'c.yml': '' }, false],
    ['a file too large', { 'a.yml': text(101) }, false],
    ['too much in all', { 'a.yml': text(100), 'b.yml': text(51) }, false],
    ['too deep', { 'a/b/c/d.yml': '' }, false],
    ['too many entries', Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`${index}.txt`, ''])), false],
  ])('%s', async (_what, files, isAllowed) => {
    const repository = await initRepository(join(folder, 'repo.git'), { isBare: true });
    const commit = await repository.commit(files);
    const found = await findRepository(repository.root);
    if (found === null) throw new Error('It is a repository.');
    const disk = join(folder, 'disk');
    for (const [path, content] of Object.entries(files)) {
      await mkdir(join(disk, path, '..'), { recursive: true });
      await writeFile(join(disk, path), content);
    }
    const readings = [
      () => readFolderAtCommit({ ...found, commit }, wanted, limits),
      () => readFolderOnDisk(disk, wanted, limits),
    ];
    for (const reading of readings) {
      if (isAllowed) expect((await reading())?.map(({ path }) => path)).toEqual(['a.yml', 'b/c/d.yml']);
      else await expect(reading()).rejects.toThrow(invalid);
    }
  });
});

test('on disk links to files are followed, and what leads nowhere is passed over', async () => {
  await mkdir(join(folder, 'model/.git'), { recursive: true });
  await writeFile(join(folder, 'model/.git/x.yml'), 'no');
  await writeFile(join(folder, 'real.yml'), 'yes');
  await writeFile(join(folder, 'gone.yml'), '');
  await symlink(join(folder, 'real.yml'), join(folder, 'model/a.yml'));
  await symlink(join(folder, 'gone.yml'), join(folder, 'model/b.yml'));
  await unlink(join(folder, 'gone.yml'));
  const wanted = { isWanted: isModelFile, skipped: [] };
  expect(await readFolderOnDisk(join(folder, 'model'), wanted)).toEqual([{ path: 'a.yml', text: 'yes' }]);
  expect(await readFolderOnDisk(join(folder, 'none'), wanted)).toBeNull();
});
