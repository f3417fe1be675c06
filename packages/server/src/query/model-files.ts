/** The files of a data model or of an agent's configuration, wherever they lie: which are read, and how much of them. */
import { InlayError } from '../errors.ts';

/** A file; `path` counts from its folder, with `/` between. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** How much one folder may hold. Beyond, it is refused as a whole: half a data model would be another one. */
export interface FolderLimits {
  readonly filesMax: number;
  readonly fileBytesMax: number;
  readonly bytesMax: number;
  /** Files and folders that are looked at, read or not. */
  readonly entriesMax: number;
  /** Folders within each other. */
  readonly depthMax: number;
}

/** The limits that hold: far above any data model written by people. */
export const folderLimits: FolderLimits = {
  filesMax: 2000,
  fileBytesMax: 1_048_576,
  bytesMax: 16_777_216,
  entriesMax: 50_000,
  depthMax: 32,
};

/** Which files of a folder are wanted, by their paths. `skipped`: folders that are not looked into, as paths. */
export interface Wanted {
  readonly isWanted: (path: string) => boolean;
  readonly skipped: readonly string[];
}

/** The files of a data model. */
export const isModelFile = (path: string): boolean => /\.ya?ml$/.test(path);
/** The files of an agent's configuration. */
export const isAgentFile = (path: string): boolean => /\.(ya?ml|md)$/.test(path);

/** Gathers the files of one folder under the limits. */
export interface FileCollector {
  /** Counts one file or folder that is looked at. @throws InlayError DATA_MODEL_INVALID */
  look(path: string): void;
  /** @throws InlayError DATA_MODEL_INVALID when it is too large, or one too many */
  add(path: string, bytes: Uint8Array): void;
  /** What was added, in the order of the paths, whatever order a disk or a tree gives. */
  files(): readonly SourceFile[];
}

/** Makes a collector; nothing is in it. */
export function createFileCollector(limits: FolderLimits = folderLimits): FileCollector {
  const files: SourceFile[] = [];
  let bytesTotal = 0;
  let looked = 0;
  return {
    look(path) {
      looked += 1;
      if (looked > limits.entriesMax) throw tooMuch(`more than ${limits.entriesMax} files and folders`);
      if (path.split('/').length > limits.depthMax) throw tooMuch(`more than ${limits.depthMax} levels of folders`);
    },
    add(path, bytes) {
      if (bytes.length > limits.fileBytesMax) throw tooMuch(`a file of more than ${limits.fileBytesMax} bytes`);
      bytesTotal += bytes.length;
      if (bytesTotal > limits.bytesMax) throw tooMuch(`more than ${limits.bytesMax} bytes`);
      if (files.length >= limits.filesMax) throw tooMuch(`more than ${limits.filesMax} files`);
      files.push({ path, text: new TextDecoder().decode(bytes) });
    },
    files: () => files.toSorted((one, other) => (one.path < other.path ? -1 : 1)),
  };
}

const tooMuch = (what: string): InlayError =>
  new InlayError('DATA_MODEL_INVALID', `The data model of this deployment does not load: its folder holds ${what}.`);
