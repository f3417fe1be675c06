/** Writes an installation into the store: adds what is new and updates what differs. */
import { type Kysely, sql, type Transaction } from 'kysely';
import { ConfigError } from '../config.ts';
import type { Schema } from '../store/schema.ts';
import { parseDefaultValue } from '../users/attribute-values.ts';
import { type Attributes, applyInternalUsers, type Names } from './apply-internal-users.ts';
import type { Installation, InstallationAccount } from './installation-file.ts';

/** The accounts of the installation: name to id. */
export interface Applied {
  readonly accountIds: ReadonlyMap<string, number>;
}

/** Names the lock by which two processes that apply at once wait for each other. Any number does, as long as it is ours. */
const applyLock = 8_046_110;

/** The columns by which names of groups and attributes are unique: 0 is the tenant-wide scope, the one of the file. */
const nameInScope = sql`account_id, coalesce(embed_tenant_id, 0), name`;

/**
 * Applies an installation in one transaction: all of it or nothing. Applying it again changes nothing. It adds and updates;
 * **what is absent from the file is not deleted**: accounts, groups, attributes, users, deployments, agents, and optional
 * texts stay as they are. One list is exact: `groups` of an internal user, when given, replaces the memberships, so that a
 * right taken out of the file is gone.
 * @throws ConfigError with the problems of the first step that has some, one line each: an attribute cannot change type; an id of a
 * deployment or agent is another account's; an unknown group, attribute or deployment; a value or default that does not fit
 * its type; a username or address that another internal user has (they share one name space, http-api.md).
 */
export async function applyInstallation(db: Kysely<Schema>, installation: Installation): Promise<Applied> {
  return db.transaction().execute(async (transaction) => {
    await sql`select pg_advisory_xact_lock(${applyLock})`.execute(transaction);
    const accountIds = new Map<string, number>();
    for (const account of installation.accounts) {
      accountIds.set(account.name, await applyAccount(transaction, account));
    }
    return { accountIds };
  });
}

async function applyAccount(db: Transaction<Schema>, account: InstallationAccount): Promise<number> {
  const { id: accountId } = await db
    .insertInto('accounts')
    .values({ name: account.name, plan: account.plan, use_creator_mode: account.useCreatorMode })
    .onConflict((conflict) =>
      conflict.column('name').doUpdateSet({ plan: account.plan, use_creator_mode: account.useCreatorMode }),
    )
    .returning('id')
    .executeTakeFirstOrThrow();

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
  for (const { name, type, defaultValue } of account.userAttributes) {
    const before = attributes.get(name)?.type;
    if (before !== undefined && before !== type) {
      report(`user attribute ${name}: cannot change type from ${before} to ${type}`);
    }
    if (defaultValue !== undefined && parseDefaultValue(type, defaultValue) === undefined) {
      report(`user attribute ${name}: the default value is not a ${type}`);
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
      account.deployments.map(({ id, name, model, warehouse }) => ({
        id,
        account_id: accountId,
        name,
        model_folder: model,
        warehouse: JSON.stringify(warehouse),
      })),
    )
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet((set) => ({
          name: set.ref('excluded.name'),
          model_folder: set.ref('excluded.model_folder'),
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
