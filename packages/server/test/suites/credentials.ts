/** Every kind of credential that a caller may come with: wrong ones of each sort, and valid ones of each reach. */
import { createHmac, randomBytes } from 'node:crypto';
import { callHttp, jsonCall } from './http-check.ts';
import { makeAccount, makeKey, memberOf, openSuiteWorld, type SuiteWorld, sessionTokenPath } from './world.ts';

/** What the `Authorization` header holds; undefined: there is none. */
export type Authorization = string | undefined;

/** The credentials, by what they are. */
export interface Credentials {
  /** Each is 401 wherever a credential is asked for. */
  readonly wrong: Readonly<Record<string, Authorization>>;
  readonly adminKey: string;
  readonly memberKey: string;
  /** A member key that the list of its deployments allows on deployment 1. */
  readonly keyOfDeployment: string;
  /** An admin key whose list has another deployment only. */
  readonly keyOfOtherDeployment: string;
  readonly keyOfOtherAccount: string;
  /** The holder is `demo`'s user `matrix`, on deployment 1. */
  readonly token: string;
  readonly tokenInCreatorMode: string;
  readonly tokenOfOtherDeployment: string;
  readonly tokenOfOtherAccount: string;
}

const day = 86_400_000;
/** What a token may be taken late, for clocks that differ. */
const skew = 61_000;

/**
 * Makes all of them in a world whose clock stands still. It moves the clock by a little more than a day: the life of a token.
 * @throws Error when the world's clock runs.
 */
export async function makeCredentials(world: SuiteWorld): Promise<Credentials> {
  const start = world.now().getTime();
  const expired = await world.token({ externalId: 'matrix' });
  world.setNow(new Date(start + day + skew));
  if (world.now().getTime() !== start + day + skew) throw new Error('The clock of the world runs.');

  const deployment = await secondDeployment(world);
  const now = world.now();
  const rights = { groups: ['merchant'], userAttributes: [{ name: 'merchant_id', value: 7 }] };
  const token = await world.token({ externalId: 'matrix', ...rights });
  const adminKey = `Api-Key ${world.demo.apiKey}`;
  return {
    wrong: {
      'no header': undefined,
      'an empty header': '',
      'a scheme alone': 'Api-Key',
      'a key without a scheme': world.demo.apiKey,
      'another scheme': `Basic ${Buffer.from(`demo:${world.demo.apiKey}`).toString('base64')}`,
      'two keys': `${adminKey} ${world.demo.apiKey}`,
      'a key as a token': `Bearer ${world.demo.apiKey}`,
      'a token as a key': token.replace('Bearer', 'Api-Key'),
      'a key of the wrong form': 'Api-Key sk-',
      'a key in other letters': `Api-Key ${world.demo.apiKey.toUpperCase()}`,
      'the beginning of a key': adminKey.slice(0, -1),
      'an unknown key': `Api-Key sk-${randomBytes(32).toString('base64url')}`,
      'a revoked key': await makeKey(world, { revokedAt: now }),
      'an expired key': await makeKey(world, { expiresAt: now }),
      'an expired token': expired,
      'a token of a revoked session': await revokedToken(world),
      'a token of a deleted user': await tokenOfEnded(world, 'matrix-deleted', async (userId) => {
        await world.db.deleteFrom('users').where('id', '=', userId).execute();
      }),
      'a token of an inactive user': await tokenOfEnded(world, 'matrix-inactive', async (userId) => {
        await world.db.updateTable('users').set({ is_active: false }).where('id', '=', userId).execute();
      }),
      'a token of a session whose key was revoked': await tokenOfRevokedKey(world),
      'a token that another secret signed': await tokenOfAnotherServer(),
      'a token with another signature': resigned(token),
      'a token without a signature': token.slice(0, token.lastIndexOf('.') + 1),
      'a token with alg none': unsigned(token),
      'a token that was changed': changed(token),
      'half a token': token.slice(0, token.length / 2),
      'a sessionId as a token': `Bearer ${String(memberOf((await world.mint({ externalId: 'matrix' })).json, 'sessionId'))}`,
    },
    adminKey,
    memberKey: await makeKey(world, { role: 'member' }),
    keyOfDeployment: await makeKey(world, { role: 'member', deploymentIds: [1, deployment] }),
    keyOfOtherDeployment: await makeKey(world, { deploymentIds: [deployment] }),
    keyOfOtherAccount: `Api-Key ${world.other.apiKey}`,
    token,
    tokenInCreatorMode: await world.token({
      externalId: 'matrix',
      creatorMode: true,
      embedTenantName: 'matrix-tenant',
      groupDefinitions: [{ name: 'merchant' }],
      userAttributeDefinitions: [{ name: 'merchant_id', type: 'number' }],
      ...rights,
    }),
    tokenOfOtherDeployment: await world.token({ externalId: 'matrix', deploymentId: deployment }),
    tokenOfOtherAccount: await world.token({ externalId: 'matrix' }, world.other),
  };
}

/** A second deployment of `demo`. */
async function secondDeployment({ db, demo }: SuiteWorld): Promise<number> {
  const id = 40;
  const warehouse = JSON.stringify({ type: 'duckdb', folder: 'nowhere' });
  const row = { id, account_id: demo.accountId, name: 'second', model_folder: 'nowhere', warehouse };
  await db.insertInto('deployments').values(row).execute();
  return id;
}

async function revokedToken(world: SuiteWorld): Promise<string> {
  const sessionId = memberOf((await world.mint({ externalId: 'matrix' })).json, 'sessionId');
  const exchanged = await world.call('POST', sessionTokenPath, { sessionId }, null);
  const token = String(memberOf(exchanged.json, 'token'));
  world.secrets.add(token);
  const revoked = await world.call('POST', '/api/v1/embed/session/revoke', { sessionId });
  if (revoked.status !== 204) throw new Error(`session/revoke: ${revoked.text}`);
  return `Bearer ${token}`;
}

async function tokenOfEnded(
  world: SuiteWorld,
  externalId: string,
  end: (userId: number) => Promise<void>,
): Promise<string> {
  const token = await world.token({ externalId });
  const { id } = await world.db
    .selectFrom('users')
    .select('id')
    .where('external_id', '=', externalId)
    .executeTakeFirstOrThrow();
  await end(id);
  return token;
}

async function tokenOfRevokedKey(world: SuiteWorld): Promise<string> {
  const account = await makeAccount(world, { name: 'matrix-revoked' });
  const token = await world.token({ externalId: 'matrix' }, account);
  await world.db
    .updateTable('api_keys')
    .set({ revoked_at: world.now() })
    .where('account_id', '=', account.accountId)
    .execute();
  return token;
}

/** A token of a server of its own, which has the same accounts, users and sessions' numbers, and another secret. */
async function tokenOfAnotherServer(): Promise<string> {
  const world = await openSuiteWorld('pglite');
  try {
    return await world.token({ externalId: 'matrix' });
  } finally {
    await world.close();
  }
}

const partsOf = (token: string): readonly [header: string, payload: string, signature: string] => {
  const [header = '', payload = '', signature = ''] = token.slice('Bearer '.length).split('.');
  return [header, payload, signature];
};

function resigned(token: string): string {
  const [header, payload] = partsOf(token);
  const signature = createHmac('sha256', randomBytes(32)).update(`${header}.${payload}`).digest('base64url');
  return `Bearer ${header}.${payload}.${signature}`;
}

function unsigned(token: string): string {
  const [header, payload] = partsOf(token);
  const none = { ...JSON.parse(Buffer.from(header, 'base64url').toString()), alg: 'none' };
  return `Bearer ${Buffer.from(JSON.stringify(none)).toString('base64url')}.${payload}.`;
}

/** The same token for the next user, under the old signature. */
function changed(token: string): string {
  const [header, payload, signature] = partsOf(token);
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
  const other = Buffer.from(JSON.stringify({ ...claims, sub: String(Number(claims.sub) + 1) })).toString('base64url');
  return `Bearer ${header}.${other}.${signature}`;
}

/** Whether a token opens anything at all: for a check that the valid ones are. */
export async function isAccepted(world: SuiteWorld, authorization: string): Promise<boolean> {
  const reply = await callHttp(world.server.url, jsonCall('POST', sessionTokenPath, authorization));
  return reply.status === 200;
}
