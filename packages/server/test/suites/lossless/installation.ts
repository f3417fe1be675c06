/** An installation whose agents are on a scripted language model, applied to a store as an operator would. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { DuckDBInstance } from '@duckdb/node-api';
import { type LanguageModelServer, scriptedEntry, scriptedKey } from '../../language-model-server.ts';

const cliFile = fileURLToPath(new URL('../../../src/cli.ts', import.meta.url));
const cliTimeoutMs = 180_000;
const run = promisify(execFile);

/** Agent 1 answers, agent 2 also shows its thoughts. Both over deployment 1, in whose cubes the group `everyone` sees all. */
export interface ChatInstallation extends AsyncDisposable {
  /** What a server on it needs in its environment, but for the store. */
  readonly env: Readonly<Record<string, string>>;
  /** Applies it to the store that `env` names; no server may have an embedded one open. @returns an admin key. */
  apply(env: Readonly<Record<string, string>>): Promise<string>;
}

/** The account of the installation. */
export const chatAccount = 'suite';

const installation = `
accounts:
  - name: ${chatAccount}
    plan: enterprise
    groups: [{ name: everyone }]
    deployments:
      - { id: 1, name: numbers, model: ./model, agents: ./agents, warehouse: { type: duckdb, folder: ./warehouse } }
    agents:
      - { id: 1, deployment: 1, name: Plain }
      - { id: 2, deployment: 1, name: Thinker }
`;

/** One cube answers at once, the other takes hours to count. */
const model = `
cubes:
  - name: numbers
    sql: SELECT range AS id FROM range(1000)
    dimensions: [{ name: id, sql: "{CUBE}.id", type: number, primary_key: true }]
    measures: [{ name: count, type: count }]
    access_policy: [{ group: everyone, row_level: { allow_all: true } }]
  - name: endless
    sql: SELECT a.range AS id FROM range(10000000) a, range(10000000) b WHERE hash(a.range * b.range) = 7
    dimensions: [{ name: id, sql: "{CUBE}.id", type: number, primary_key: true }]
    measures: [{ name: count, type: count }]
    access_policy: [{ group: everyone, row_level: { allow_all: true } }]
`;

const agents = `
llm: scripted
agents:
  - name: Thinker
    development: true
`;

/** Writes the installation into a folder of its own, which disposing deletes. */
export async function writeChatInstallation(server: Pick<LanguageModelServer, 'url'>): Promise<ChatInstallation> {
  const folder = await mkdtemp(join(tmpdir(), 'inlay-chat-suite-'));
  const write = async (path: string, text: string): Promise<string> => {
    await writeFile(join(folder, path), text);
    return join(folder, path);
  };
  for (const name of ['model', 'agents', 'warehouse']) await mkdir(join(folder, name));
  const file = await write('inlay.yml', installation);
  await write('model/numbers.yml', model);
  await write('agents/config.yml', agents);
  const models = await write('models.yml', JSON.stringify({ language_models: [scriptedEntry(server, 'openai')] }));
  await writeParquet(join(folder, 'warehouse', 'one.parquet'));
  const own = { INLAY_DEMO: 'off', INLAY_LANGUAGE_MODELS: models, SCRIPTED_KEY: scriptedKey };
  return {
    env: own,
    async apply(env) {
      const options = { env: { PATH: process.env['PATH'] ?? '', ...own, ...env }, timeout: cliTimeoutMs };
      const cli = (...words: string[]) => run(process.execPath, [cliFile, ...words], options);
      await cli('apply', '-f', file);
      return (await cli('keys', 'create', '--direct')).stdout.trim();
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }),
  };
}

/** A warehouse has at least one table. */
async function writeParquet(file: string): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(`COPY (SELECT 1 AS id) TO '${file.replaceAll("'", "''")}'`);
  connection.closeSync();
  instance.closeSync();
}
