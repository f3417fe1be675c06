/**
 * Where a folder lies in a git repository, and the branches of that repository. Refs are read as git keeps them in files; nothing
 * is written, and no program of git is run.
 */
import { readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { codeOf } from '../errors.ts';

/** A git repository on disk. */
export interface Repository {
  /** Where its refs and objects lie. */
  readonly gitFolder: string;
  /** The file HEAD: of the work tree, where there are several. */
  readonly headFile: string;
  /** It has no work tree: files are there in commits only. */
  readonly isBare: boolean;
}

/** A folder as a path in a repository, with `/` between; `''` is its root. */
export interface PlaceInRepository {
  readonly repository: Repository;
  readonly folder: string;
}

/** What the default branch is called where nothing says otherwise. */
export const branchWithoutName = 'main';

/** Longest name of a branch, in characters (chat-stream.md). */
const nameCharactersMax = 255;
/** A file of refs of more bytes than this is not read. */
const refsBytesMax = 33_554_432;
/** How many symbolic refs may point at each other. */
const symbolicMax = 5;

/**
 * Where the folder lies: in the work tree around it, or, in a bare repository, at a path that is there in commits only
 * (`/srv/analytics.git/model`). Null when there is no repository around it.
 */
export async function findRepository(folder: string): Promise<PlaceInRepository | null> {
  const path = await realPathOf(resolve(folder));
  for (let root = path; ; root = dirname(root)) {
    const repository = await repositoryAt(root);
    if (repository !== null) return { repository, folder: relative(root, path).split(sep).join('/') };
    if (dirname(root) === root) return null;
  }
}

/** The path without symbolic links, as far as it exists on disk. */
async function realPathOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(await realPathOf(parent), basename(path));
  }
}

async function repositoryAt(root: string): Promise<Repository | null> {
  const dotGit = join(root, '.git');
  const kind = await kindOf(dotGit);
  if (kind === 'folder') return { gitFolder: dotGit, headFile: join(dotGit, 'HEAD'), isBare: false };
  if (kind === 'file') {
    // A further work tree, or a submodule: the file says where its HEAD lies, and `commondir` there where the rest does.
    const named = /^gitdir: (.+)/.exec((await readSmall(dotGit)) ?? '')?.[1];
    if (named === undefined) return null;
    const own = isAbsolute(named) ? named : join(root, named);
    const common = (await readSmall(join(own, 'commondir')))?.trim();
    const gitFolder = common === undefined ? own : resolve(own, common);
    return { gitFolder, headFile: join(own, 'HEAD'), isBare: false };
  }
  const parts = await Promise.all(['HEAD', 'objects', 'refs'].map((name) => kindOf(join(root, name))));
  const isBare = parts[0] === 'file' && parts[1] === 'folder' && parts[2] === 'folder';
  return isBare ? { gitFolder: root, headFile: join(root, 'HEAD'), isBare: true } : null;
}

/**
 * The name of the default branch, which the repository alone decides (chat-stream.md): HEAD's in a bare one; with a work tree that
 * of `origin`, if it is known, else the one that is checked out. `main` where HEAD is at a commit.
 */
export async function defaultBranchOf(repository: Repository): Promise<string> {
  const { gitFolder, headFile, isBare } = repository;
  if (!isBare) {
    const ofOrigin = await symbolicTarget(join(gitFolder, 'refs/remotes/origin/HEAD'), 'refs/remotes/origin/');
    if (ofOrigin !== null) return ofOrigin;
  }
  return (await symbolicTarget(headFile, 'refs/heads/')) ?? branchWithoutName;
}

/** The commit that HEAD is at; null when there is none yet. */
export async function headCommit(repository: Repository): Promise<string | null> {
  return followRef(repository, ((await readSmall(repository.headFile)) ?? '').trim(), symbolicMax);
}

/**
 * The commit of a branch: the repository's own, else, with a work tree, the one that was fetched from `origin`. Null when there is
 * no such branch, or the name is none that a branch can have.
 */
export async function commitOfBranch(repository: Repository, name: string): Promise<string | null> {
  if (!isBranchName(name)) return null;
  const own = await commitOfRef(repository, `refs/heads/${name}`, symbolicMax);
  if (own !== null || repository.isBare) return own;
  return commitOfRef(repository, `refs/remotes/origin/${name}`, symbolicMax);
}

/** Whether git lets a branch be called so (`git check-ref-format --branch`); full names of refs and HEAD are none. */
export function isBranchName(name: string): boolean {
  if (name === '' || name.length > nameCharactersMax || name === '@' || name === 'HEAD') return false;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is them that are refused
  if (/[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|^-|^refs\/|\.$/.test(name)) return false;
  return name.split('/').every((part) => part !== '' && !part.startsWith('.') && !part.endsWith('.lock'));
}

/** A ref on its own in a file goes before the same one among the packed refs, as in git. */
async function commitOfRef(repository: Repository, ref: string, symbolicLeft: number): Promise<string | null> {
  const loose = await readSmall(join(repository.gitFolder, ref));
  if (loose !== null) return followRef(repository, loose.trim(), symbolicLeft);
  const packed = (await readSmall(join(repository.gitFolder, 'packed-refs'))) ?? '';
  const end = ` ${ref}`;
  const line = packed
    .split('\n')
    .find((one) => one.trimEnd().endsWith(end) && one.trimEnd().length === 40 + end.length);
  return line === undefined ? null : commitIn(line.slice(0, 40));
}

/** What a ref holds is a commit, or the name of another ref. */
async function followRef(repository: Repository, content: string, symbolicLeft: number): Promise<string | null> {
  const target = /^ref: (refs\/.+)$/.exec(content)?.[1];
  if (target === undefined) return commitIn(content);
  if (symbolicLeft === 0 || target.split('/').includes('..')) return null;
  return commitOfRef(repository, target, symbolicLeft - 1);
}

const commitIn = (text: string): string | null => (/^[0-9a-f]{40}$/.test(text) ? text : null);

/** The branch that a symbolic ref names below `prefix`; null when it is none. */
async function symbolicTarget(file: string, prefix: string): Promise<string | null> {
  const content = ((await readSmall(file)) ?? '').trim();
  if (!content.startsWith(`ref: ${prefix}`)) return null;
  const name = content.slice(`ref: ${prefix}`.length);
  return isBranchName(name) ? name : null;
}

/** The text of a file; null when there is none of that name, or it is a folder, or larger than any file of refs. */
async function readSmall(file: string): Promise<string | null> {
  try {
    const { size } = await stat(file);
    return size > refsBytesMax ? null : await readFile(file, 'utf8');
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

async function kindOf(path: string): Promise<'file' | 'folder' | null> {
  try {
    const found = await stat(path);
    return found.isDirectory() ? 'folder' : found.isFile() ? 'file' : null;
  } catch (error) {
    // A folder above that may not be looked into holds no repository of ours.
    if (isMissing(error) || codeOf(error) === 'EACCES') return null;
    throw error;
  }
}

/** No such file, whatever the system calls that for names that cannot be one. */
function isMissing(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR' || code === 'ENAMETOOLONG';
}
