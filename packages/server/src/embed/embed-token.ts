/**
 * The embed token: a signed JWT that holds ids only (http-api.md). What its user may see, and whether the session still
 * stands, is read from the store at every request.
 */
import { hkdfSync } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';
import { InlayError } from '../errors.ts';

const algorithm = 'HS256';
const issuer = 'inlay';
const audience = 'inlay-embed-token';

/** The ids in a token. */
export interface EmbedTokenIds {
  readonly sessionId: string;
  readonly accountId: number;
  readonly deploymentId: number;
  readonly userId: number;
}

/** The key that signs embed tokens, derived from the installation's secret so that the secret serves other ends too. */
export type EmbedTokenKey = Uint8Array;

const claimsSchema = z.object({
  sid: z.uuid(),
  sub: z.string().regex(/^\d{1,10}$/),
  acc: z.int().positive(),
  dep: z.int().positive(),
});

/** The signing key of an installation. */
export function deriveEmbedTokenKey(signingSecret: string): EmbedTokenKey {
  return new Uint8Array(hkdfSync('sha256', signingSecret, '', 'inlay embed token v1', 32));
}

/** A token that holds until `expiresAt`, which is cut to whole seconds. */
export async function signEmbedToken(
  key: EmbedTokenKey,
  ids: EmbedTokenIds,
  { now, expiresAt }: { readonly now: Date; readonly expiresAt: Date },
): Promise<string> {
  return new SignJWT({
    sid: ids.sessionId,
    sub: String(ids.userId),
    acc: ids.accountId,
    dep: ids.deploymentId,
    iss: issuer,
    aud: audience,
    iat: Math.floor(now.getTime() / 1000),
    exp: Math.floor(expiresAt.getTime() / 1000),
  })
    .setProtectedHeader({ alg: algorithm, typ: 'JWT' })
    .sign(key);
}

/**
 * The ids in a token that this installation signed and that has not expired: it ends at its `exp`, to the second. `iat` is not
 * compared, so that a node whose clock is behind takes the tokens of one that is ahead.
 * @throws InlayError UNAUTHENTICATED, whatever is wrong with it.
 */
export async function verifyEmbedToken(key: EmbedTokenKey, token: string, now: Date): Promise<EmbedTokenIds> {
  try {
    const { payload } = await jwtVerify(token, key, {
      algorithms: [algorithm],
      issuer,
      audience,
      currentDate: now,
      requiredClaims: ['exp', 'iat'],
    });
    const claims = claimsSchema.parse(payload);
    return { sessionId: claims.sid, accountId: claims.acc, deploymentId: claims.dep, userId: Number(claims.sub) };
  } catch (cause) {
    throw new InlayError('UNAUTHENTICATED', 'The embed token is not valid', { cause });
  }
}
