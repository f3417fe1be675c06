/** The files of a folder as a commit of a git repository has them, read from its objects: no work tree is touched. */
import fs from 'node:fs';
import { readBlob, readTree, type TreeEntry } from 'isomorphic-git';
import type { Repository } from './git-refs.ts';
import { createFileCollector, type FolderLimits, type SourceFile, type Wanted } from './model-files.ts';

const symbolicLinkMode = '120000';

/** What is read: a folder (`''`: the root) of a commit. */
export interface FolderAtCommit {
  readonly repository: Repository;
  readonly commit: string;
  readonly folder: string;
}

/**
 * The wanted files of the folder, in the order of their paths; null when the commit has no such folder. Symbolic links and
 * submodules are left out, never followed.
 * @throws InlayError DATA_MODEL_INVALID when it is larger than the limits allow; what the git library throws for a repository that
 * is broken, shallow there, or kept in a way that it does not read (docs/decisions/0014-branches.md).
 */
export async function readFolderAtCommit(
  { repository, commit, folder }: FolderAtCommit,
  { isWanted, skipped }: Wanted,
  limits?: FolderLimits,
): Promise<readonly SourceFile[] | null> {
  // Packs are read into it as a whole; it goes when the reading is done.
  const git = { fs, gitdir: repository.gitFolder, cache: {} };
  const entriesOf = async (oid: string): Promise<readonly TreeEntry[]> => (await readTree({ ...git, oid })).tree;

  const root = await folderIn(commit, folder, entriesOf);
  if (root === null) return null;
  const collector = createFileCollector(limits);
  const read = async (oid: string, prefix: string): Promise<void> => {
    for (const entry of await entriesOf(oid)) {
      const path = `${prefix}${entry.path}`;
      collector.look(path);
      if (entry.type === 'tree') {
        if (!skipped.includes(path)) await read(entry.oid, `${path}/`);
      } else if (entry.type === 'blob' && entry.mode !== symbolicLinkMode && isWanted(path)) {
        collector.add(path, (await readBlob({ ...git, oid: entry.oid })).blob);
      }
    }
  };
  await read(root, '');
  return collector.files();
}

/** The tree of a folder in a commit; null when there is none. */
async function folderIn(
  commit: string,
  folder: string,
  entriesOf: (oid: string) => Promise<readonly TreeEntry[]>,
): Promise<string | null> {
  let oid = commit;
  for (const name of folder.split('/').filter((part) => part !== '')) {
    const entry = (await entriesOf(oid)).find(({ path, type }) => path === name && type === 'tree');
    if (entry === undefined) return null;
    oid = entry.oid;
  }
  return oid;
}
