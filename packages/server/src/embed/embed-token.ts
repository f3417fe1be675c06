/**
 * The embed token: a signed JWT that holds ids only (http-api.md). What its user may see, and whether the session still
 * stands, is read from the store at every request.
 */
import { createHash, hkdfSync } from 'node:crypto';
import { errors, jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';
import { InlayError } from '../errors.ts';

const algorithm = 'HS256';
const issuer = 'inlay';
const audience = 'inlay-embed-token';

/**
 * By how many seconds the clocks of nodes may differ. It concerns what the token itself says of time. Sessions and users end
 * to the instant: that is the store's to say, at every request.
 */
const clockSkewSecondsMax = 60;

/** The ids in a token. */
export interface EmbedTokenIds {
  readonly sessionId: string;
  readonly accountId: number;
  readonly deploymentId: number;
  readonly userId: number;
  /** The embed tenant of a creator-mode session; null: the session is tenant-wide. */
  readonly scopeId: number | null;
}

/** A key for embed tokens and the name under which tokens refer to it. */
export interface EmbedTokenKey {
  readonly id: string;
  readonly bytes: Uint8Array;
}

/** The keys of an installation: the first signs, every one of them verifies. */
export interface EmbedTokenKeys {
  readonly signing: EmbedTokenKey;
  readonly byId: ReadonlyMap<string, EmbedTokenKey>;
}

const claimsSchema = z.object({
  sid: z.uuid(),
  sub: z.string().regex(/^[1-9]\d{0,9}$/),
  acc: z.int().positive(),
  dep: z.int().positive(),
  scp: z.int().positive().nullable(),
  iat: z.number(),
});

/** The key of one signing secret, derived from it so that the secret may serve other ends too. */
function deriveKey(signingSecret: string): EmbedTokenKey {
  const bytes = new Uint8Array(hkdfSync('sha256', signingSecret, '', 'inlay embed token v1', 32));
  // Twelve characters of a hash tell the keys of an installation apart, and nothing else.
  return { bytes, id: createHash('sha256').update('kid').update(bytes).digest('base64url').slice(0, 12) };
}

/** The keys of an installation's signing secrets: the first signs, the others verify what they signed before (settings.md). */
export function deriveEmbedTokenKeys([first, ...others]: readonly [string, ...string[]]): EmbedTokenKeys {
  const signing = deriveKey(first);
  const keys = [signing, ...others.map(deriveKey)];
  return { signing, byId: new Map(keys.map((key) => [key.id, key])) };
}

/** A token that holds until `expiresAt`, which is cut to whole seconds. */
export async function signEmbedToken(
  { signing }: EmbedTokenKeys,
  { sessionId, userId, accountId, deploymentId, scopeId }: EmbedTokenIds,
  { now, expiresAt }: { readonly now: Date; readonly expiresAt: Date },
): Promise<string> {
  return new SignJWT({
    sid: sessionId,
    sub: String(userId),
    acc: accountId,
    dep: deploymentId,
    scp: scopeId,
    iss: issuer,
    aud: audience,
    iat: Math.floor(now.getTime() / 1000),
    exp: Math.floor(expiresAt.getTime() / 1000),
  })
    .setProtectedHeader({ alg: algorithm, typ: 'JWT', kid: signing.id })
    .sign(signing.bytes);
}

/**
 * The ids in a token that this installation signed and that holds at `now`: from 60 s before its `iat` until 60 s after its
 * `exp`, so that a node whose clock differs by as much takes the tokens of the others, and one that is used at its last second
 * does not fail. No session and no user lives longer by that: the store ends them to the instant.
 * @throws InlayError UNAUTHENTICATED, whatever is wrong with it.
 */
export async function verifyEmbedToken(
  { byId }: Pick<EmbedTokenKeys, 'byId'>,
  token: string,
  now: Date,
): Promise<EmbedTokenIds> {
  try {
    const keyOf = ({ kid }: { readonly kid?: string }): Uint8Array => {
      const key = kid === undefined ? undefined : byId.get(kid);
      if (key === undefined) throw new errors.JWTInvalid('The token was signed by no key of this installation.');
      return key.bytes;
    };
    const { payload } = await jwtVerify(token, keyOf, {
      algorithms: [algorithm],
      issuer,
      audience,
      currentDate: now,
      clockTolerance: clockSkewSecondsMax,
      requiredClaims: ['exp', 'iat'],
    });
    const { sid, sub, acc, dep, scp, iat } = claimsSchema.parse(payload);
    if (iat > Math.floor(now.getTime() / 1000) + clockSkewSecondsMax) {
      throw new errors.JWTClaimValidationFailed('The token comes from the future.', payload, 'iat');
    }
    return { sessionId: sid, accountId: acc, deploymentId: dep, userId: Number(sub), scopeId: scp };
  } catch (cause) {
    throw new InlayError('UNAUTHENTICATED', 'The embed token is not valid', { cause });
  }
}
