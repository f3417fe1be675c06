import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRateBuckets } from '../src/http/rate-buckets.ts';
import { createRateLimits, type RateLimits } from '../src/http/rate-limits.ts';

describe('buckets', () => {
  test('a minute has so many at once, and each comes back in its share of the minute', () => {
    let nowMs = 1_000;
    const buckets = createRateBuckets(10, () => nowMs);
    const take = () => buckets.take('a', 6);
    expect([take(), take(), take(), take(), take(), take(), take()]).toEqual([null, null, null, null, null, null, 10]);
    nowMs += 9_500;
    expect(take()).toBe(1);
    nowMs += 500;
    expect([take(), take()]).toEqual([null, 10]);
    expect(buckets.take('b', 6)).toBeNull();
    nowMs += 60_000;
    expect([1, 2, 3, 4, 5, 6, 7].map(take)).toEqual([null, null, null, null, null, null, 10]);
  });

  test('never more than a bucket and its refill, and whoever waits as told gets one', () => {
    const steps = fc.array(fc.record({ afterMs: fc.nat(30_000), key: fc.constantFrom('a', 'b') }), { maxLength: 200 });
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 20 }), (sequence, max) => {
        let nowMs = 0;
        const buckets = createRateBuckets(100, () => nowMs);
        const given = { a: [] as number[], b: [] as number[] };
        for (const { afterMs, key } of sequence) {
          nowMs += afterMs;
          const wait = buckets.take(key, max);
          if (wait === null) given[key === 'a' ? 'a' : 'b'].push(nowMs);
          else {
            expect(wait).toBeGreaterThanOrEqual(1);
            expect(wait).toBeLessThanOrEqual(60);
            nowMs += wait * 1000;
            expect(buckets.take(key, max)).toBeNull();
            given[key === 'a' ? 'a' : 'b'].push(nowMs);
          }
        }
        for (const times of Object.values(given)) {
          for (const [index, from] of times.entries()) {
            for (const [count, to] of times.slice(index).entries()) {
              expect(count + 1).toBeLessThanOrEqual(max + ((to - from) * max) / 60_000 + 1e-6);
            }
          }
        }
      }),
    );
  });

  test('memory is bounded: what was idle for longest is forgotten', () => {
    const buckets = createRateBuckets(2, () => 0);
    expect([buckets.take('a', 1), buckets.take('b', 1), buckets.take('c', 1)]).toEqual([null, null, null]);
    expect([buckets.take('b', 1), buckets.take('c', 1)]).toEqual([60, 60]);
    expect(buckets.take('a', 1)).toBeNull();
  });
});

const settings = { keyRequestsPerMinuteMax: 2, userRequestsPerMinuteMax: 1, failedAuthenticationsPerMinuteMax: 2 };
const open = (): RateLimits => createRateLimits(settings, () => 0);

describe('limits', () => {
  test('keys and users are counted apart, and the account has the last word', () => {
    const limits = open();
    expect(limits.count({ kind: 'key', keyId: 1 }, {})).toBeNull();
    expect(limits.count({ kind: 'user', userId: 1 }, {})).toBeNull();
    expect(limits.count({ kind: 'key', keyId: 1 }, {})).toBeNull();
    expect(limits.count({ kind: 'key', keyId: 1 }, {})).toMatchObject({
      code: 'RATE_LIMITED',
      message: 'Too many requests of this API key',
      retryAfterSeconds: 30,
    });
    expect(limits.count({ kind: 'user', userId: 1 }, {})).toMatchObject({ retryAfterSeconds: 60 });
    expect(limits.count({ kind: 'user', userId: 2 }, { keyRequestsPerMinuteMax: 1 })).toBeNull();
    const counts = [1, 2, 3, 4].map(() => limits.count({ kind: 'user', userId: 3 }, { userRequestsPerMinuteMax: 3 }));
    expect(counts.map((refusal) => refusal?.retryAfterSeconds)).toEqual([undefined, undefined, undefined, 20]);
  });

  test('a user whom a key names is one, in any case of the name, in one account', () => {
    const limits = open();
    expect(limits.count({ kind: 'named-user', accountId: 1, name: 'Ada' }, {})).toBeNull();
    expect(limits.count({ kind: 'named-user', accountId: 1, name: 'ada' }, {})?.code).toBe('RATE_LIMITED');
    expect(limits.count({ kind: 'named-user', accountId: 2, name: 'ada' }, {})).toBeNull();
  });

  test('refusals for the audit log: so many of each caller', () => {
    const limits = open();
    const kept = Array.from({ length: 100 }, () => limits.countRefusal({ kind: 'user', userId: 1 }));
    expect(kept.filter((isKept) => isKept)).toHaveLength(60);
    expect(limits.countRefusal({ kind: 'key', keyId: 1 })).toBe(true);
    // They are no requests.
    expect(limits.count({ kind: 'user', userId: 1 }, {})).toBeNull();
  });

  test.each([
    ['10.0.0.1', '10.0.0.1', true],
    ['10.0.0.1', '10.0.0.2', false],
    ['10.0.0.1', '::ffff:10.0.0.1', true],
    ['2001:db8:1:2::1', '2001:DB8:1:2:ffff:0:0:9', true],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['2001:db8::1', '2001:0db8:0:0:5::', true],
    ['fe80::1%eth0', 'fe80::2%eth1', true],
    ['::1', '::2', true],
  ])('failures from %s count for %s: %s', (one, other, isSame) => {
    const limits = open();
    expect([limits.countFailure(one), limits.countFailure(one)]).toEqual([null, null]);
    const refusal = limits.countFailure(other);
    if (isSame) expect(refusal?.message).toBe('Too many credentials from this address did not open');
    else expect(refusal).toBeNull();
  });
});
