/** Secrets that Inlay gives out (API keys, session ids): made from 256 random bits, kept only as a hash. */
import { createHash, randomBytes } from 'node:crypto';

/**
 * A new secret: `prefix` and 43 characters of base64url, which carry 256 random bits (http-api.md).
 * So long a secret needs no slow hash: it cannot be guessed.
 */
export function newSecret(prefix: string): string {
  return prefix + randomBytes(32).toString('base64url');
}

/** The SHA-256 of a secret as 64 hexadecimal digits: what the store keeps and looks up instead of the secret. */
export function hashSecret(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}
