/** Commands that work on the store itself, without a running server: the first API key, and the installation file. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { userShapes } from '@inlay/contract/user.ts';
import type { Kysely } from 'kysely';
import { insertApiKey } from '../admin/make-api-key.ts';
import { type Config, ConfigError } from '../config.ts';
import { reasonOf } from '../errors.ts';
import { applyInstallation } from '../installation/apply-installation.ts';
import { differenceLines } from '../installation/difference.ts';
import { readInstallation } from '../installation/installation-file.ts';
import { appendAuditEntry, operator } from '../store/audit-log.ts';
import { lockDataFolder, makeDataFolder } from '../store/data-folder.ts';
import { openDatabase } from '../store/database.ts';
import { migrate } from '../store/migrate.ts';
import type { Schema } from '../store/schema.ts';
import { readConnectionNames } from '../warehouse/connections-file.ts';

/** Runs `work` on the migrated store; with the embedded one, under the lock that the server takes as well. */
export async function withStore<T>(config: Config, work: (db: Kysely<Schema>) => Promise<T>): Promise<T> {
  await using stack = new AsyncDisposableStack();
  if (config.store.kind === 'embedded') {
    await makeDataFolder(config.dataFolder);
    stack.use(await lockDataFolder(config.dataFolder));
  }
  const db = stack.adopt(await openDatabase(config.store), (open) => open.destroy());
  await migrate(db);
  return await work(db);
}

/**
 * `keys create --direct`: makes a key and prints it, the key alone on standard output.
 * @throws ConfigError
 */
export async function createKeyDirectly(config: Config, args: readonly string[]): Promise<void> {
  const { values } = parse(args, {
    direct: { type: 'boolean' },
    account: { type: 'string' },
    role: { type: 'string', default: 'admin' },
  });
  const { account: name, role } = values;
  if (role !== 'admin' && role !== 'member') throw new ConfigError(['--role must be admin or member.']);
  const made = await withStore(config, async (db) => {
    const account = await findAccount(db, name);
    const { id, key, prefix } = await db.transaction().execute(async (tx) => {
      const created = await insertApiKey(tx, { accountId: account.id, role });
      const object = { kind: 'api-key', id: String(created.id), name: created.prefix };
      const action = 'api-key.create';
      await appendAuditEntry(
        tx,
        { accountId: account.id, actor: operator, action, object, result: 'OK', details: { role } },
        new Date(),
      );
      return created;
    });
    return { account: account.name, id, key, prefix };
  });
  process.stderr.write(`A key of the account ${made.account}, role ${role}. It is shown this once only:\n`);
  process.stdout.write(`${made.key}\n`);
}

/** The account of that name; without a name, the only one there is. @throws ConfigError that says which there are. */
export async function findAccount(db: Kysely<Schema>, name: string | undefined): Promise<{ id: number; name: string }> {
  const accounts = await db.selectFrom('accounts').select(['id', 'name']).orderBy('name').execute();
  const [found, another] = name === undefined ? accounts : accounts.filter((account) => account.name === name);
  if (found !== undefined && another === undefined) return found;
  if (accounts.length === 0) {
    throw new ConfigError([
      'There is no account yet. Declare one in a file and apply it: npm run inlay -- apply -f FILE',
    ]);
  }
  const wrong = name === undefined ? 'Say which account' : `There is no account ${name}`;
  throw new ConfigError([`${wrong}: --account ${accounts.map((account) => account.name).join(' | ')}`]);
}

/**
 * `apply -f FILE`: writes what the installation file declares and prints the difference; with `--dry-run` it prints only.
 * @throws ConfigError
 */
export async function applyFile(config: Config, args: readonly string[]): Promise<void> {
  const { values } = parse(args, {
    file: { type: 'string', short: 'f' },
    'dry-run': { type: 'boolean', default: false },
  });
  const { file, 'dry-run': dryRun } = values;
  if (typeof file !== 'string') throw new ConfigError(['apply needs a file: npm run inlay -- apply -f FILE']);
  // The whole path, since npm runs this in the root folder, wherever it was called.
  const path = resolve(file);
  const installation = await readInstallation(path, {
    dataFolder: config.dataFolder,
    user: userShapes(config),
    connections: await readConnectionNames(config.warehouses),
  });
  const { accountIds, differences } = await withStore(config, (db) => applyInstallation(db, installation, { dryRun }));
  const head = `${dryRun ? 'Dry run, nothing is written:' : 'Applied'} ${path}: ${[...accountIds.keys()].join(', ')}`;
  process.stdout.write(`${[head, ...differences.flatMap(differenceLines)].join('\n')}\n`);
}

/** `parseArgs`, its complaint as one line. */
function parse<Options extends NonNullable<Parameters<typeof parseArgs>[0]>['options']>(
  args: readonly string[],
  options: Options,
) {
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: false });
  } catch (error) {
    throw new ConfigError([`${reasonOf(error)} (npm run inlay -- --help)`]);
  }
}
