/** Makes once, before all test files, what is slow to make: the template databases, one PostgreSQL, the demo data. */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import type { StoreSettings } from '../src/config.ts';
import { ensureDemoData } from '../src/installation/demo.ts';
import { openDatabase } from '../src/store/database.ts';
import { migrate } from '../src/store/migrate.ts';
import { runStatement, templateDatabase } from './databases.ts';
import { startPostgres } from './postgres.ts';

const example = (name: string): string =>
  fileURLToPath(new URL(`../../../examples/storefront/${name}`, import.meta.url));

/** Called by Vitest. What it returns is called after the last test, also when tests failed. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'inlay-tests-'));
  const undo: (() => Promise<void>)[] = [() => rm(folder, { recursive: true, force: true, maxRetries: 3 })];
  const teardown = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step();
  };

  const pgliteTemplateFolder = join(folder, 'pglite');
  const demoDataFolder = join(folder, 'storefront');
  const demoModelFolder = join(folder, 'model');
  try {
    // Where the example lies, there may be a repository around it, with whatever branches somebody has.
    await cp(example('model'), demoModelFolder, { recursive: true });
    const postgres = await startPostgres();
    undo.push(postgres.stop);
    project.provide('postgresBaseUrl', postgres.baseUrl);
    await runStatement(`${postgres.baseUrl}postgres`, `create database ${templateDatabase}`);
    await makeTemplate({ kind: 'postgres', url: postgres.baseUrl + templateDatabase });
    // Not beside PostgreSQL: making a PGlite database holds this thread for seconds, long enough for a connection to time
    // out on a busy machine. DuckDB has threads of its own.
    const demoData = ensureDemoData({ script: example('generate.sql'), folder: demoDataFolder });
    demoData.catch(() => undefined);
    await makeTemplate({ kind: 'embedded', folder: pgliteTemplateFolder });
    await demoData;
  } catch (error) {
    await teardown();
    throw error;
  }
  project.provide('pgliteTemplateFolder', pgliteTemplateFolder);
  project.provide('demoDataFolder', demoDataFolder);
  project.provide('demoModelFolder', demoModelFolder);
  return teardown;
}

async function makeTemplate(store: StoreSettings): Promise<void> {
  const db = await openDatabase(store);
  try {
    await migrate(db);
  } finally {
    await db.destroy();
  }
}
