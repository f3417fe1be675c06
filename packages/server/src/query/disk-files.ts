/** The files of a folder as they lie on disk. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../errors.ts';
import {
  createFileCollector,
  type FileCollector,
  type FolderLimits,
  type SourceFile,
  type Wanted,
} from './model-files.ts';

/**
 * The wanted files of the folder and of those below, in the order of their paths; null when there is no such folder. Symbolic links
 * to files are followed, since the folder is the operator's and mounted folders are made of them; links to folders are not, nor is
 * `.git` looked into.
 * @throws InlayError DATA_MODEL_INVALID when it is larger than the limits allow
 */
export async function readFolderOnDisk(
  folder: string,
  wanted: Wanted,
  limits?: FolderLimits,
): Promise<readonly SourceFile[] | null> {
  const collector = createFileCollector(limits);
  const isThere = await visitFiles(folder, wanted, collector, async (path, file) =>
    collector.add(path, await readFile(file)),
  );
  return isThere ? collector.files() : null;
}

/** Which files a folder holds, and when they were written. */
export interface FolderState {
  /** Equal for folders whose wanted files have the same paths, sizes and times. */
  readonly text: string;
  /** When the latest of them was written, in milliseconds since 1970; 0 when there is none. */
  readonly writtenMs: number;
}

/**
 * The state of the wanted files, without reading them; null when there is no such folder.
 * @throws InlayError DATA_MODEL_INVALID when there are more than the limits allow
 */
export async function stateOfFolder(
  folder: string,
  wanted: Wanted,
  limits?: FolderLimits,
): Promise<FolderState | null> {
  const lines: string[] = [];
  let writtenMs = 0;
  const isThere = await visitFiles(folder, wanted, createFileCollector(limits), async (path, file) => {
    const { size, mtimeMs, ino } = await stat(file);
    lines.push(`${path}\t${size}\t${mtimeMs}\t${ino}`);
    writtenMs = Math.max(writtenMs, mtimeMs);
  });
  return isThere ? { text: lines.sort().join('\n'), writtenMs } : null;
}

/** Calls `visit` with each wanted file; false when there is no such folder. */
async function visitFiles(
  folder: string,
  { isWanted, skipped }: Wanted,
  { look }: Pick<FileCollector, 'look'>,
  visit: (path: string, file: string) => Promise<void>,
): Promise<boolean> {
  const walk = async (prefix: string): Promise<void> => {
    for (const entry of await readdir(join(folder, prefix), { withFileTypes: true })) {
      const path = `${prefix}${entry.name}`;
      look(path);
      if (entry.isDirectory()) {
        if (entry.name !== '.git' && !skipped.includes(path)) await walk(`${path}/`);
        continue;
      }
      if (!isWanted(path)) continue;
      const file = join(folder, path);
      // A link may lead to a folder, or nowhere.
      if (entry.isFile() || (entry.isSymbolicLink() && (await isFile(file)))) await visit(path, file);
    }
  };
  try {
    await walk('');
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return false;
    throw error;
  }
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
