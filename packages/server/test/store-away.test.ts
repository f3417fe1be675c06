/** A store that is away is told apart from a defect. What a client sees of it: suites/operation/operate.test.ts. */
import { expect, test } from 'vitest';
import { openDatabase } from '../src/store/database.ts';
import { isStoreAway } from '../src/store/store-away.ts';

const coded = (code: string): Error => Object.assign(new Error('no'), { code });

test.each(['08006', '57P01', '57014', '53300', 'ECONNRESET'])('%s: away', (code) => {
  expect(isStoreAway(coded(code))).toBe(true);
});

test.each(['42601', '23505', '22P02', 'ENOENT', 'ERR_INVALID_ARG_TYPE'])('%s: a defect', (code) => {
  expect(isStoreAway(coded(code))).toBe(false);
});

test('an address that nobody listens on is away', async () => {
  const failure = await openDatabase({ kind: 'postgres', url: 'postgres://u:p@127.0.0.1:1/x' }).catch(
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(Error);
  expect(isStoreAway(failure instanceof Error ? failure.cause : failure)).toBe(true);
  expect(isStoreAway(new TypeError('x is not a function'))).toBe(false);
});
