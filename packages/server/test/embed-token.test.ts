/** Embed tokens: what they hold, which keys sign and verify, and the clocks of the nodes. */
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import { deriveEmbedTokenKeys, signEmbedToken, verifyEmbedToken } from '../src/embed/embed-token.ts';

const [one, two, three] = ['one', 'two', 'three'].map((name) => `${name}-${'k3Jq9Zr7Lx5Vb2Nm8Wd4'.repeat(2)}`);
const keysOf = (first: string | undefined, ...others: (string | undefined)[]) =>
  deriveEmbedTokenKeys([first ?? '', ...others.map((other) => other ?? '')]);

const ids = {
  sessionId: '8c8ba0ac-5f0e-4f0c-9f34-3f7b3f1d9f11',
  accountId: 1,
  deploymentId: 2,
  userId: 3,
  scopeId: null,
} as const;
const now = new Date('2026-05-01T10:00:00.500Z');
const expiresAt = new Date(now.getTime() + 3_600_000);
const later = (ms: number): Date => new Date(now.getTime() + ms);
const refused = { code: 'UNAUTHENTICATED' };

test.each([null, 7])('holds ids only: scope %s', async (scopeId) => {
  const token = await signEmbedToken(keysOf(one), { ...ids, scopeId }, { now, expiresAt });
  expect(await verifyEmbedToken(keysOf(one), token, now)).toEqual({ ...ids, scopeId });
  expect(decodeJwt(token)).toEqual({
    sid: ids.sessionId,
    sub: '3',
    acc: 1,
    dep: 2,
    scp: scopeId,
    iss: 'inlay',
    aud: 'inlay-embed-token',
    iat: 1_777_629_600,
    exp: 1_777_633_200,
  });
  expect(decodeProtectedHeader(token)).toEqual({ alg: 'HS256', typ: 'JWT', kid: keysOf(one).signing.id });
});

describe('rotation of the signing secret', () => {
  const sign = (...secrets: Parameters<typeof keysOf>) => signEmbedToken(keysOf(...secrets), ids, { now, expiresAt });
  const verify = (token: string, ...secrets: Parameters<typeof keysOf>) =>
    verifyEmbedToken(keysOf(...secrets), token, now);

  test('the first signs, and all of the list verify', async () => {
    expect(decodeProtectedHeader(await sign(two, one)).kid).toBe(keysOf(two).signing.id);
    for (const token of [await sign(one), await sign(two), await sign(two, one)]) {
      expect(await verify(token, two, one)).toEqual(ids);
      expect(await verify(token, three, one, two)).toEqual(ids);
    }
  });

  test('nodes that do not have the same first one yet take each other’s tokens', async () => {
    const [before, after] = [
      [one, two],
      [two, one],
    ] as const;
    expect(await verify(await sign(...before), ...after)).toEqual(ids);
    expect(await verify(await sign(...after), ...before)).toEqual(ids);
  });

  test('a secret that left the list verifies nothing', async () => {
    await expect(verify(await sign(one), two)).rejects.toMatchObject(refused);
    await expect(verify(await sign(one), two, three)).rejects.toMatchObject(refused);
  });

  test('the key is the one that the token names, and no other of the list', async () => {
    const { signing } = keysOf(one);
    const payload = decodeJwt(await sign(one));
    const forged = new SignJWT(payload).setProtectedHeader({ alg: 'HS256', kid: keysOf(two).signing.id });
    await expect(verify(await forged.sign(signing.bytes), one, two)).rejects.toMatchObject(refused);
  });

  test('key ids differ, do not change, and are not part of the key', () => {
    const all = [one, two, three].map((secret) => keysOf(secret).signing);
    expect(new Set(all.map(({ id }) => id)).size).toBe(3);
    for (const { id, bytes } of all) {
      expect(id).toMatch(/^[\w-]{12}$/);
      expect(Buffer.from(bytes).toString('base64url')).not.toContain(id);
    }
    expect(keysOf(one).signing.id).toBe(keysOf(one, two).signing.id);
  });
});

/** Milliseconds between the clock of the node that signed and that of the node that looks. */
test.each([
  ['its own clock', 0, true],
  ['60 s behind', -60_000, true],
  ['61 s behind', -61_500, false],
  ['an hour behind', -3_600_000, false],
  ['at its end', 3_600_000 - 500, true],
  ['within 60 s after', 3_600_000 + 58_999, true],
  ['60 s after', 3_600_000 + 59_500, false],
  ['a day after', 86_400_000, false],
])('%s: a token is taken: %s', async (_name, ms, isTaken) => {
  const token = await signEmbedToken(keysOf(one), ids, { now, expiresAt });
  const verified = verifyEmbedToken(keysOf(one), token, later(ms));
  if (isTaken) expect(await verified).toEqual(ids);
  else await expect(verified).rejects.toMatchObject(refused);
});

test.each([
  ['no algorithm', { alg: 'none' }],
  ['another algorithm', { alg: 'HS512' }],
])('%s is refused', async (_name, header) => {
  const { signing } = keysOf(one);
  const token = await signEmbedToken(keysOf(one), ids, { now, expiresAt });
  const [, payload, signature] = token.split('.');
  const head = Buffer.from(JSON.stringify({ typ: 'JWT', kid: signing.id, ...header })).toString('base64url');
  for (const end of ['', signature]) {
    await expect(verifyEmbedToken(keysOf(one), `${head}.${payload}.${end}`, now)).rejects.toMatchObject(refused);
  }
});
