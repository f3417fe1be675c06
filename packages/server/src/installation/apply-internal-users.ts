/** Writes the internal users of an account of an installation, with their memberships and attribute values. */
import type { AttributeType } from '@inlay/contract/user.ts';
import type { Transaction } from 'kysely';
import type { Schema } from '../store/schema.ts';
import { isValueOfType } from '../users/attribute-values.ts';
import type { InstallationAccount } from './installation-file.ts';

/** Ids by name. */
export type Names = ReadonlyMap<string, number>;

/** Attribute definitions by name. */
export type Attributes = ReadonlyMap<string, { readonly id: number; readonly type: AttributeType }>;

type User = InstallationAccount['internalUsers'][number];
/** A user of the file beside their id in the store. */
type Written = { readonly id: number; readonly user: User };

/**
 * Adds and updates internal users, told apart by username in any case. Given groups replace the memberships; given values
 * are set, other values stay. What is wrong goes to `report`, and the caller then rolls back.
 */
export async function applyInternalUsers(
  db: Transaction<Schema>,
  given: {
    readonly accountId: number;
    readonly users: readonly User[];
    readonly groupIds: Names;
    readonly attributes: Attributes;
  },
  report: (problem: string) => void,
): Promise<void> {
  if (given.users.length === 0) return;
  const memberships = findMemberships(given, report);
  const values = findValues(given, report);
  const written = await writeUsers(db, given, report);
  if (written === undefined) return;

  const exact = written.filter(({ user }) => user.groups !== undefined).map(({ id }) => id);
  if (exact.length > 0) await db.deleteFrom('user_groups').where('user_id', 'in', exact).execute();
  const groupRows = written.flatMap(({ id, user }) =>
    (memberships.get(user) ?? []).map((groupId) => ({ user_id: id, group_id: groupId })),
  );
  if (groupRows.length > 0) await db.insertInto('user_groups').values(groupRows).execute();
  const valueRows = written.flatMap(({ id, user }) =>
    (values.get(user) ?? []).map((value) => ({ user_id: id, ...value })),
  );
  if (valueRows.length > 0) {
    await db
      .insertInto('user_attribute_values')
      .values(valueRows)
      .onConflict((conflict) =>
        conflict.columns(['user_id', 'attribute_id']).doUpdateSet((set) => ({ value: set.ref('excluded.value') })),
      )
      .execute();
  }
}

function findMemberships(
  { users, groupIds }: { readonly users: readonly User[]; readonly groupIds: Names },
  report: (problem: string) => void,
): ReadonlyMap<User, readonly number[]> {
  const memberships = new Map<User, number[]>();
  for (const user of users) {
    const ids: number[] = [];
    for (const name of user.groups ?? []) {
      const id = groupIds.get(name);
      if (id === undefined) report(`internal user ${user.username}: there is no group ${name}`);
      else ids.push(id);
    }
    memberships.set(user, ids);
  }
  return memberships;
}

function findValues(
  { users, attributes }: { readonly users: readonly User[]; readonly attributes: Attributes },
  report: (problem: string) => void,
): ReadonlyMap<User, readonly { readonly attribute_id: number; readonly value: string | null }[]> {
  const values = new Map<User, { attribute_id: number; value: string | null }[]>();
  for (const user of users) {
    const rows: { attribute_id: number; value: string | null }[] = [];
    for (const { name, value } of user.userAttributes) {
      const attribute = attributes.get(name);
      if (attribute === undefined) report(`internal user ${user.username}: there is no user attribute ${name}`);
      else if (!isValueOfType(attribute.type, value)) {
        report(`internal user ${user.username}: the value of ${name} is not a ${attribute.type}`);
      } else rows.push({ attribute_id: attribute.id, value: value === null ? null : JSON.stringify(value) });
    }
    values.set(user, rows);
  }
  return values;
}

/** @returns undefined when a name or address is somebody else's, which it then has reported. */
async function writeUsers(
  db: Transaction<Schema>,
  { accountId, users }: { readonly accountId: number; readonly users: readonly User[] },
  report: (problem: string) => void,
): Promise<readonly Written[] | undefined> {
  const existing = await db
    .selectFrom('users')
    .select(['id', 'username', 'email'])
    .where('account_id', '=', accountId)
    .where('kind', '=', 'internal')
    .execute();
  const stored = new Map(existing.map((user) => [keyOf(user.username), user]));
  const taken = findTaken(existing, users);
  if (taken.length > 0) {
    for (const { user, name } of taken) {
      report(`internal user ${user.username}: ${name} is the name or address of another internal user`);
    }
    return undefined;
  }

  const pairs = users.map((user) => ({ user, before: stored.get(keyOf(user.username)) }));
  const changed = pairs.flatMap(({ user, before }) =>
    before !== undefined && (before.username !== user.username || before.email !== user.email)
      ? [{ user, id: before.id }]
      : [],
  );
  // An address may move from one user to another: all changed ones give theirs up first, since it is unique at any instant.
  const changedIds = changed.map(({ id }) => id);
  if (changedIds.length > 0) await db.updateTable('users').set({ email: null }).where('id', 'in', changedIds).execute();
  for (const { user, id } of changed) {
    await db.updateTable('users').set({ username: user.username, email: user.email }).where('id', '=', id).execute();
  }
  const added = pairs.filter(({ before }) => before === undefined).map(({ user }) => user);
  const inserted =
    added.length === 0
      ? []
      : await db
          .insertInto('users')
          .values(
            added.map(({ username, email }) => ({ account_id: accountId, kind: 'internal' as const, username, email })),
          )
          .returning(['id', 'username'])
          .execute();
  const ids = new Map([...existing, ...inserted].map(({ id, username }) => [keyOf(username), id]));
  return users.flatMap((user) => {
    const id = ids.get(keyOf(user.username));
    return id === undefined ? [] : [{ id, user }];
  });
}

/** Usernames and addresses of the file that belong to another user of the store, who keeps them. */
function findTaken(
  existing: readonly { readonly username: string | null; readonly email: string | null }[],
  users: readonly User[],
): readonly { readonly user: User; readonly name: string }[] {
  const inFile = new Set(users.map(({ username }) => keyOf(username)));
  const owners = new Map<string, string>();
  for (const { username, email } of existing) {
    const owner = keyOf(username);
    owners.set(owner, owner);
    // Who is in the file gets the address of the file, so that the stored one becomes free.
    if (email !== null && !inFile.has(owner)) owners.set(keyOf(email), owner);
  }
  return users.flatMap((user) =>
    [...new Set([keyOf(user.username), keyOf(user.email)])]
      .filter((name) => owners.has(name) && owners.get(name) !== keyOf(user.username))
      .map((name) => ({ user, name })),
  );
}

function keyOf(name: string | null): string {
  return name?.toLowerCase() ?? '';
}
