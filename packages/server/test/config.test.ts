import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConfigError, publicUrlOf, readConfig } from '../src/config.ts';

const strong = 'Zk3v9Qw1-Lx7b2Nn5_Rt8y4Uu6Pp0aa!c';
const url = 'postgres://inlay:pa55-word@db.example.com:5432/inlay';

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

test('without any variable: the embedded store in .inlay, the loopback, the demo', () => {
  expect(readConfig({})).toStrictEqual({
    port: 4000,
    host: '127.0.0.1',
    dataFolder: resolve('.inlay'),
    store: { kind: 'embedded', folder: resolve('.inlay', 'store') },
    apiKey: undefined,
    secret: undefined,
    brand: 'platform',
    publicUrl: undefined,
    isDemo: true,
    queryTimeoutMs: 60_000,
    dataRepliesPerUserMax: 5,
    runsPerUserMax: 5,
    runsMax: 200,
    runMs: 600_000,
    agentTurnsMax: 20,
    agentToolCallsMax: 40,
    languageModelSilenceMs: 60_000,
    textCharactersMax: 200_000,
    toolRowsMax: 100,
    sessionExchangeMs: 300_000,
    tokenLifetimeMs: 86_400_000,
    sessionLifetimeMs: 604_800_000,
    externalUsersMax: 10_000,
    ephemeralUsersMax: 100_000,
    ephemeralTtlSecondsDefault: 604_800,
  });
});

test('is frozen, all the way down', () => {
  const config = readConfig({});
  expect(Object.isFrozen(config) && Object.isFrozen(config.store)).toBe(true);
});

test('an empty variable counts as unset', () => {
  const names = ['PORT', 'HOST', 'INLAY_DATA_DIR', 'DATABASE_URL', 'INLAY_API_KEY', 'INLAY_SECRET', 'INLAY_BRAND'];
  const empty = Object.fromEntries([...names, 'INLAY_PUBLIC_URL', 'INLAY_DEMO'].map((name) => [name, '']));
  expect(readConfig(empty)).toStrictEqual(readConfig({}));
});

describe('valid', () => {
  test.each([
    [{ PORT: '0' }, { port: 0 }],
    [{ PORT: '65535' }, { port: 65_535 }],
    [{ HOST: '0.0.0.0' }, { host: '0.0.0.0', isDemo: false }],
    [{ HOST: '127.9.9.9' }, { isDemo: true }],
    [{ HOST: '::1' }, { isDemo: true }],
    [{ HOST: 'localhost' }, { isDemo: true }],
    [{ HOST: '127.example.com' }, { isDemo: false }],
    [
      { INLAY_DATA_DIR: '/var/lib/inlay' },
      { dataFolder: '/var/lib/inlay', store: { kind: 'embedded', folder: '/var/lib/inlay/store' } },
    ],
    [
      { DATABASE_URL: url, INLAY_SECRET: strong },
      { store: { kind: 'postgres', url }, secret: strong, isDemo: false },
    ],
    [
      { DATABASE_URL: 'postgresql:///inlay?host=/run/postgresql', INLAY_SECRET: strong, INLAY_DEMO: 'on' },
      { isDemo: true },
    ],
    [{ INLAY_API_KEY: 'k'.repeat(32) }, { apiKey: 'k'.repeat(32) }],
    [{ INLAY_BRAND: 'acmeBi2' }, { brand: 'acmeBi2' }],
    [{ INLAY_PUBLIC_URL: 'https://bi.example.com/inlay' }, { publicUrl: 'https://bi.example.com/inlay' }],
    [{ INLAY_DEMO: 'off' }, { isDemo: false }],
    [{ INLAY_DEMO: 'on', HOST: '0.0.0.0' }, { isDemo: true }],
  ])('%o', (env, expected) => {
    expect(readConfig(env)).toMatchObject(expected);
  });
});

describe('invalid: one line that names the variable', () => {
  test.each([
    ['PORT', '65536', 'PORT must be a whole number from 0 to 65535.'],
    ['PORT', '-1', 'PORT must be a whole number from 0 to 65535.'],
    ['PORT', '4000.5', 'PORT must be a whole number from 0 to 65535.'],
    ['PORT', ' 80', 'PORT must be a whole number from 0 to 65535.'],
    ['PORT', 'http', 'PORT must be a whole number from 0 to 65535.'],
    ['HOST', '127.0.0.256', 'HOST must be a host name or an IP address, such as 127.0.0.1.'],
    ['HOST', 'http://localhost', 'HOST must be a host name or an IP address, such as 127.0.0.1.'],
    ['HOST', 'two words', 'HOST must be a host name or an IP address, such as 127.0.0.1.'],
    ['INLAY_DATA_DIR', ' ', 'INLAY_DATA_DIR must be the path of a folder, without NUL characters.'],
    [
      'INLAY_API_KEY',
      'k'.repeat(31),
      'INLAY_API_KEY must have 32 to 256 printable ASCII characters and no white space.',
    ],
    [
      'INLAY_API_KEY',
      `${'k'.repeat(32)} k`,
      'INLAY_API_KEY must have 32 to 256 printable ASCII characters and no white space.',
    ],
    [
      'INLAY_API_KEY',
      'é'.repeat(32),
      'INLAY_API_KEY must have 32 to 256 printable ASCII characters and no white space.',
    ],
    [
      'INLAY_BRAND',
      'Platform',
      'INLAY_BRAND must begin with a small letter and have only letters and digits, 32 at most.',
    ],
    [
      'INLAY_BRAND',
      `a${'b'.repeat(32)}`,
      'INLAY_BRAND must begin with a small letter and have only letters and digits, 32 at most.',
    ],
    [
      'INLAY_PUBLIC_URL',
      'https://x.example/',
      'INLAY_PUBLIC_URL must be an http:// or https:// URL without a trailing slash, user name, query or fragment.',
    ],
    [
      'INLAY_PUBLIC_URL',
      'ftp://x.example',
      'INLAY_PUBLIC_URL must be an http:// or https:// URL without a trailing slash, user name, query or fragment.',
    ],
    [
      'INLAY_PUBLIC_URL',
      "https://x.example/';ls'",
      'INLAY_PUBLIC_URL must be an http:// or https:// URL without a trailing slash, user name, query or fragment.',
    ],
    ['INLAY_DEMO', 'true', 'INLAY_DEMO must be on or off.'],
  ])('%s=%s', (name, value, problem) => {
    expect(problemsOf({ [name]: value })).toStrictEqual([problem]);
  });

  test('all problems at once', () => {
    expect(problemsOf({ PORT: 'x', INLAY_DEMO: 'x', DATABASE_URL: 'mysql://root:hunter2@db/x' })).toStrictEqual([
      'PORT must be a whole number from 0 to 65535.',
      'DATABASE_URL must be a URL that begins with postgres:// or postgresql://.',
      'INLAY_DEMO must be on or off.',
    ]);
  });
});

test.each(['not a url hunter2', 'http://u:hunter2@h/', 'postgres//u:hunter2@h'])(
  'DATABASE_URL %s is not echoed',
  (text) => {
    expect(problemsOf({ DATABASE_URL: text, INLAY_SECRET: strong }).join()).toMatch(/^DATABASE_URL must [^2]*$/);
  },
);

describe('INLAY_SECRET', () => {
  test('is required with DATABASE_URL', () => {
    expect(problemsOf({ DATABASE_URL: url })).toStrictEqual([
      'INLAY_SECRET is required when DATABASE_URL is set. Make one with: openssl rand -base64 48',
    ]);
  });

  test.each([
    'a'.repeat(64),
    'abcd'.repeat(16),
    'short',
    strong.slice(0, 31),
    'changemechangemechangemechangeme',
    'changeme00000000000000000000000000000',
    'secret-secret-secret-secret-secret-secret',
    'please-change-this-to-a-random-string-1234',
    'your-256-bit-secret-your-256-bit-secret',
    'abcdefghijklmnopqrstuvwxyz0123456789',
    '12345678901234567890123456789012',
    'INLAY_SECRET_must_be_at_least_32_characters',
  ])('%s is refused and not echoed', (secret) => {
    const [problem, ...more] = problemsOf({ INLAY_SECRET: secret });
    expect(more).toHaveLength(0);
    expect(problem).toBe(
      'INLAY_SECRET must have 32 to 1024 characters that are hard to guess, such as the output of: openssl rand -base64 48',
    );
  });

  test('random ones are taken', () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const random = createHash('sha256').update(`${seed}`).digest();
        for (const encoding of ['hex', 'base64', 'base64url'] as const) {
          const secret = random.toString(encoding);
          expect(readConfig({ INLAY_SECRET: secret }).secret).toBe(secret);
        }
      }),
    );
  });
});

test.each([
  [{}, 'http://127.0.0.1:4711'],
  [{ HOST: '0.0.0.0' }, 'http://127.0.0.1:4711'],
  [{ HOST: '::' }, 'http://[::1]:4711'],
  [{ HOST: 'inlay.internal' }, 'http://inlay.internal:4711'],
  [{ INLAY_PUBLIC_URL: 'https://bi.example.com' }, 'https://bi.example.com'],
])('the public URL of %o is %s', (env, expected) => {
  expect(publicUrlOf(readConfig(env), 4711)).toBe(expected);
});
