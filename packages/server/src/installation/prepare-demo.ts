/** The demo as it is at every start: its data, its installation, its API key. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defaultLimits } from '@inlay/contract/limits.ts';
import { userShapes } from '@inlay/contract/user.ts';
import type { Kysely } from 'kysely';
import { newApiKey } from '../admin/make-api-key.ts';
import type { Config } from '../config.ts';
import { server } from '../store/audit-log.ts';
import { makeDataFolder, readOrCreateSecretFile } from '../store/data-folder.ts';
import type { Schema } from '../store/schema.ts';
import { applyInstallation } from './apply-installation.ts';
import { ensureDemoData } from './demo.ts';
import { setDemoKey } from './demo-key.ts';
import { readInstallation } from './installation-file.ts';

const storefront = fileURLToPath(new URL('../../../../examples/storefront/', import.meta.url));

/** Where the demo's API key is found: a file, or (null) the variable INLAY_API_KEY. */
export interface Demo {
  readonly keyFile: string | null;
}

/**
 * Makes the demo's data in the data folder, unless it is there. Needs no store, and so can go on while one opens.
 * @param say told what takes long.
 */
export async function makeDemoData(
  { dataFolder }: Pick<Config, 'dataFolder'>,
  say: (line: string) => void,
): Promise<void> {
  await makeDataFolder(dataFolder);
  await ensureDemoData({ script: join(storefront, 'generate.sql'), folder: join(dataFolder, 'storefront'), say });
}

/**
 * Applies the demo's installation and sets its key: INLAY_API_KEY, or one that is made once and kept in the data folder.
 * @throws ConfigError
 */
export async function applyDemo(
  { db, clock }: { readonly db: Kysely<Schema>; readonly clock: () => Date },
  { dataFolder, apiKey }: Pick<Config, 'dataFolder' | 'apiKey'>,
): Promise<Demo> {
  // A file of ours: whatever limits the operator sets for others, the demo starts.
  const user = userShapes(defaultLimits);
  const installation = await readInstallation(join(storefront, 'inlay.yml'), { dataFolder, user });
  const { accountIds } = await applyInstallation(db, installation, { actor: server, now: clock() });
  const keyFile = join(dataFolder, 'api-key');
  const key = apiKey ?? (await readOrCreateSecretFile(keyFile, newApiKey));
  const accountId = accountIds.get('demo');
  if (accountId === undefined) throw new Error('the storefront example declares no account demo');
  await setDemoKey(db, accountId, key, clock());
  return { keyFile: apiKey === undefined ? keyFile : null };
}
