/**
 * `model explain` and `model query`: a query as any user, explained or answered, on the store itself. Whoever can do this can read the store
 * and the warehouse anyway; it goes through the one door, and what was asked as whom is audited.
 */
import { parseArgs } from 'node:util';
import type { Cell } from '@inlay/contract/chat.ts';
import { userShapes } from '@inlay/contract/user.ts';
import type { CompiledQuery } from '@inlay/semantic/compile-sql.ts';
import type { LoadLimits } from '@inlay/semantic/query/load-shape.ts';
import { timeZoneNamed } from '@inlay/semantic/query/zoned-time.ts';
import { SemanticError } from '@inlay/semantic/semantic-error.ts';
import type { Kysely } from 'kysely';
import { type Config, ConfigError } from '../config.ts';
import { InlayError, reasonOf } from '../errors.ts';
import { openLog } from '../log.ts';
import { openDeployments } from '../query/deployments.ts';
import { compileLoads } from '../query/load-data.ts';
import { type Door, openDoor } from '../query/run-query.ts';
import { appendAuditEntry, operator } from '../store/audit-log.ts';
import { noChanges } from '../store/changes.ts';
import type { Schema } from '../store/schema.ts';
import { findExternalUser, findInternalUser } from '../users/find-user.ts';
import type { Principal } from '../users/principal.ts';
import { createAskers } from '../users/subject.ts';
import { readConnections } from '../warehouse/connections-file.ts';
import { explanationText, jsonOf, subjectText } from './explanation-text.ts';
import { plain } from './http-client.ts';
import { tableText } from './print.ts';
import { findAccount, withStore } from './store-commands.ts';

/** Where results and remarks go. */
export interface Print {
  readonly out: (text: string) => void;
  readonly say: (text: string) => void;
}

const options = {
  as: { type: 'string' },
  'as-internal': { type: 'string' },
  'embed-tenant': { type: 'string' },
  'security-context': { type: 'string' },
  deployment: { type: 'string' },
  branch: { type: 'string' },
  account: { type: 'string' },
  timezone: { type: 'string' },
  rows: { type: 'string' },
  json: { type: 'boolean' },
} as const;

/** A query as typed. */
interface Asked {
  /** Semantic SQL, or a JSON query as it was parsed. */
  readonly query: { readonly sql: string } | { readonly json: unknown };
  readonly user: { readonly kind: 'external' | 'internal'; readonly name: string };
  readonly embedTenant: string | undefined;
  readonly securityContext: Principal['securityContext'];
  readonly deployment: number | undefined;
  readonly branch: string | undefined;
  readonly account: string | undefined;
  readonly timezone: string | undefined;
  readonly rowsMax: number;
  readonly isJson: boolean;
}

/** `model explain`. @throws ConfigError */
export async function explainAs(config: Config, args: readonly string[], print: Print): Promise<void> {
  const asked = parseAsked(config, args);
  await atDoor(config, asked, 'data.explain', async (door) => {
    const { query } = asked;
    const explanation = 'sql' in query ? door.explain(query.sql) : door.explainLoad(query.json);
    const { subject } = door;
    print.out(
      asked.isJson
        ? jsonOf({ subject, ...explanation })
        : `${subjectText(asked.user, subject)}\n\n${explanationText(explanation)}`,
    );
  });
}

/** `model query`. @throws ConfigError, also when the query is refused or fails */
export async function queryAs(config: Config, args: readonly string[], print: Print): Promise<void> {
  const asked = parseAsked(config, args);
  await atDoor(config, asked, 'data.query', async (door) => {
    const stopped = new AbortController();
    const stop = (): void => stopped.abort(new ConfigError(['Stopped.']));
    process.once('SIGINT', stop);
    try {
      const result = await door.run(compileAsked(door, asked.query, config), stopped.signal);
      const rows: Cell[][] = [];
      for await (const chunk of result.rows()) {
        rows.push(...chunk.slice(0, asked.rowsMax - rows.length));
        if (rows.length >= asked.rowsMax) break;
      }
      const { columns, rowCount } = result;
      if (asked.isJson) return print.out(JSON.stringify({ schema: columns, data: rows, totalRows: rowCount }));
      const names = uniqueNames(columns.map(({ name }) => plain(name)));
      print.out(rows.length === 0 ? names.join('  ') : tableText(rows.map((row) => toRecord(names, row))));
      print.say(
        `${rowCount} ${rowCount === 1 ? 'row' : 'rows'}${rowCount > rows.length ? `, the first ${rows.length} of them` : ''}`,
      );
    } finally {
      process.removeListener('SIGINT', stop);
    }
  });
}

/** A JSON query that compares ranges of time is asked for its first. @throws SemanticError */
function compileAsked(door: Door, query: Asked['query'], limits: LoadLimits): CompiledQuery {
  if ('sql' in query) return door.compile(query.sql);
  const [first] = compileLoads(door, { queries: [query.json], now: new Date(), limits });
  if (first === undefined) throw new Error('a JSON query without a query');
  return first.compiled;
}

const toRecord = (names: readonly string[], row: readonly Cell[]): Readonly<Record<string, Cell>> =>
  Object.fromEntries(names.map((name, at) => [name, row[at] ?? null]));

/** Columns may have one name twice; a record may not. */
function uniqueNames(names: readonly string[]): readonly string[] {
  const seen = new Map<string, number>();
  return names.map((name) => {
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    return count === 1 ? name : `${name} (${count})`;
  });
}

/** Opens the door to data as the user who is meant, works there, and keeps who was asked for. @throws ConfigError */
async function atDoor(
  config: Config,
  asked: Asked,
  action: string,
  work: (door: Door) => Promise<void>,
): Promise<void> {
  const log = openLog({ write: (line: string) => void process.stderr.write(line) });
  // What a model that loads warns of is told by `model check`.
  log.level = 'error';
  const connections = await readConnections(config.warehouses);
  await withStore(config, async (db) => {
    await using deployments = openDeployments({ db, log, changes: noChanges, connections });
    const { queryTimeoutMs, unprotectedRelations } = config;
    const clock = () => new Date();
    const account = await findAccount(db, asked.account);
    const deploymentId = await findDeployment(db, account.id, asked.deployment);
    const principal = await findPrincipal(db, account.id, asked, clock());
    const audit = (result: 'OK' | InlayError['code']) =>
      appendAuditEntry(
        db,
        {
          accountId: account.id,
          actor: operator,
          action,
          object: { kind: 'user', id: String(principal.userId), name: asked.user.name },
          result,
          details: { deploymentId },
        },
        clock(),
      );
    try {
      const branch =
        asked.branch === undefined ? null : await deployments.findBranch(account.id, deploymentId, asked.branch);
      const askers = createAskers({ db, changes: noChanges, unprotectedRelations });
      const query = { askers, deployments, clock, queryTimeoutMs, sqlLimits: config };
      await work(await openDoor(query, { principal, deploymentId, branch, timezone: asked.timezone }));
    } catch (error) {
      if (!(error instanceof InlayError) && !(error instanceof SemanticError)) throw error;
      await audit(error.code);
      const { code, message, hint, cause } = error;
      // What the server's log would say of it: the operator has no other place to read it.
      const more = [hint, cause === undefined ? undefined : reasonOf(cause)];
      throw new ConfigError([
        plain(`${code}: ${message}`),
        ...more.flatMap((text) => (text ? [plain(`  ${text}`)] : [])),
      ]);
    }
    await audit('OK');
  });
}

async function findDeployment(db: Kysely<Schema>, accountId: number, wanted: number | undefined): Promise<number> {
  const rows = await db
    .selectFrom('deployments')
    .select('id')
    .where('account_id', '=', accountId)
    .orderBy('id')
    .execute();
  const [found, another] = wanted === undefined ? rows : rows.filter(({ id }) => id === wanted);
  if (found !== undefined && another === undefined) return found.id;
  if (rows.length === 0) throw new ConfigError(['The account has no deployment.']);
  const wrong = wanted === undefined ? 'Say which deployment' : `There is no deployment ${wanted}`;
  throw new ConfigError([`${wrong}: --deployment ${rows.map(({ id }) => id).join(' | ')}`]);
}

/** Reads only: a user who does not exist is not made. */
async function findPrincipal(db: Kysely<Schema>, accountId: number, asked: Asked, now: Date): Promise<Principal> {
  const { user, embedTenant, securityContext } = asked;
  const userId =
    user.kind === 'internal'
      ? await findInternalUser(db, accountId, user.name)
      : await findExternalUser(db, accountId, user.name, now);
  if (userId === null) throw new ConfigError([`There is no active ${user.kind} user ${plain(user.name)}.`]);
  return {
    accountId,
    userId,
    sessionId: null,
    apiKeyId: null,
    scopeId: embedTenant === undefined ? null : await findEmbedTenant(db, accountId, embedTenant),
    securityContext,
  };
}

async function findEmbedTenant(db: Kysely<Schema>, accountId: number, name: string): Promise<number> {
  const found = await db
    .selectFrom('embed_tenants')
    .select('id')
    .where('account_id', '=', accountId)
    .where('name', '=', name)
    .executeTakeFirst();
  if (found === undefined) throw new ConfigError([`There is no embed tenant ${plain(name)}.`]);
  return found.id;
}

function parseAsked(config: Config, args: readonly string[]): Asked {
  const help = '(npm run inlay -- model explain --help)';
  const { values, positionals } = parse(args, help);
  const [sql, more] = positionals;
  if (sql === undefined || more !== undefined) throw new ConfigError([`One query is needed, in quotes ${help}`]);
  const { as: external, 'as-internal': internal } = values;
  if ((external === undefined) === (internal === undefined)) {
    throw new ConfigError([`Say as whom: either --as or --as-internal ${help}`]);
  }
  const isInternal = internal !== undefined;
  if (isInternal && values['embed-tenant'] !== undefined) {
    throw new ConfigError(['Internal users have no rights of embed tenants: --embed-tenant goes with --as']);
  }
  return {
    query: /^\s*\{/.test(sql) ? { json: parseJson(sql, help) } : { sql },
    user: { kind: isInternal ? 'internal' : 'external', name: internal ?? external ?? '' },
    embedTenant: values['embed-tenant'],
    securityContext: parseSecurityContext(config, values['security-context']),
    deployment: wholeNumber('deployment', values.deployment, 2_147_483_647),
    branch: values.branch,
    account: values.account,
    timezone: parseTimezone(values.timezone),
    rowsMax: wholeNumber('rows', values.rows, 100_000) ?? 100,
    isJson: values.json ?? false,
  };
}

function parse(args: readonly string[], help: string) {
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: true });
  } catch (error) {
    throw new ConfigError([`${reasonOf(error)} ${help}`]);
  }
}

/** A query that begins as an object of JSON. */
function parseJson(text: string, help: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ConfigError([`The query begins as JSON, and is none: ${reasonOf(error)} ${help}`]);
  }
}

function wholeNumber(name: string, text: string | undefined, max: number): number | undefined {
  if (text === undefined) return undefined;
  const value = /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > max) throw new ConfigError([`--${name} must be a whole number from 1 to ${max}.`]);
  return value;
}

/** As the settings of a session take it. */
function parseTimezone(name: string | undefined): string | undefined {
  if (name === undefined || timeZoneNamed(name) !== null) return name;
  throw new ConfigError(['--timezone must be the name of an IANA timezone, such as Europe/Berlin.']);
}

/** Under the limits of a session's. */
function parseSecurityContext(config: Config, text: string | undefined): Principal['securityContext'] {
  if (text === undefined) return {};
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new ConfigError(['--security-context must be a JSON object.']);
  }
  const parsed = userShapes(config).securityContext.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new ConfigError(parsed.error.issues.map(({ message }) => `--security-context: ${message}`));
}
