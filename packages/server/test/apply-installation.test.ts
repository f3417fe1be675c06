import { type Kysely, sql } from 'kysely';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { applyInstallation } from '../src/installation/apply-installation.ts';
import { differenceLines } from '../src/installation/difference.ts';
import type { Installation, InstallationAccount } from '../src/installation/installation-file.ts';
import type { News } from '../src/store/changes.ts';
import type { Schema } from '../src/store/schema.ts';
import { databaseKinds, openTestDatabase } from './databases.ts';

function accountOf(more: Partial<InstallationAccount> = {}): InstallationAccount {
  return {
    name: 'shop',
    plan: 'enterprise',
    useCreatorMode: true,
    userAttributes: [
      { name: 'merchant_id', type: 'number', displayName: 'Merchant', description: 'whose rows' },
      { name: 'regions', type: 'string_array', defaultValue: '["north"]' },
    ],
    groups: [{ name: 'merchant', description: 'one shop' }, { name: 'team' }],
    internalUsers: [
      {
        username: 'ann',
        email: 'ann@example.com',
        groups: ['team'],
        userAttributes: [
          { name: 'merchant_id', value: 7 },
          { name: 'regions', value: null },
        ],
      },
      { username: 'bob', email: 'bob@example.com', userAttributes: [] },
    ],
    deployments: [{ id: 1, name: 'd', model: '/m', warehouse: { type: 'duckdb', folder: '/w' } }],
    agents: [{ id: 1, deployment: 1, name: 'analyst' }],
    ...more,
  };
}

const installationOf = (...accounts: InstallationAccount[]): Installation => ({ accounts });

/** Everything an installation writes, in a fixed order. */
async function dump(db: Kysely<Schema>) {
  const tables = ['accounts', 'deployments', 'agents', 'groups', 'user_attributes', 'users'] as const;
  const rows = await Promise.all(tables.map((table) => db.selectFrom(table).selectAll().orderBy('id').execute()));
  const memberships = await db.selectFrom('user_groups').selectAll().orderBy('user_id').orderBy('group_id').execute();
  const values = await db
    .selectFrom('user_attribute_values')
    .selectAll()
    .orderBy('user_id')
    .orderBy('attribute_id')
    .execute();
  return { rows, memberships, values };
}

async function groupsOf(db: Kysely<Schema>, username: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('user_groups')
    .innerJoin('users', 'users.id', 'user_id')
    .innerJoin('groups', 'groups.id', 'group_id')
    .select('groups.name')
    .where('username', '=', username)
    .orderBy('groups.name')
    .execute();
  return rows.map(({ name }) => name);
}

describe.each(databaseKinds)('applying an installation on %s', async (kind) => {
  const { db, openChanges, close } = await openTestDatabase(kind);
  afterAll(close);
  beforeEach(async () => {
    await db.deleteFrom('accounts').execute();
  });
  const apply = (...accounts: InstallationAccount[]) => applyInstallation(db, installationOf(...accounts));

  test('writes what the file declares', async () => {
    const { accountIds } = await apply(accountOf());
    const { rows, memberships, values } = await dump(db);
    const [accounts, deployments, agents, groups, attributes, users] = rows;
    const accountId = accountIds.get('shop');
    expect(accounts).toMatchObject([{ id: accountId, name: 'shop', plan: 'enterprise', use_creator_mode: true }]);
    expect(deployments).toStrictEqual([
      {
        id: 1,
        account_id: accountId,
        name: 'd',
        model_folder: '/m',
        agents_folder: null,
        warehouse: { type: 'duckdb', folder: '/w' },
      },
    ]);
    expect(agents).toStrictEqual([{ id: 1, account_id: accountId, deployment_id: 1, name: 'analyst' }]);
    expect(groups).toMatchObject([
      { name: 'merchant', description: 'one shop' },
      { name: 'team', description: null },
    ]);
    expect(attributes).toMatchObject([
      { name: 'merchant_id', type: 'number', display_name: 'Merchant', default_value: null, description: 'whose rows' },
      { name: 'regions', type: 'string_array', display_name: null, default_value: '["north"]' },
    ]);
    expect(users).toMatchObject([
      { kind: 'internal', username: 'ann', email: 'ann@example.com', is_active: true, expires_at: null },
      { kind: 'internal', username: 'bob', email: 'bob@example.com' },
    ]);
    expect(memberships).toHaveLength(1);
    expect(values.map(({ value }) => value)).toStrictEqual([7, null]);
  });

  test('the folder of the agents is kept where the file no longer says it, and told where it changes', async () => {
    const deployment = { id: 1, name: 'd', model: '/m', warehouse: { type: 'duckdb' as const, folder: '/w' } };
    await apply(accountOf());
    const { differences } = await apply(accountOf({ deployments: [{ ...deployment, agents: '/a' }] }));
    expect(differences[0]?.changes).toMatchObject([
      { kind: 'changed', fields: [{ field: 'agents', before: null, after: '/a' }] },
    ]);
    await apply(accountOf({ deployments: [deployment] }));
    expect((await dump(db)).rows[1]).toMatchObject([{ agents_folder: '/a' }]);
  });

  test('a warehouse may become a connection, which is told, and applying it again changes nothing', async () => {
    await apply(accountOf());
    const connected = accountOf({
      deployments: [{ id: 1, name: 'd', model: '/m', warehouse: { connection: 'shop' } }],
    });
    const { differences } = await apply(connected);
    expect(differences.flatMap(differenceLines).join('\n')).toContain('warehouse.connection none → "shop"');
    const again = await apply(connected);
    expect(again.differences.flatMap(differenceLines).join('\n')).toContain('nothing changed');
  });

  test('again changes nothing', async () => {
    await apply(accountOf());
    const before = await dump(db);
    await apply(accountOf());
    expect(await dump(db)).toStrictEqual(before);
  });

  test('at once from two sides gives the same as once', async () => {
    await Promise.all([apply(accountOf()), apply(accountOf())]);
    const before = await dump(db);
    await apply(accountOf());
    expect(await dump(db)).toStrictEqual(before);
    expect(before.rows.map((rows) => rows.length)).toStrictEqual([1, 1, 1, 2, 2, 2]);
  });

  test('updates what differs, and keeps what the file no longer says', async () => {
    await apply(accountOf());
    const before = await dump(db);
    await apply(
      accountOf({
        plan: 'starter',
        useCreatorMode: false,
        userAttributes: [{ name: 'merchant_id', type: 'number', displayName: 'Shop' }],
        groups: [{ name: 'merchant' }, { name: 'new' }],
        internalUsers: [
          { username: 'ANN', email: 'ann@shop.example', userAttributes: [{ name: 'merchant_id', value: 8 }] },
        ],
        deployments: [{ id: 1, name: 'e', model: '/n', warehouse: { type: 'duckdb', folder: '/v' } }],
        agents: [{ id: 1, deployment: 1, name: 'helper' }],
      }),
    );
    const { rows, memberships, values } = await dump(db);
    const [accounts, deployments, agents, groups, attributes, users] = rows;
    expect(accounts).toMatchObject([{ plan: 'starter', use_creator_mode: false }]);
    expect(deployments).toMatchObject([{ id: 1, name: 'e', model_folder: '/n', warehouse: { folder: '/v' } }]);
    expect(agents).toMatchObject([{ id: 1, name: 'helper' }]);
    expect(groups).toMatchObject([{ name: 'merchant', description: 'one shop' }, { name: 'team' }, { name: 'new' }]);
    expect(attributes).toMatchObject([{ display_name: 'Shop', description: 'whose rows' }, { name: 'regions' }]);
    expect(users).toMatchObject([{ username: 'ANN', email: 'ann@shop.example' }, { username: 'bob' }]);
    expect(users?.map(({ id }) => id)).toStrictEqual(before.rows[5]?.map(({ id }) => id));
    expect(memberships).toStrictEqual(before.memberships);
    expect(values.map(({ value }) => value)).toStrictEqual([8, null]);
  });

  test('given groups replace the memberships, omitted ones keep them', async () => {
    const ann = { username: 'ann', email: 'ann@example.com', userAttributes: [] };
    await apply(accountOf());
    await apply(accountOf({ internalUsers: [{ ...ann, groups: ['merchant'] }] }));
    expect(await groupsOf(db, 'ann')).toStrictEqual(['merchant']);
    await apply(accountOf({ internalUsers: [ann] }));
    expect(await groupsOf(db, 'ann')).toStrictEqual(['merchant']);
    await apply(accountOf({ internalUsers: [{ ...ann, groups: [] }] }));
    expect(await groupsOf(db, 'ann')).toStrictEqual([]);
  });

  test('two users may swap their addresses', async () => {
    await apply(accountOf());
    const user = (username: string, email: string) => ({ username, email, userAttributes: [] });
    await apply(accountOf({ internalUsers: [user('ann', 'bob@example.com'), user('bob', 'ann@example.com')] }));
    const users = await db.selectFrom('users').select(['username', 'email']).orderBy('username').execute();
    expect(users).toStrictEqual(
      [user('ann', 'bob@example.com'), user('bob', 'ann@example.com')].map(({ username, email }) => ({
        username,
        email,
      })),
    );
  });

  test('accounts may have the same names inside', async () => {
    const deployments: InstallationAccount['deployments'] = [
      { id: 2, name: 'd', model: '/m', warehouse: { type: 'duckdb', folder: '/w' } },
    ];
    await apply(
      accountOf(),
      accountOf({ name: 'other', deployments, agents: [{ id: 2, deployment: 2, name: 'analyst' }] }),
    );
    expect((await dump(db)).rows.map((rows) => rows.length)).toStrictEqual([2, 2, 2, 4, 4, 4]);
  });

  describe('settings of the account', () => {
    const read = () =>
      db.selectFrom('accounts').select(['allowed_origins', 'frame_ancestors', 'limits']).executeTakeFirstOrThrow();

    test('are written where the file has them, and stay where it has not', async () => {
      await apply(
        accountOf({
          allowedOrigins: ['https://app.example.com'],
          frameAncestors: ['self', 'https://app.example.com'],
          limits: { externalUsersMax: 5, ephemeralUsersMax: 7 },
        }),
      );
      const settings = {
        allowed_origins: ['https://app.example.com'],
        frame_ancestors: ['self', 'https://app.example.com'],
        limits: { externalUsersMax: 5, ephemeralUsersMax: 7 },
      };
      expect(await read()).toStrictEqual(settings);
      await apply(accountOf());
      expect(await read()).toStrictEqual(settings);
    });

    test('lists are replaced; a limit is set, or with null given back to the process, and the others stay', async () => {
      await apply(accountOf({ allowedOrigins: ['https://a.example.com'], limits: { externalUsersMax: 5 } }));
      await apply(accountOf({ allowedOrigins: [], limits: { externalUsersMax: null, ephemeralUsersMax: 9 } }));
      expect(await read()).toMatchObject({ allowed_origins: [], limits: { ephemeralUsersMax: 9 } });
      expect(Object.keys((await read()).limits)).toStrictEqual(['ephemeralUsersMax']);
    });
  });

  describe('the difference', () => {
    const linesOf = async (account: InstallationAccount, dryRun = false) => {
      const { differences } = await applyInstallation(db, installationOf(account), { dryRun });
      return differences.flatMap(differenceLines);
    };
    const changed = accountOf({
      plan: 'starter',
      limits: { externalUsersMax: 5 },
      groups: [{ name: 'merchant', description: 'many shops' }, { name: 'new' }],
      internalUsers: [
        { username: 'ANN', email: 'ann@example.com', groups: [], userAttributes: [{ name: 'merchant_id', value: 8 }] },
      ],
      deployments: [{ id: 1, name: 'd', model: '/n', warehouse: { type: 'duckdb', folder: '/w' } }],
    });
    const expected = [
      'Account shop: 5 changed, 3 unchanged',
      '  ~ account shop: plan "enterprise" → "starter"',
      '  ~ account shop: limits.externalUsersMax none → 5',
      '  ~ group merchant: description "one shop" → "many shops"',
      '  + group new',
      '  ~ deployment 1: model "/m" → "/n"',
      '  ~ internal user ANN: username "ann" → "ANN"',
      '  ~ internal user ANN: groups ["team"] → []',
      '  ~ internal user ANN: userAttributes.merchant_id 7 → 8',
    ];

    test('says what is added and what changed, from what to what', async () => {
      expect(await linesOf(accountOf())).toStrictEqual([
        'Account shop: 9 changed, 0 unchanged',
        '  + account shop',
        '  + user attribute merchant_id',
        '  + user attribute regions',
        '  + group merchant',
        '  + group team',
        '  + deployment 1',
        '  + agent 1',
        '  + internal user ann',
        '  + internal user bob',
      ]);
      expect(await linesOf(changed)).toStrictEqual(expected);
    });

    test('no text breaks a line or steers the terminal', async () => {
      const hostile = '\u009b2J\u202e\n\u{e0001}x';
      const account = (value: string) =>
        accountOf({
          groups: [{ name: hostile, description: value }],
          userAttributes: [{ name: hostile, type: 'string' }],
          internalUsers: [
            { username: 'ann', email: 'ann@example.com', groups: [], userAttributes: [{ name: hostile, value }] },
          ],
        });
      const lines = [...(await linesOf(account('a'))), ...(await linesOf(account(hostile)))];
      expect(lines.filter((line) => /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(line))).toEqual([]);
      const shown = '"\\u009b2J\\u202e\\n\\udb40\\udc01x"';
      expect(lines).toContain(`  ~ group ${shown}: description "a" → ${shown}`);
    });

    test('again: nothing', async () => {
      await apply(accountOf());
      await db.transaction().execute(async (tx) => {
        await sql`select set_config('inlay.audit_retention', 'on', true)`.execute(tx);
        await tx.deleteFrom('audit_log').execute();
      });
      expect(await linesOf(accountOf())).toStrictEqual(['Account shop: nothing changed (9)']);
      expect(await db.selectFrom('audit_log').select('action').execute()).toStrictEqual([]);
    });

    test('of a dry run is the same, and nothing is written', async () => {
      expect((await linesOf(accountOf(), true)).length).toBe(10);
      expect(await db.selectFrom('accounts').select('id').execute()).toStrictEqual([]);
      await apply(accountOf());
      const before = await dump(db);
      const audited = await db.selectFrom('audit_log').select('id').execute();
      expect(await linesOf(changed, true)).toStrictEqual(expected);
      expect(await dump(db)).toStrictEqual(before);
      expect(await db.selectFrom('audit_log').select('id').execute()).toStrictEqual(audited);
    });

    test('a dry run refuses what an apply refuses', async () => {
      const wrong = accountOf({ agents: [{ id: 1, deployment: 9, name: 'lost' }] });
      await expect(linesOf(wrong, true)).rejects.toMatchObject({ name: 'ConfigError' });
    });

    test('is audited, without values', async () => {
      const { accountIds } = await apply(accountOf());
      await linesOf(changed);
      const entries = await db
        .selectFrom('audit_log')
        .select(['actor_kind', 'action', 'object_kind', 'object_name', 'result', 'details'])
        .where('account_id', '=', accountIds.get('shop') ?? 0)
        .orderBy('id')
        .execute();
      expect(entries.slice(0, 9).map(({ action }) => action)).toStrictEqual([
        'account.create',
        'user-attribute.create',
        'user-attribute.create',
        'group.create',
        'group.create',
        'deployment.create',
        'agent.create',
        'internal-user.create',
        'internal-user.create',
      ]);
      expect(entries.slice(9)).toMatchObject([
        { action: 'account.update', details: { fields: ['plan', 'limits.externalUsersMax'] } },
        { action: 'group.update', details: { fields: ['description'] } },
        { action: 'group.create', object_name: 'new' },
        { action: 'deployment.update', details: { fields: ['model'] } },
        {
          actor_kind: 'operator',
          action: 'internal-user.update',
          object_kind: 'internal-user',
          object_name: 'ANN',
          result: 'OK',
          details: { fields: ['username', 'groups', 'userAttributes.merchant_id'] },
        },
      ]);
    });
  });

  test('every node is told of the deployments, and of accounts and users that changed, but not by a dry run', async () => {
    const changes = await openChanges();
    const heard: News[] = [];
    using _subscription = changes.subscribe((news) => heard.push(news));
    await expect.poll(() => changes.heardUntil(), { timeout: 10_000 }).toBeGreaterThan(0);
    const { accountIds } = await apply(accountOf());
    await applyInstallation(db, installationOf(accountOf({ plan: 'starter' })), { dryRun: true });
    await apply(accountOf());
    const account = { kind: 'account', id: accountIds.get('shop') };
    const deployment = { kind: 'deployment', id: 1 };
    await expect
      .poll(() => heard.filter(({ kind }) => kind !== 'gap'), { timeout: 10_000 })
      .toStrictEqual([account, deployment, deployment]);
  });

  describe('refuses, and then writes nothing at all', () => {
    const refused: [string, InstallationAccount, string[]][] = [
      [
        'another type of an attribute',
        accountOf({ userAttributes: [{ name: 'merchant_id', type: 'string' }] }),
        ['Account shop: user attribute merchant_id: cannot change type from number to string'],
      ],
      [
        'ids of another account',
        accountOf({ name: 'thief' }),
        [
          'Account thief: deployment 1 belongs to another account',
          'Account thief: agent 1: the account has no deployment 1',
        ],
      ],
      [
        'an agent of another account',
        accountOf({
          name: 'thief',
          deployments: [{ id: 9, name: 'd', model: '/m', warehouse: { type: 'duckdb', folder: '/w' } }],
          agents: [{ id: 1, deployment: 9, name: 'mine now' }],
        }),
        ['Account thief: agent 1 belongs to another account'],
      ],
      [
        'unknown groups and attributes, and values of the wrong type',
        accountOf({
          internalUsers: [
            {
              username: 'cy',
              email: 'cy@example.com',
              groups: ['nobody'],
              userAttributes: [
                { name: 'colour', value: 'red' },
                { name: 'merchant_id', value: 'seven' },
              ],
            },
          ],
        }),
        [
          'Account shop: internal user cy: there is no group nobody',
          'Account shop: internal user cy: there is no user attribute colour',
          'Account shop: internal user cy: the value of merchant_id is not a number',
        ],
      ],
      [
        "a username that is another's address, in any case",
        accountOf({
          internalUsers: [{ username: 'BOB@example.com', email: 'cy@example.com', userAttributes: [] }],
        }),
        [
          'Account shop: internal user BOB@example.com: bob@example.com is the name or address of another internal user',
        ],
      ],
      [
        "an address that is another's username or address",
        accountOf({
          internalUsers: [
            { username: 'cy', email: 'Bob@Example.com', userAttributes: [] },
            { username: 'dee', email: 'dee@example.com', userAttributes: [] },
          ],
        }),
        ['Account shop: internal user cy: bob@example.com is the name or address of another internal user'],
      ],
    ];

    test.each(refused)('%s', async (_name, account, problems) => {
      await apply(accountOf());
      const before = await dump(db);
      const first = accountOf({ name: 'before', deployments: [], agents: [] });
      await expect(apply(first, account)).rejects.toMatchObject({ name: 'ConfigError', problems });
      expect(await dump(db)).toStrictEqual(before);
    });
  });
});
