/** Writes an installation into the store: adds what is new and updates what differs. */
import { type Kysely, sql, type Transaction } from 'kysely';
import { ConfigError } from '../config.ts';
import { type Actor, appendAuditEntry, operator } from '../store/audit-log.ts';
import { publish } from '../store/changes.ts';
import type { Schema } from '../store/schema.ts';
import { lockInternalUsers } from '../users/internal-users.ts';
import { type Attributes, applyInternalUsers, type Names } from './apply-internal-users.ts';
import { type Difference, differenceOf } from './difference.ts';
import { readEntries } from './installation-entries.ts';
import type { Installation, InstallationAccount } from './installation-file.ts';

/** The accounts of the installation, name to id, and what has changed in each. */
export interface Applied {
  readonly accountIds: ReadonlyMap<string, number>;
  readonly differences: readonly Difference[];
}

/** How to apply. */
export interface ApplyOptions {
  /** Writes nothing: the result says what would change. The ids of accounts that would be made are meaningless. */
  readonly dryRun?: boolean;
  /** Who the audit log says it was; an operator at the command line when left out. */
  readonly actor?: Actor;
  readonly now?: Date;
}

/** Names the lock by which two processes that apply at once wait for each other. Any number does, as long as it is ours. */
const applyLock = 8_046_110;

/** The columns by which names of groups and attributes are unique: 0 is the tenant-wide scope, the one of the file. */
const nameInScope = sql`account_id, coalesce(embed_tenant_id, 0), name`;

/**
 * Applies an installation in one transaction: all of it or nothing. Applying it again changes nothing. It adds and updates;
 * **what is absent from the file is not deleted**: accounts, groups, attributes, users, deployments, agents, and optional
 * texts and settings stay as they are. One list is exact: `groups` of an internal user, when given, replaces the memberships, so
 * that a right taken out of the file is gone. Every change is audited. Every node is told of the deployments, changed or not,
 * so that it reads their data models anew.
 * @throws ConfigError with the problems of the first step that has some, one line each: an attribute cannot change type; an id of a
 * deployment or agent is another account's; an unknown group, attribute or deployment; a value that does not fit its
 * attribute's type; a username or address that another internal user has (they share one name space, http-api.md).
 */
export function applyInstallation(
  db: Kysely<Schema>,
  installation: Installation,
  { dryRun = false, actor = operator, now = new Date() }: ApplyOptions = {},
): Promise<Applied> {
  return db
    .transaction()
    .execute(async (transaction) => {
      await sql`select pg_advisory_xact_lock(${applyLock})`.execute(transaction);
      const accountIds = new Map<string, number>();
      const differences: Difference[] = [];
      for (const account of installation.accounts) {
        const before = await readEntries(transaction, account.name);
        const accountId = await applyAccount(transaction, account);
        const difference = differenceOf(account, before, await readEntries(transaction, account.name));
        await tell(transaction, { accountId, account, difference, actor, now });
        accountIds.set(account.name, accountId);
        differences.push(difference);
      }
      const result = { accountIds, differences };
      // The difference was made, not guessed; now it is taken back.
      if (dryRun) throw new RolledBack(result);
      return result;
    })
    .catch((error: unknown) => {
      if (error instanceof RolledBack) return error.applied;
      throw error;
    });
}

/** Ends a transaction that must leave nothing behind, and carries out what it came to. */
class RolledBack extends Error {
  readonly applied: Applied;

  constructor(applied: Applied) {
    super('a dry run');
    this.applied = applied;
  }
}

/** Audits the changes of an account, and tells every node of what it may hold in memory. */
async function tell(
  db: Transaction<Schema>,
  {
    accountId,
    account,
    difference,
    actor,
    now,
  }: {
    readonly accountId: number;
    readonly account: InstallationAccount;
    readonly difference: Difference;
    readonly actor: Actor;
    readonly now: Date;
  },
): Promise<void> {
  for (const change of difference.changes) {
    const { kind, id, name } = change.entry;
    const action = `${kind}.${change.kind === 'added' ? 'create' : 'update'}`;
    const details = change.kind === 'added' ? {} : { fields: change.fields.map(({ field }) => field) };
    const object = { kind, id: String(id), name };
    await appendAuditEntry(db, { accountId, actor, action, object, result: 'OK', details }, now);
    if (kind === 'account') await publish(db, { kind: 'account', id });
    if (kind === 'internal-user' && change.kind === 'changed') await publish(db, { kind: 'user', id });
  }
  for (const { id } of account.deployments) await publish(db, { kind: 'deployment', id });
}

async function applyAccount(db: Transaction<Schema>, account: InstallationAccount): Promise<number> {
  const accountId = await applySettings(db, account);
  await lockInternalUsers(db, accountId);

  const problems: string[] = [];
  const report = (problem: string): void => void problems.push(`Account ${account.name}: ${problem}`);
  const check = (): void => {
    if (problems.length > 0) throw new ConfigError(problems);
  };
  const attributes = await applyAttributes(db, accountId, account, report);
  check();
  const groupIds = await applyGroups(db, accountId, account);
  await applyDeployments(db, accountId, account, report);
  await applyAgents(db, accountId, account, report);
  check();
  await applyInternalUsers(db, { accountId, users: account.internalUsers, groupIds, attributes }, report);
  check();
  return accountId;
}

/** Makes the account or changes its settings; what the file does not say stays. @returns its id */
async function applySettings(db: Transaction<Schema>, account: InstallationAccount): Promise<number> {
  const { name, plan, useCreatorMode, allowedOrigins, frameAncestors, limits = {} } = account;
  const given = {
    plan,
    use_creator_mode: useCreatorMode,
    ...(allowedOrigins === undefined ? {} : { allowed_origins: JSON.stringify(allowedOrigins) }),
    ...(frameAncestors === undefined ? {} : { frame_ancestors: JSON.stringify(frameAncestors) }),
  };
  const { id, limits: stored } = await db
    .insertInto('accounts')
    .values({ name, ...given })
    .onConflict((conflict) => conflict.column('name').doUpdateSet(given))
    .returning(['id', 'limits'])
    .executeTakeFirstOrThrow();
  const merged = Object.entries({ ...stored, ...limits }).filter(([, value]) => value !== null);
  if (Object.keys(limits).length > 0) {
    const next = JSON.stringify(Object.fromEntries(merged));
    await db.updateTable('accounts').set({ limits: next }).where('id', '=', id).execute();
  }
  return id;
}

type Report = (problem: string) => void;

/** @returns all attributes of the account, by name. */
async function applyAttributes(
  db: Transaction<Schema>,
  accountId: number,
  account: InstallationAccount,
  report: Report,
): Promise<Attributes> {
  const existing = await db
    .selectFrom('user_attributes')
    .select(['id', 'name', 'type'])
    .where('account_id', '=', accountId)
    .where('embed_tenant_id', 'is', null)
    .execute();
  const attributes = new Map(existing.map(({ id, name, type }) => [name, { id, type }]));
  for (const { name, type } of account.userAttributes) {
    const before = attributes.get(name)?.type;
    if (before !== undefined && before !== type) {
      report(`user attribute ${name}: cannot change type from ${before} to ${type}`);
    }
  }
  if (account.userAttributes.length === 0) return attributes;
  const written = await db
    .insertInto('user_attributes')
    .values(
      account.userAttributes.map(({ name, type, displayName, defaultValue, description }) => ({
        account_id: accountId,
        name,
        type,
        display_name: displayName ?? null,
        default_value: defaultValue ?? null,
        description: description ?? null,
      })),
    )
    .onConflict((conflict) =>
      conflict.expression(nameInScope).doUpdateSet((set) => ({
        display_name: set.fn.coalesce('excluded.display_name', 'user_attributes.display_name'),
        default_value: set.fn.coalesce('excluded.default_value', 'user_attributes.default_value'),
        description: set.fn.coalesce('excluded.description', 'user_attributes.description'),
      })),
    )
    .returning(['id', 'name', 'type'])
    .execute();
  for (const { id, name, type } of written) attributes.set(name, { id, type });
  return attributes;
}

/** @returns the ids of all groups of the account, by name. */
async function applyGroups(db: Transaction<Schema>, accountId: number, account: InstallationAccount): Promise<Names> {
  if (account.groups.length > 0) {
    await db
      .insertInto('groups')
      .values(
        account.groups.map(({ name, description }) => ({
          account_id: accountId,
          name,
          description: description ?? null,
        })),
      )
      .onConflict((conflict) =>
        conflict.expression(nameInScope).doUpdateSet((set) => ({
          description: set.fn.coalesce('excluded.description', 'groups.description'),
        })),
      )
      .execute();
  }
  const rows = await db
    .selectFrom('groups')
    .select(['id', 'name'])
    .where('account_id', '=', accountId)
    .where('embed_tenant_id', 'is', null)
    .execute();
  return new Map(rows.map(({ name, id }) => [name, id]));
}

async function applyDeployments(
  db: Transaction<Schema>,
  accountId: number,
  account: InstallationAccount,
  report: Report,
) {
  if (account.deployments.length === 0) return;
  const written = await db
    .insertInto('deployments')
    .values(
      account.deployments.map(({ id, name, model, agents = null, warehouse }) => ({
        id,
        account_id: accountId,
        name,
        model_folder: model,
        agents_folder: agents,
        warehouse: JSON.stringify(warehouse),
      })),
    )
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet((set) => ({
          name: set.ref('excluded.name'),
          model_folder: set.ref('excluded.model_folder'),
          agents_folder: set.fn.coalesce('excluded.agents_folder', 'deployments.agents_folder'),
          warehouse: set.ref('excluded.warehouse'),
        }))
        .where('deployments.account_id', '=', accountId),
    )
    .returning('id')
    .execute();
  const ids = new Set(written.map(({ id }) => id));
  for (const { id } of account.deployments) if (!ids.has(id)) report(`deployment ${id} belongs to another account`);
}

async function applyAgents(db: Transaction<Schema>, accountId: number, account: InstallationAccount, report: Report) {
  if (account.agents.length === 0) return;
  const deployments = await db.selectFrom('deployments').select('id').where('account_id', '=', accountId).execute();
  const deploymentIds = new Set(deployments.map(({ id }) => id));
  const agents = account.agents.filter(({ id, deployment }) => {
    if (deploymentIds.has(deployment)) return true;
    report(`agent ${id}: the account has no deployment ${deployment}`);
    return false;
  });
  if (agents.length === 0) return;
  const written = await db
    .insertInto('agents')
    .values(agents.map(({ id, name, deployment }) => ({ id, account_id: accountId, deployment_id: deployment, name })))
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet((set) => ({ name: set.ref('excluded.name'), deployment_id: set.ref('excluded.deployment_id') }))
        .where('agents.account_id', '=', accountId),
    )
    .returning('id')
    .execute();
  const ids = new Set(written.map(({ id }) => id));
  for (const { id } of agents) if (!ids.has(id)) report(`agent ${id} belongs to another account`);
}
