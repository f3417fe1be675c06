/**
 * Limits on how often: per API key, per user, and per address that shows credentials that do not open (http-api.md). They hold
 * in this process; with several nodes, each counts for itself.
 */
import { isIPv6 } from 'node:net';
import { InlayError } from '../errors.ts';
import type { AccountLimits } from '../store/schema.ts';
import { createRateBuckets } from './rate-buckets.ts';

/** The limits of the process, per minute. */
export interface RateLimitSettings {
  readonly keyRequestsPerMinuteMax: number;
  readonly userRequestsPerMinuteMax: number;
  readonly failedAuthenticationsPerMinuteMax: number;
}

/** Who is counted: an API key, a user with an embed token, or the user whom an API key names. */
export type Counted =
  | { readonly kind: 'key'; readonly keyId: number }
  | { readonly kind: 'user'; readonly userId: number }
  | { readonly kind: 'named-user'; readonly accountId: number; readonly name: string };

/** The counters of a process. */
export interface RateLimits {
  /**
   * Counts a request. `ofAccount`: what the account has instead of the process's limits.
   * @returns null, or the refusal (RATE_LIMITED): then the request was not counted.
   */
  count(counted: Counted, ofAccount: AccountLimits): InlayError | null;
  /**
   * Counts a credential from the address that did not open.
   * @returns null, or the refusal (RATE_LIMITED) to answer with instead: then it was not counted.
   */
  countFailure(address: string): InlayError | null;
  /**
   * Counts a refusal that the audit log would keep. Whoever may do nothing could otherwise fill it, and nobody could empty it.
   * @returns whether it is one of the first {@link auditedRefusalsPerMinuteMax} of a minute, which are kept
   */
  countRefusal(counted: Counted): boolean;
}

/** Refusals of one key or user that the audit log keeps, per minute: more than people make, and enough to see what goes on. */
export const auditedRefusalsPerMinuteMax = 60;

/** Keys and users, and addresses, that are counted at a time; beyond, the ones that were idle for longest start anew. */
const countedMax = 200_000;

/** Makes counters that have counted nothing. `nowMs` never goes back. */
export function createRateLimits(settings: RateLimitSettings, nowMs: () => number): RateLimits {
  const requests = createRateBuckets(countedMax, nowMs);
  const failures = createRateBuckets(countedMax, nowMs);
  const refusals = createRateBuckets(countedMax, nowMs);
  return {
    count(counted, ofAccount) {
      const name = counted.kind === 'key' ? 'keyRequestsPerMinuteMax' : 'userRequestsPerMinuteMax';
      const wait = requests.take(keyOf(counted), ofAccount[name] ?? settings[name]);
      const whose = counted.kind === 'key' ? 'this API key' : 'this user';
      return wait === null ? null : limited(`Too many requests of ${whose}`, wait);
    },
    countFailure(address) {
      const wait = failures.take(networkOf(address), settings.failedAuthenticationsPerMinuteMax);
      return wait === null ? null : limited('Too many credentials from this address did not open', wait);
    },
    countRefusal: (counted) => refusals.take(keyOf(counted), auditedRefusalsPerMinuteMax) === null,
  };
}

function keyOf(counted: Counted): string {
  switch (counted.kind) {
    case 'key':
      return `key ${counted.keyId}`;
    case 'user':
      return `user ${counted.userId}`;
    case 'named-user':
      return `named ${counted.accountId} ${counted.name.toLowerCase()}`;
  }
}

/** An IPv4 address; of an IPv6 address the first 64 bits, since whoever has one has all of those. */
function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const plain = address.replace(/%.*$/, '').toLowerCase();
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(plain)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = '', tail] = plain.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  const groups = [...left, ...Array.from({ length: zeros }, () => '0'), ...right];
  return groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':');
}

function limited(message: string, retryAfterSeconds: number): InlayError {
  return new InlayError('RATE_LIMITED', message, { retryAfterSeconds });
}
