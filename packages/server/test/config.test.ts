import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { defaultLimits, limitNames, limitRules, limitVariable } from '@inlay/contract/limits.ts';
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
    secrets: [],
    brand: 'platform',
    publicUrl: undefined,
    isDemo: true,
    trustedProxies: false,
    metrics: undefined,
    traces: undefined,
    drainDelayMs: 0,
    auditRetentionDays: 365,
    unprotectedRelations: 'deny',
    reloadsModels: true,
    warehouses: undefined,
    languageModels: undefined,
    ...defaultLimits,
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
      { store: { kind: 'postgres', url }, secrets: [strong], isDemo: false },
    ],
    [
      { DATABASE_URL: 'postgresql:///inlay?host=/run/postgresql', INLAY_SECRET: strong, INLAY_DEMO: 'on' },
      { isDemo: true },
    ],
    [
      {
        DATABASE_URL: url,
        INLAY_SECRET: strong,
        INLAY_STORE_CONNECTIONS_MAX: '50',
        INLAY_STORE_STATEMENT_MS: '5000',
      },
      { store: { kind: 'postgres', url, connectionsMax: 50, statementMs: 5000 } },
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
    ['INLAY_UNPROTECTED_RELATIONS', 'Allow', 'INLAY_UNPROTECTED_RELATIONS must be deny or allow.'],
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

describe('INLAY_SECRETS', () => {
  const secretOf = (seed: number) => createHash('sha256').update(`${seed}`).digest('base64url');
  const [one, two] = [secretOf(1), secretOf(2)];
  const problem =
    'INLAY_SECRETS must hold 1 to 10 different secrets, with commas or line ends between them, each like INLAY_SECRET.';

  test.each([
    ['one', one, [one]],
    ['commas', `${one},${two}`, [one, two]],
    ['lines of a file', `${two}\r\n${one}\n`, [two, one]],
    ['white space around', ` ${one} ,\n ${two} `, [one, two]],
  ])('a list, the first first: %s', (_name, text, secrets) => {
    expect(readConfig({ INLAY_SECRETS: text }).secrets).toStrictEqual(secrets);
    expect(readConfig({ INLAY_SECRETS: text, DATABASE_URL: url }).secrets).toStrictEqual(secrets);
  });

  test.each([
    ['nothing between commas', ','],
    ['one of them is weak', `${one},changemechangemechangemechangeme`],
    ['one twice', `${one},${two},${one}`],
    ['eleven', Array.from({ length: 11 }, (_, seed) => secretOf(seed)).join()],
  ])('refused, and not echoed: %s', (_name, text) => {
    expect(problemsOf({ INLAY_SECRETS: text })).toStrictEqual([problem]);
  });

  test('not beside INLAY_SECRET', () => {
    expect(problemsOf({ INLAY_SECRET: one, INLAY_SECRETS: two })).toStrictEqual([
      'INLAY_SECRET and INLAY_SECRETS are both set. Set only one of them.',
    ]);
  });

  test('a comma in INLAY_SECRET is part of it', () => {
    expect(readConfig({ INLAY_SECRET: `${one},${two}` }).secrets).toStrictEqual([`${one},${two}`]);
  });
});

describe('limits', () => {
  test.each(limitNames)('%s is set by its variable, within its range', (name) => {
    const { min, max } = limitRules[name];
    const variable = limitVariable(name);
    // The default of the TTL follows its limit.
    const beside = name === 'ephemeralTtlSecondsMax' ? { INLAY_EPHEMERAL_TTL_SECONDS_DEFAULT: '1' } : {};
    for (const value of [min, max]) {
      expect(readConfig({ [variable]: `${value}`, ...beside })[name]).toBe(value);
    }
    const problem = `${variable} must be a whole number from ${min} to ${max}.`;
    for (const text of [`${min - 1}`, `${max + 1}`, `${min}.5`, ` ${min}`, '1e3', 'many', '9'.repeat(400)]) {
      expect(problemsOf({ [variable]: text, ...beside })).toStrictEqual([problem]);
    }
  });

  test('the default of the TTL is not beyond its limit', () => {
    expect(problemsOf({ INLAY_EPHEMERAL_TTL_SECONDS_MAX: '60' })).toStrictEqual([
      'INLAY_EPHEMERAL_TTL_SECONDS_DEFAULT (604800) must not be more than INLAY_EPHEMERAL_TTL_SECONDS_MAX (60).',
    ]);
  });
});

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
          expect(readConfig({ INLAY_SECRET: secret }).secrets).toStrictEqual([secret]);
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

describe('operation', () => {
  const collector = 'http://collector:4318';
  test.each([
    [{ INLAY_TRUST_PROXY: 'off' }, { trustedProxies: false }],
    [{ INLAY_TRUST_PROXY: '2' }, { trustedProxies: 2 }],
    [{ INLAY_TRUST_PROXY: '10.0.0.0/8, ::1,fd00::/8' }, { trustedProxies: ['10.0.0.0/8', '::1', 'fd00::/8'] }],
    [{ INLAY_METRICS_PORT: '9464' }, { metrics: { host: '127.0.0.1', port: 9464 } }],
    [{ INLAY_METRICS_PORT: '0', INLAY_METRICS_HOST: '0.0.0.0' }, { metrics: { host: '0.0.0.0', port: 0 } }],
    [{ INLAY_METRICS_HOST: '0.0.0.0' }, { metrics: undefined }],
    [{ INLAY_DRAIN_DELAY_MS: '600000' }, { drainDelayMs: 600_000 }],
    [{ INLAY_AUDIT_RETENTION_DAYS: '1' }, { auditRetentionDays: 1 }],
    [{ INLAY_UNPROTECTED_RELATIONS: 'allow' }, { unprotectedRelations: 'allow' }],
    [{ INLAY_MODEL_RELOAD: 'off' }, { reloadsModels: false }],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: collector },
      { traces: { url: `${collector}/v1/traces`, serviceName: 'inlay', ratio: 1 } },
    ],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: `${collector}/base/`, OTEL_SERVICE_NAME: 'shop', OTEL_TRACES_SAMPLER_ARG: '0.25' },
      { traces: { url: `${collector}/base/v1/traces`, serviceName: 'shop', ratio: 0.25 } },
    ],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: collector, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example.com/in' },
      { traces: { url: 'https://traces.example.com/in', serviceName: 'inlay', ratio: 1 } },
    ],
  ])('%o', (env, expected) => {
    expect(readConfig(env)).toMatchObject(expected);
  });

  test.each([
    ['INLAY_TRUST_PROXY', 'on'],
    ['INLAY_TRUST_PROXY', '0'],
    ['INLAY_TRUST_PROXY', '11'],
    ['INLAY_TRUST_PROXY', '0.0.0.0/0'],
    ['INLAY_TRUST_PROXY', '10.0.0.0/33'],
    ['INLAY_TRUST_PROXY', '10.0.0.1,,10.0.0.2'],
    ['INLAY_TRUST_PROXY', 'proxy.example.com'],
    ['INLAY_METRICS_PORT', '65536'],
    ['INLAY_METRICS_HOST', '300.1.1.1'],
    ['INLAY_DRAIN_DELAY_MS', '600001'],
    ['INLAY_DRAIN_DELAY_MS', '1.5'],
    ['INLAY_AUDIT_RETENTION_DAYS', '0'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://user:hunter2@collector'],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'ftp://collector'],
    ['OTEL_SERVICE_NAME', 'a b'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.1'],
    ['OTEL_TRACES_SAMPLER_ARG', 'half'],
  ])('%s=%s is one line that names it, and not its value', (name, value) => {
    const problems = problemsOf({ [name]: value });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(new RegExp(`^${name} must `));
    expect(problems[0]).not.toContain('hunter2');
  });
});
