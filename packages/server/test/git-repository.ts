/** Repositories for tests, made object by object, so that no git has to be installed. */
import fs from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { init, packObjects, type TreeEntry, writeBlob, writeCommit, writeRef, writeTree } from 'isomorphic-git';

/** What stands at a path: a text, or something that is no file. */
export type Content = string | { readonly linkTo: string } | { readonly submodule: string };

/** A repository under construction. */
export interface TestRepository {
  /** The folder to name in an installation. */
  readonly root: string;
  /** Where its objects and refs lie. */
  readonly gitFolder: string;
  /** Writes a commit with exactly these files; no branch is at it yet. */
  commit(files: Readonly<Record<string, Content>>): Promise<string>;
  /** Puts a ref at a commit. */
  setRef(ref: string, commit: string): Promise<void>;
  /** Makes a ref point at another. */
  setSymbolicRef(ref: string, target: string): Promise<void>;
  /** Moves every object of these commits' files into a pack. */
  pack(oids: readonly string[]): Promise<void>;
  /** The ids of all objects written so far. */
  readonly oids: readonly string[];
}

const author = { name: 'A', email: 'a@example.com', timestamp: 1_700_000_000, timezoneOffset: 0 };

/** An empty repository in the folder, with the branch `main`; bare, or with a work tree that holds nothing. */
export async function initRepository(root: string, options: { readonly isBare: boolean }): Promise<TestRepository> {
  await mkdir(root, { recursive: true });
  await init({
    fs,
    dir: root,
    bare: options.isBare,
    ...(options.isBare ? { gitdir: root } : {}),
    defaultBranch: 'main',
  });
  const gitFolder = options.isBare ? root : join(root, '.git');
  const git = { fs, gitdir: gitFolder };
  const oids: string[] = [];
  const kept = (oid: string): string => {
    oids.push(oid);
    return oid;
  };

  async function entryOf(path: string, content: Content): Promise<TreeEntry> {
    if (typeof content !== 'string' && 'submodule' in content) {
      return { mode: '160000', path, oid: content.submodule, type: 'commit' };
    }
    const blob = Buffer.from(typeof content === 'string' ? content : content.linkTo);
    const mode = typeof content === 'string' ? '100644' : '120000';
    return { mode, path, oid: kept(await writeBlob({ ...git, blob })), type: 'blob' };
  }

  async function treeOf(files: ReadonlyMap<string, Content>): Promise<string> {
    const folders = new Map<string, Map<string, Content>>();
    const tree: TreeEntry[] = [];
    for (const [path, content] of files) {
      const [first = '', ...rest] = path.split('/');
      if (rest.length === 0) tree.push(await entryOf(first, content));
      else folders.set(first, (folders.get(first) ?? new Map<string, Content>()).set(rest.join('/'), content));
    }
    for (const [path, inside] of folders) tree.push({ mode: '040000', path, oid: await treeOf(inside), type: 'tree' });
    return kept(await writeTree({ ...git, tree }));
  }

  return {
    root,
    gitFolder,
    oids,
    async commit(files) {
      const tree = await treeOf(new Map(Object.entries(files)));
      const commit = { message: 'x\n', tree, parent: [], author, committer: author };
      return kept(await writeCommit({ ...git, commit }));
    },
    setRef: (ref, value) => writeRef({ ...git, ref, value, force: true }),
    setSymbolicRef: async (ref, target) => {
      await mkdir(dirname(join(gitFolder, ref)), { recursive: true });
      await writeFile(join(gitFolder, ref), `ref: ${target}\n`);
    },
    async pack(packed) {
      await packObjects({ ...git, oids: [...new Set(packed)], write: true });
      const { indexPack } = await import('isomorphic-git');
      const folder = join(gitFolder, 'objects/pack');
      for (const name of fs.readdirSync(folder).filter((one) => one.endsWith('.pack'))) {
        await indexPack({ ...git, dir: gitFolder, filepath: join('objects/pack', name) });
      }
      for (const oid of new Set(packed)) await rm(join(gitFolder, 'objects', oid.slice(0, 2), oid.slice(2)));
    },
  };
}
