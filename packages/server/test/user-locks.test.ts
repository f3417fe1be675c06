/** Who waits for whom: flights that overlap, one of which is held just before its commit. On PostgreSQL, with two ways into it. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openDatabase } from '../src/store/database.ts';
import type { Schema } from '../src/store/schema.ts';
import type { FlightCall } from '../src/users/flight-state.ts';
import { resolveUsers } from '../src/users/resolve-users.ts';
import { type Definitions, type ExternalUserSettings, type Scope, tenantWide } from '../src/users/user-call.ts';
import { openTestDatabase, type TestDatabase } from './databases.ts';
import { type SeededAccount, seedAccount } from './seed.ts';

const now = new Date('2026-03-01T12:00:00Z');
const acme: Scope = { kind: 'embed-tenant', embedTenantName: 'acme-inc' };
const waitMs = 20_000;

interface Asked extends Partial<Pick<ExternalUserSettings, 'groups' | 'lifetime'>> {
  readonly externalId: string;
  readonly scope?: Scope;
  readonly definitions?: Partial<Definitions>;
}

describe('flights that overlap', () => {
  let database: TestDatabase;
  let db: Kysely<Schema>;
  let otherNode: Kysely<Schema>;
  let account: SeededAccount;
  let number = 0;
  beforeAll(async () => {
    database = await openTestDatabase('postgres');
    db = database.db;
    otherNode = await openDatabase(database.store);
  });
  afterAll(async () => {
    await otherNode.destroy();
    await database.close();
  });
  beforeEach(async () => {
    number += 1;
    account = await seedAccount(db, `demo${number}`, number);
  });

  const callOf = ({ externalId, scope = tenantWide, definitions, ...settings }: Asked): FlightCall => ({
    accountId: account.accountId,
    deploymentId: account.deploymentId,
    scope,
    definitions: definitions === undefined ? null : { groups: [], attributes: [], ...definitions },
    settings: {
      kind: 'external',
      externalId,
      email: undefined,
      userProfile: undefined,
      userAttributes: undefined,
      groups: undefined,
      lifetime: { kind: 'unchanged' },
      ...settings,
    },
    limits: { externalUsersMax: 3, ephemeralUsersMax: 3 },
  });
  /** @returns the codes of the refusals, or `ok`. */
  async function fly(by: Kysely<Schema>, asked: readonly Asked[], beforeCommit = async () => {}): Promise<string[]> {
    const outcomes: string[] = [];
    const settle = (_call: FlightCall, outcome: object): void => {
      outcomes.push('code' in outcome ? String(outcome.code) : 'ok');
    };
    await resolveUsers(by, { calls: asked.map(callOf), now, write: beforeCommit, settle });
    return outcomes;
  }
  /** A flight that has written everything, and does not commit before it is told to. */
  async function held(asked: readonly Asked[]): Promise<{ release(): Promise<string[]> }> {
    const reached = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const flight = fly(db, asked, () => {
      reached.resolve();
      return released.promise;
    });
    await Promise.race([reached.promise, flight]);
    return {
      release() {
        released.resolve();
        return flight;
      },
    };
  }
  /** Resolves when somebody waits for an advisory lock. */
  async function somebodyWaits(): Promise<void> {
    const deadline = Date.now() + waitMs;
    while (Date.now() < deadline) {
      const { rows } = await sql`
        select 1 from pg_locks where locktype = 'advisory' and not granted
          and database = (select oid from pg_database where datname = current_database())`.execute(db);
      if (rows.length > 0) return;
      await pause(5);
    }
    throw new Error('Nobody waits.');
  }
  const groupsOf = async (externalId: string): Promise<string[]> => {
    const { rows } = await sql<{ name: string }>`
      select g.name from users u join user_groups ug on ug.user_id = u.id join groups g on g.id = ug.group_id
      where u.account_id = ${account.accountId} and u.external_id = ${externalId} order by 1`.execute(db);
    return rows.map(({ name }) => name);
  };

  test('over one user: the second decides over what the first has made', async () => {
    await fly(db, [{ externalId: 'seven', groups: ['merchant'] }]);
    const first = await held([{ externalId: 'seven', groups: ['merchant', 'merchant_admin'] }]);
    const second = fly(otherNode, [{ externalId: 'seven', groups: ['platform_team'] }]);
    await somebodyWaits();
    expect([await first.release(), await second]).toEqual([['ok'], ['ok']]);
    expect(await groupsOf('seven')).toEqual(['platform_team']);
  });

  test('over a name that is new: it is one user', async () => {
    const first = await held([{ externalId: 'new', lifetime: { kind: 'ephemeral', ttlSeconds: 9 } }]);
    const second = fly(otherNode, [{ externalId: 'new', groups: ['merchant'] }]);
    await somebodyWaits();
    expect([await first.release(), await second]).toEqual([['ok'], ['ok']]);
    const { rows } =
      await sql`select 1 from users where account_id = ${account.accountId} and kind = 'external'`.execute(db);
    expect(rows).toHaveLength(1);
  });

  test('over the last place in the account: one gets it', async () => {
    await fly(db, [{ externalId: 'a' }, { externalId: 'b' }]);
    const first = await held([{ externalId: 'c' }]);
    const second = fly(otherNode, [{ externalId: 'd' }]);
    await somebodyWaits();
    expect([await first.release(), await second]).toEqual([['ok'], ['EXTERNAL_USER_LIMIT']]);
  });

  test('over the definitions of an embed tenant: the type is that of the first', async () => {
    const define = (type: 'string' | 'number') => ({ attributes: [{ name: 'level', type }] });
    const first = await held([{ externalId: 'a', scope: acme, definitions: define('string') }]);
    const second = fly(otherNode, [{ externalId: 'b', scope: acme, definitions: define('number') }]);
    await somebodyWaits();
    expect([await first.release(), await second]).toEqual([['ok'], ['ATTRIBUTE_TYPE_IMMUTABLE']]);
  });

  test('in opposite orders: they end all the same', async () => {
    const names = ['a', 'b', 'c'];
    await fly(
      db,
      names.map((externalId) => ({ externalId })),
    );
    const first = await held(names.map((externalId) => ({ externalId, groups: ['merchant'] })));
    const others = [names.toReversed(), ['b', 'c', 'a'], ['c', 'b']].map((order) =>
      fly(
        otherNode,
        order.map((externalId) => ({ externalId, groups: ['platform_team'] })),
      ),
    );
    await somebodyWaits();
    await first.release();
    expect((await Promise.all(others)).flat()).toEqual(Array(8).fill('ok'));
    for (const name of names) expect(await groupsOf(name)).toEqual(['platform_team']);
  });

  test('nobody waits who changes nothing, or something else', async () => {
    await fly(db, [{ externalId: 'seven' }, { externalId: 'eight' }]);
    const first = await held([{ externalId: 'seven', groups: ['merchant'] }]);
    // As before the first one, which is not committed.
    expect(await fly(otherNode, [{ externalId: 'seven', groups: [] }])).toEqual(['ok']);
    expect(await fly(otherNode, [{ externalId: 'eight', groups: ['merchant'] }])).toEqual(['ok']);
    expect(await fly(otherNode, [{ externalId: 'nine' }])).toEqual(['ok']);
    expect(await first.release()).toEqual(['ok']);
    expect(await groupsOf('seven')).toEqual(['merchant']);
  });
});
