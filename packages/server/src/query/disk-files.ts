/** The files of a folder as they lie on disk. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../errors.ts';
import { createFileCollector, type FolderLimits, type SourceFile, type Wanted } from './model-files.ts';

/**
 * The wanted files of the folder and of those below, in the order of their paths; null when there is no such folder. Symbolic links
 * to files are followed, since the folder is the operator's and mounted folders are made of them; links to folders are not, nor is
 * `.git` looked into.
 * @throws InlayError DATA_MODEL_INVALID when it is larger than the limits allow
 */
export async function readFolderOnDisk(
  folder: string,
  { isWanted, skipped }: Wanted,
  limits?: FolderLimits,
): Promise<readonly SourceFile[] | null> {
  const collector = createFileCollector(limits);
  const read = async (prefix: string): Promise<void> => {
    for (const entry of await readdir(join(folder, prefix), { withFileTypes: true })) {
      const path = `${prefix}${entry.name}`;
      collector.look(path);
      if (entry.isDirectory()) {
        if (entry.name !== '.git' && !skipped.includes(path)) await read(`${path}/`);
        continue;
      }
      if (!isWanted(path)) continue;
      const file = join(folder, path);
      // A link may lead to a folder, or nowhere.
      if (entry.isFile() || (entry.isSymbolicLink() && (await isFile(file)))) collector.add(path, await readFile(file));
    }
  };
  try {
    await read('');
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return null;
    throw error;
  }
  return collector.files();
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
