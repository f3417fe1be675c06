/** `model check`: what is wrong with a data model on disk, for people and for CI. It needs neither a server nor a store. */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { loadDataModel, type ModelIssue } from '@inlay/semantic/model/load-data-model.ts';
import { ConfigError } from '../config.ts';
import { InlayError, reasonOf } from '../errors.ts';
import { readFolderOnDisk } from '../query/disk-files.ts';
import { isModelFile, type SourceFile } from '../query/model-files.ts';
import { plain } from './http-client.ts';
import type { Printer } from './run-operation.ts';

/** Files that other tools read as parts of a model. */
const isForeignFile = (path: string): boolean => /\.(?:[cm]?[jt]sx?|py|jinja2?|j2)$/i.test(path);

/**
 * Runs the command.
 * @returns whether all is well: no errors, and with `--strict` no warnings either
 * @throws ConfigError for wrong arguments, and when there is no model in the folder
 */
export async function runModelCheck(args: readonly string[], print: Printer): Promise<boolean> {
  const flags = readFlags(args);
  // The whole path, since npm runs this in the root folder, wherever it was called.
  const folder = resolve(flags.folder);
  const skipped = flags.agents === undefined ? [] : [flags.agents.replace(/^\.\//, '').replace(/\/$/, '')];
  const files = await read(folder, { isWanted: isModelFile, skipped });
  if (files.length === 0) throw new ConfigError([`There is no *.yml or *.yaml file in ${folder}.`]);
  const foreign = await read(folder, { isWanted: isForeignFile, skipped });
  const loaded = loadDataModel(files);
  const errors = 'issues' in loaded ? loaded.issues : [];
  const warnings = [...loaded.warnings, ...foreign.map(foreignWarning)];

  if (flags.json) print.out(JSON.stringify({ files: files.length, errors, warnings }, null, 2));
  else {
    const line = (issue: ModelIssue, kind: string): string =>
      plain(`${join(flags.folder, issue.file)}:${issue.line}:${issue.column}: ${kind}${issue.message}`);
    for (const error of errors) print.out(line(error, ''));
    for (const warning of warnings) print.out(line(warning, 'warning: '));
    print.say(
      `${counted(errors.length, 'error')}, ${counted(warnings.length, 'warning')} in ${counted(files.length, 'file')}.`,
    );
  }
  return errors.length === 0 && (warnings.length === 0 || !flags.strict);
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

const foreignWarning = ({ path }: SourceFile): ModelIssue => ({
  file: path,
  line: 1,
  column: 1,
  message: 'this file is not read: a model is YAML, and neither JavaScript, Python nor templates are run',
});

async function read(folder: string, wanted: Parameters<typeof readFolderOnDisk>[1]): Promise<readonly SourceFile[]> {
  const files = await readFolderOnDisk(folder, wanted).catch((error: unknown) => {
    throw new ConfigError([
      error instanceof InlayError ? error.message : `${folder} cannot be read: ${reasonOf(error)}`,
    ]);
  });
  if (files === null) throw new ConfigError([`There is no folder ${folder}.`]);
  return files;
}

interface Flags {
  readonly folder: string;
  readonly agents: string | undefined;
  readonly strict: boolean;
  readonly json: boolean;
}

function readFlags(args: readonly string[]): Flags {
  const problem = (text: string): ConfigError => new ConfigError([`${text} (npm run inlay -- model check --help)`]);
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { agents: { type: 'string' }, strict: { type: 'boolean' }, json: { type: 'boolean' } },
      strict: true,
      allowPositionals: true,
    });
    const [folder = 'model', extra] = positionals;
    if (extra !== undefined) throw problem(`model check does not take ${extra}`);
    return { folder, agents: values.agents, strict: values.strict ?? false, json: values.json ?? false };
  } catch (error) {
    throw error instanceof ConfigError ? error : problem(reasonOf(error));
  }
}
