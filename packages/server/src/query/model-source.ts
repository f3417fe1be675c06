/**
 * Where a deployment's data model and the configuration of its agents come from: folders on disk, which may lie in a git
 * repository and then have branches (docs/decisions/0014-branches.md).
 */
import { relative, sep } from 'node:path';
import type { DataModel } from '@inlay/semantic/model/data-model.ts';
import { loadDataModel } from '@inlay/semantic/model/load-data-model.ts';
import { InlayError } from '../errors.ts';
import type { Log } from '../log.ts';
import { createSemaphore } from '../semaphore.ts';
import { readFolderOnDisk, stateOfFolder } from './disk-files.ts';
import { readFolderAtCommit } from './git-files.ts';
import {
  branchWithoutName,
  commitOfBranch,
  defaultBranchOf,
  findRepository,
  headCommit,
  type PlaceInRepository,
} from './git-refs.ts';
import { isAgentFile, isModelFile, type SourceFile, type Wanted } from './model-files.ts';
import { createRecently } from './recently.ts';

/** How long what a repository says is believed: a branch that was moved is seen after as long. */
const repositoryKeptMs = 1000;
/** Branches whose commits are remembered for as long. */
const branchesMax = 1000;

/** The folders, as absolute paths. `agents` null: the agents have no configuration. */
export interface ModelFolders {
  readonly model: string;
  readonly agents: string | null;
}

/** What a branch holds. */
export interface ModelContent {
  readonly dataModel: DataModel;
  readonly agentFiles: readonly SourceFile[];
}

/** A branch as it is now. */
export interface ModelVersion {
  /** The commit that it is at, whose content never changes; null: the folders as they lie on disk. */
  readonly commit: string | null;
  /** Differs once files on disk changed that are to be read anew then; empty where they are not, and for commits. */
  readonly state: string;
  /** @throws InlayError DATA_MODEL_INVALID, with a cause when it could not be read; what is wrong is in the log */
  read(): Promise<ModelContent>;
}

/** The source of one deployment. */
export interface ModelSource {
  /** The name of the default branch; `main` where the folder lies in no repository. */
  defaultBranch(): Promise<string>;
  /** @param branch null: the default one. @throws InlayError BRANCH_NOT_FOUND, DATA_MODEL_INVALID (no commit at all) */
  versionOf(branch: string | null): Promise<ModelVersion>;
}

interface Repository extends PlaceInRepository {
  readonly defaultBranch: string;
}

/** Files that were written this lately are looked at once more first: who writes may not be done. */
const settledMs = 250;

/**
 * The source in these folders. Nothing is read yet.
 * @param options.isWatched whether changes of files on disk are noticed
 */
export function createModelSource(
  log: Log,
  { model, agents }: ModelFolders,
  { isWatched }: { readonly isWatched: boolean } = { isWatched: false },
): ModelSource {
  // Also that there is none: looking for it up the folders takes longer than a small query.
  const repositories = createRecently<{ readonly repository: Repository | null }>({
    keptMs: repositoryKeptMs,
    keysMax: 1,
  });
  const commits = createRecently<string>({ keptMs: repositoryKeptMs, keysMax: branchesMax });
  // Whoever names one branch after the other must not make the server hold the objects of all at once.
  const reading = createSemaphore(1);
  const never = new AbortController().signal;
  const modelFiles: Wanted = { isWanted: isModelFile, skipped: agents === null ? [] : insideOf(model, agents) };
  const agentFiles: Wanted = { isWanted: isAgentFile, skipped: insideOf(agents ?? model, model) };

  const findPlace = async (): Promise<Repository | null> => {
    const found = await repositories.get('', async () => {
      const place = await findRepository(model);
      if (place === null) return { repository: null };
      return { repository: { ...place, defaultBranch: await defaultBranchOf(place.repository) } };
    });
    return found?.repository ?? null;
  };

  const invalid = (where: string, fields: { readonly err?: unknown; [field: string]: unknown }): InlayError => {
    log.error({ folder: model, where, ...fields }, 'data model does not load');
    // What is too large stays so; what could not be read may be there at the next call.
    const cause = fields.err instanceof InlayError ? undefined : fields.err;
    return new InlayError('DATA_MODEL_INVALID', doesNotLoad, { cause });
  };

  /** `readFolder` gives the files of a folder, null when it is not there. */
  async function read(
    where: string,
    readFolder: (folder: string, wanted: Wanted) => Promise<readonly SourceFile[] | null>,
  ): Promise<ModelContent> {
    using _turn = await reading.enter(never);
    const folders = Promise.all([readFolder(model, modelFiles), agents === null ? [] : readFolder(agents, agentFiles)]);
    const [files, configuration] = await folders.catch((err: unknown) => {
      throw invalid(where, { err });
    });
    if (files === null) throw invalid(where, { reason: 'There is no such folder.' });
    const loaded = loadDataModel(files);
    if ('issues' in loaded) throw invalid(where, { issues: loaded.issues });
    if (loaded.warnings.length > 0)
      log.warn({ folder: model, where, warnings: loaded.warnings }, 'data model loads, with warnings');
    return { dataModel: loaded.dataModel, agentFiles: configuration ?? [] };
  }

  const states = createRecently<string>({ keptMs: repositoryKeptMs, keysMax: 1 });
  let settled: string | null = null;
  const stateOnDisk = async (): Promise<string> => {
    if (!isWatched) return '';
    const state = await states.get('', async () => {
      const folders = [stateOfFolder(model, modelFiles), agents === null ? null : stateOfFolder(agents, agentFiles)];
      const found = await Promise.all(folders).catch(() => []);
      const sinceMs = Date.now() - Math.max(...found.map((one) => one?.writtenMs ?? 0));
      const text = found.map((one) => one?.text ?? 'cannot be read').join('\n\n') || 'cannot be read';
      if (settled === null || sinceMs < 0 || sinceMs >= settledMs) settled = text;
      return settled;
    });
    return state ?? '';
  };
  const onDisk = async (): Promise<ModelVersion> => ({
    commit: null,
    state: await stateOnDisk(),
    read: () => read('on disk', readFolderOnDisk),
  });

  const atCommit = ({ repository, folder }: PlaceInRepository, commit: string): ModelVersion => ({
    commit,
    state: '',
    read: () =>
      read(commit, async (path, wanted) => {
        if (path === model) return readFolderAtCommit({ repository, commit, folder }, wanted);
        const place = await findRepository(path);
        // A configuration that lies elsewhere has no branches.
        if (place?.repository.gitFolder !== repository.gitFolder) return readFolderOnDisk(path, wanted);
        return readFolderAtCommit({ repository, commit, folder: place.folder }, wanted);
      }),
  });

  return {
    defaultBranch: async () => (await findPlace())?.defaultBranch ?? branchWithoutName,
    async versionOf(branch) {
      const place = await findPlace();
      if (place === null) {
        if (branch !== null && branch !== branchWithoutName) throw branchNotFound();
        return onDisk();
      }
      const { repository, defaultBranch } = place;
      const isDefault = branch === null || branch === defaultBranch;
      if (isDefault && !repository.isBare) return onDisk();
      const commit = isDefault
        ? await commits.get('HEAD', () => headCommit(repository))
        : await commits.get(`refs/heads/${branch}`, () => commitOfBranch(repository, branch));
      if (commit !== null) return atCommit(place, commit);
      throw isDefault ? invalid('HEAD', { reason: 'The repository has no commit.' }) : branchNotFound();
    },
  };
}

/**
 * Whether the path is a folder in the commit that HEAD of a bare repository is at; on disk there is none then.
 * @throws what the git library throws for a repository that it cannot read
 */
export async function isInBareRepository(folder: string): Promise<boolean> {
  const place = await findRepository(folder);
  if (place?.repository.isBare !== true) return false;
  const commit = await headCommit(place.repository);
  if (commit === null) return false;
  const files = await readFolderAtCommit({ ...place, commit }, { isWanted: () => false, skipped: [] });
  return files !== null;
}

const doesNotLoad = 'The data model of this deployment does not load; the log says why.';
const branchNotFound = (): InlayError => new InlayError('BRANCH_NOT_FOUND', 'The data model has no such branch.');

/** The path of `inner` in `outer`, where it lies in it, as a list. */
function insideOf(outer: string, inner: string): readonly string[] {
  const path = relative(outer, inner);
  return path === '' || path.startsWith('..') ? [] : [path.split(sep).join('/')];
}
