/** What an error on the way to a warehouse means to the caller: a connection that cannot be had is never the fault of the query. */
import { describe, expect, test } from 'vitest';
import { toClickHouseFailure } from '../../src/warehouse/clickhouse-failure.ts';
import { LostConnection } from '../../src/warehouse/engine.ts';
import { toPostgresFailure } from '../../src/warehouse/postgres-failure.ts';

const query = { sql: 'SELECT 1' };
const withCode = (code: string): Error => Object.assign(new Error('text with SECRET values'), { code });

/** As Node names what the network, names of hosts and TLS fail with. */
const systemCodes = [
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EPIPE',
  'EPROTO',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
];

describe.each([
  ['PostgreSQL', toPostgresFailure],
  ['ClickHouse', toClickHouseFailure],
] as const)('%s', (_name, toFailure) => {
  test.each(systemCodes)('%s: it cannot be reached, and the log has the code alone', (code) => {
    for (const error of [withCode(code), new LostConnection(withCode(code))]) {
      const failure = toFailure(error, query);
      expect([failure.code, Object(failure.cause).message]).toEqual(['WAREHOUSE_UNAVAILABLE', code]);
    }
  });
});

test.each([
  ['42501', 'WAREHOUSE_UNAVAILABLE'],
  ['28P01', 'WAREHOUSE_UNAVAILABLE'],
  ['53300', 'WAREHOUSE_BUSY'],
  ['57P03', 'WAREHOUSE_UNAVAILABLE'],
])('PostgreSQL lets nobody in: SQLSTATE %s', (code, expected) => {
  expect(toPostgresFailure(new LostConnection(withCode(code)), query).code).toBe(expected);
});

test.each([
  ['42501', 'QUERY_FAILED'],
  ['22012', 'QUERY_FAILED'],
  ['XX000', 'QUERY_FAILED'],
  ['57014', 'QUERY_TIMEOUT'],
  ['57P01', 'WAREHOUSE_UNAVAILABLE'],
])('PostgreSQL fails at a query: SQLSTATE %s', (code, expected) => {
  expect(toPostgresFailure(withCode(code), query).code).toBe(expected);
});
