/** The folder of the agents' files → the questions in it, each with the SQL that answers it. */
import { resolve } from 'node:path';
import {
  type AgentsConfiguration,
  type CertifiedQuery,
  configurationOf,
} from '../../agent/configuration/agent-configuration.ts';
import { matchExactly } from '../../agent/configuration/certified-queries.ts';
import { parseAgentFiles } from '../../agent/configuration/parse-agent-files.ts';
import { ConfigError } from '../../config.ts';
import { reasonOf } from '../../errors.ts';
import { readFolderOnDisk } from '../../query/disk-files.ts';
import { isAgentFile } from '../../query/model-files.ts';
import { type ConfigurationIssue, issueText } from '../../yaml-source.ts';
import { type AskAs, type EvalQuestion, readEvalFile } from './eval-file.ts';

/** What the folder holds. */
export interface AgentsFolder {
  readonly configuration: AgentsConfiguration;
  /** In the order of the files' paths. */
  readonly questions: readonly EvalQuestion[];
}

/** A question that can be asked. */
export interface ReadyQuestion extends Omit<EvalQuestion, 'as' | 'expected'> {
  readonly as: AskAs;
  /** Semantic SQL whose rows are right; null: this user may see nothing that answers the question. */
  readonly sql: string | null;
  /** The certified query that the agent should use: the question is word for word one of its own. */
  readonly certified: CertifiedQuery | null;
}

/**
 * Reads a folder with `eval/*.yml`, and beside it the configuration of the agents.
 * @throws ConfigError with one line per problem: file, line, column and what is wrong
 */
export async function readAgentsFolder(folder: string): Promise<AgentsFolder> {
  // The whole path, since npm runs this in the root folder, wherever it was called.
  const path = resolve(folder);
  const files = await readFolderOnDisk(path, { isWanted: isAgentFile, skipped: [] }).catch((error: unknown) => {
    throw new ConfigError([`${path} cannot be read: ${reasonOf(error)}`]);
  });
  if (files === null) throw new ConfigError([`There is no folder ${path}: --dir says where the agents' files are.`]);
  const configuration = parseAgentFiles(files);
  const issues: ConfigurationIssue[] = 'issues' in configuration ? [...configuration.issues] : [];
  const questions = files
    .filter((file) => /^eval\/.*\.ya?ml$/.test(file.path))
    .flatMap((file) => readEvalFile(file, issues) ?? []);
  if ('issues' in configuration || issues.length > 0) {
    throw new ConfigError(issues.map((issue) => issueText({ ...issue, file: `${folder}/${issue.file}` })));
  }
  if (questions.length === 0) throw new ConfigError([`${path} holds no questions: eval/*.yml`]);
  return { configuration, questions };
}

/**
 * Finds for each question the SQL that answers it, and as whom it is asked. Pure.
 * @param options.agentName decides which certified queries the agent has
 * @param options.as for questions that do not say, nor their file
 * @throws ConfigError with one line per question that names no query there is, or nobody
 */
export function prepareQuestions(
  { configuration, questions }: AgentsFolder,
  { agentName, as: fallback }: { readonly agentName: string; readonly as: AskAs | undefined },
): readonly ReadyQuestion[] {
  const problems: string[] = [];
  const { certifiedQueries } = configurationOf(configuration, agentName);
  const ready = questions.flatMap(({ expected, as = fallback, ...question }): readonly ReadyQuestion[] => {
    const place = `${question.file}: "${question.name}"`;
    const named =
      expected.kind === 'certified'
        ? configuration.certifiedQueries.find(({ name }) => name.toLowerCase() === expected.name.toLowerCase())
        : undefined;
    const sql = expected.kind === 'sql' ? expected.sql : expected.kind === 'nothing' ? null : named?.sql;
    if (sql === undefined && expected.kind === 'certified') {
      problems.push(`${place}: no certified query is called ${expected.name}`);
    }
    if (as === undefined) problems.push(`${place} is asked as nobody: give the question or its file "as", or use --as`);
    if (sql === undefined || as === undefined) return [];
    const [certified = null] = matchExactly(certifiedQueries, question.question);
    return [{ ...question, as, sql, certified }];
  });
  if (problems.length > 0) throw new ConfigError(problems);
  return ready;
}
