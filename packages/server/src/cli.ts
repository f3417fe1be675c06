/** `npm run inlay -- …`: what an operator does without a running server. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Kysely } from 'kysely';
import { type Config, ConfigError, failureLines, readConfig } from './config.ts';
import { reasonOf } from './errors.ts';
import { createApiKey } from './installation/api-keys.ts';
import { applyInstallation } from './installation/apply-installation.ts';
import { readInstallation } from './installation/installation-file.ts';
import { lockDataFolder, makeDataFolder } from './store/data-folder.ts';
import { openDatabase } from './store/database.ts';
import { migrate } from './store/migrate.ts';
import type { Schema } from './store/schema.ts';

const help = `Usage: npm run inlay -- <command>

Commands:
  keys create [--account NAME] [--role admin|member]
      Makes an API key and prints it, once. The account may be left out when there is only one; the role is admin.
  apply -f FILE
      Adds and updates what the installation file declares (see examples/storefront/inlay.yml). Deletes nothing.

The settings are those of the server: DATABASE_URL, INLAY_DATA_DIR and the others. With the embedded store, stop the
server first.
`;

/** Runs `work` on the migrated store; with the embedded one, under the lock that the server takes as well. */
async function withStore<T>(config: Config, work: (db: Kysely<Schema>) => Promise<T>): Promise<T> {
  await using stack = new AsyncDisposableStack();
  if (config.store.kind === 'embedded') {
    await makeDataFolder(config.dataFolder);
    stack.use(await lockDataFolder(config.dataFolder));
  }
  const db = stack.adopt(await openDatabase(config.store), (open) => open.destroy());
  await migrate(db);
  return await work(db);
}

async function createKey(config: Config, args: readonly string[]): Promise<void> {
  const { values } = parse(args, { account: { type: 'string' }, role: { type: 'string', default: 'admin' } });
  const { account: name, role } = values;
  if (role !== 'admin' && role !== 'member') throw new ConfigError(['--role must be admin or member.']);
  const made = await withStore(config, async (db) => {
    const account = await findAccount(db, name);
    return { account: account.name, ...(await createApiKey(db, { accountId: account.id, role })) };
  });
  process.stderr.write(`A key of the account ${made.account}, role ${role}. It is shown this once only:\n`);
  process.stdout.write(`${made.key}\n`);
}

/** The account of that name; without a name, the only one there is. @throws ConfigError that says which there are. */
async function findAccount(db: Kysely<Schema>, name: string | undefined): Promise<{ id: number; name: string }> {
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

async function apply(config: Config, args: readonly string[]): Promise<void> {
  const { file } = parse(args, { file: { type: 'string', short: 'f' } }).values;
  if (typeof file !== 'string') throw new ConfigError(['apply needs a file: npm run inlay -- apply -f FILE']);
  // The whole path, since npm runs this in the root folder, wherever it was called.
  const path = resolve(file);
  const installation = await readInstallation(path, config.dataFolder);
  const { accountIds } = await withStore(config, (db) => applyInstallation(db, installation));
  process.stdout.write(`Applied ${path}: ${[...accountIds.keys()].join(', ')}\n`);
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

async function run(args: readonly string[]): Promise<void> {
  const [command, second, ...rest] = args;
  if (command === undefined || args.includes('--help') || args.includes('-h')) process.stdout.write(help);
  else if (command === 'keys' && second === 'create') await createKey(readConfig(process.env), rest);
  else if (command === 'apply') await apply(readConfig(process.env), args.slice(1));
  else throw new ConfigError([`There is no command ${args.join(' ')} (npm run inlay -- --help)`]);
}

try {
  await run(process.argv.slice(2));
} catch (error) {
  for (const line of failureLines(error)) process.stderr.write(`${line}\n`);
  process.exitCode = 1;
}
