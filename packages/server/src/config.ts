/** The settings of a process: the environment, read once, validated and frozen. No other file reads the environment. */
import { join, resolve } from 'node:path';
import { type Limits, limitRules, limitsOf, limitVariable } from '@inlay/contract/limits.ts';
import {
  isLoopback,
  isStrongSecret,
  parseDatabaseUrl,
  parseHost,
  parseOtlpUrl,
  parsePath,
  parsePort,
  parsePublicUrl,
  parseSecrets,
  parseTrustedProxies,
  secretsMax,
  wholeNumber,
} from './setting-values.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Where the store lies: PGlite in a folder of the data folder, or a PostgreSQL server. */
export type StoreSettings =
  | { readonly kind: 'embedded'; readonly folder: string }
  | {
      readonly kind: 'postgres';
      readonly url: string;
      /** Connections of this process, without the one that listens for changes. */
      readonly connectionsMax?: number;
      /** How long one statement may take, and a transaction between two. */
      readonly statementMs?: number;
    };

/** What holds where {@link StoreSettings} leave it out. PostgreSQL's own default is 100 connections for everybody. */
export const postgresDefaults = { connectionsMax: 20, statementMs: 30_000 } as const;

/** The settings of a process, all valid, its limits among them. Numbers carry their unit last in their name. */
export interface Config extends Limits {
  /** 0–65535; 0 lets the system choose. */
  readonly port: number;
  /** A host name or IP address to listen on. */
  readonly host: string;
  /** Absolute path of the folder for everything that this process keeps. */
  readonly dataFolder: string;
  readonly store: StoreSettings;
  /** The demo account's admin key; undefined: one is made and kept in the data folder. */
  readonly apiKey: string | undefined;
  /**
   * The first signs embed tokens, all of them verify; empty (embedded store only): one is made and kept in the data folder.
   */
  readonly secrets: readonly string[];
  /** Stands for `platform` in exact identifiers (settings.md). */
  readonly brand: string;
  /** The address that clients use, without a trailing slash; undefined: the one listened on, see {@link publicUrlOf}. */
  readonly publicUrl: string | undefined;
  readonly isDemo: boolean;
  /** Which proxies in front may say where a request comes from: none, so many in a row, or those with these addresses. */
  readonly trustedProxies: false | number | readonly string[];
  /** Where the metrics are asked for; undefined: there are none. */
  readonly metrics: { readonly host: string; readonly port: number } | undefined;
  /** Where traces go; undefined: there are none. */
  readonly traces: { readonly url: string; readonly serviceName: string; readonly ratio: number } | undefined;
  /** After the signal to stop, how long the server says that it is not ready but goes on as before, 0–600,000. */
  readonly drainDelayMs: number;
  /** How long entries of the audit log are kept, 1–36,500 days. */
  readonly auditRetentionDays: number;
  /** Whether external users may see cubes and views that no access policy protects (access-policies.md). */
  readonly unprotectedRelations: 'deny' | 'allow';
  /** Whether a data model is read anew when its files on disk change, without being applied again. */
  readonly reloadsModels: boolean;
  /**
   * The file that names the language models over the network, and the variables in which their keys are; undefined: there are
   * none.
   */
  readonly languageModels:
    | { readonly file: string; readonly keyOf: (variable: string) => string | undefined }
    | undefined;
  /** The file that names connections to warehouses, and the variables in which their passwords are; undefined: there are none. */
  readonly warehouses:
    | { readonly file: string; readonly secretOf: (variable: string) => string | undefined }
    | undefined;
}

/**
 * What the operator gave (environment, data folder, installation file) does not work, and only they can mend it.
 * `problems` are lines for people, one per thing wrong; none holds a secret.
 */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[], options?: ErrorOptions) {
    super(problems.join('\n'), options);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** What a process that ends because of `error` prints: the problems, or where a defect is. */
export function failureLines(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.problems;
  return [error instanceof Error ? (error.stack ?? error.message) : String(error)];
}

/**
 * Reads the settings. An empty variable counts as unset.
 * @throws ConfigError that names everything that is wrong, in the order of the documentation.
 */
export function readConfig(env: Environment): Config {
  const problems: string[] = [];
  /** The variable's value by `parse`, or `fallback` when unset; a value that `parse` refuses becomes a problem. */
  const read = <T>(name: string, fallback: T, parse: (text: string) => T | undefined, problem: string): T => {
    const text = env[name];
    if (text === undefined || text === '') return fallback;
    const value = parse(text);
    if (value !== undefined) return value;
    problems.push(`${name} ${problem}`);
    return fallback;
  };

  const port = read('PORT', 4000, parsePort, 'must be a whole number from 0 to 65535.');
  const host = read('HOST', '127.0.0.1', parseHost, 'must be a host name or an IP address, such as 127.0.0.1.');
  const dataFolder = resolve(
    read('INLAY_DATA_DIR', '.inlay', parsePath, 'must be the path of a folder, without NUL characters.'),
  );
  const databaseUrl = read<string | undefined>(
    'DATABASE_URL',
    undefined,
    parseDatabaseUrl,
    'must be a URL that begins with postgres:// or postgresql://.',
  );
  const connectionsMax = read(
    'INLAY_STORE_CONNECTIONS_MAX',
    postgresDefaults.connectionsMax,
    wholeNumber(2, 1000),
    'must be a whole number from 2 to 1000.',
  );
  const statementMs = read(
    'INLAY_STORE_STATEMENT_MS',
    postgresDefaults.statementMs,
    wholeNumber(1000, 3_600_000),
    'must be a whole number from 1000 to 3600000.',
  );
  const apiKey = read<string | undefined>(
    'INLAY_API_KEY',
    undefined,
    (text) => (/^[!-~]{32,256}$/.test(text) ? text : undefined),
    'must have 32 to 256 printable ASCII characters and no white space.',
  );
  const secret = read<readonly string[]>(
    'INLAY_SECRET',
    [],
    (text) => (isStrongSecret(text) ? [text] : undefined),
    'must have 32 to 1024 characters that are hard to guess, such as the output of: openssl rand -base64 48',
  );
  const secretList = read<readonly string[]>(
    'INLAY_SECRETS',
    [],
    parseSecrets,
    `must hold 1 to ${secretsMax} different secrets, with commas or line ends between them, each like INLAY_SECRET.`,
  );
  if (env['INLAY_SECRET'] && env['INLAY_SECRETS']) {
    problems.push('INLAY_SECRET and INLAY_SECRETS are both set. Set only one of them.');
  } else if (databaseUrl !== undefined && !env['INLAY_SECRET'] && !env['INLAY_SECRETS']) {
    problems.push('INLAY_SECRET is required when DATABASE_URL is set. Make one with: openssl rand -base64 48');
  }
  const brand = read(
    'INLAY_BRAND',
    'platform',
    (text) => (/^[a-z][a-zA-Z0-9]{0,31}$/.test(text) ? text : undefined),
    'must begin with a small letter and have only letters and digits, 32 at most.',
  );
  const publicUrl = read<string | undefined>(
    'INLAY_PUBLIC_URL',
    undefined,
    parsePublicUrl,
    'must be an http:// or https:// URL without a trailing slash, user name, query or fragment.',
  );
  const isDemo = read(
    'INLAY_DEMO',
    databaseUrl === undefined && isLoopback(host),
    (text) => (text === 'on' ? true : text === 'off' ? false : undefined),
    'must be on or off.',
  );
  const trustedProxies = read<Config['trustedProxies']>(
    'INLAY_TRUST_PROXY',
    false,
    parseTrustedProxies,
    'must be off, the number of proxies in front (1 to 10), or their IP addresses or CIDR ranges, separated by commas.',
  );
  const metricsPort = read<number | undefined>(
    'INLAY_METRICS_PORT',
    undefined,
    parsePort,
    'must be a whole number from 0 to 65535.',
  );
  const metricsHost = read(
    'INLAY_METRICS_HOST',
    '127.0.0.1',
    parseHost,
    'must be a host name or an IP address, such as 127.0.0.1.',
  );
  const drainDelayMs = read(
    'INLAY_DRAIN_DELAY_MS',
    0,
    wholeNumber(0, 600_000),
    'must be a whole number from 0 to 600000.',
  );
  const auditRetentionDays = read(
    'INLAY_AUDIT_RETENTION_DAYS',
    365,
    wholeNumber(1, 36_500),
    'must be a whole number from 1 to 36500.',
  );
  const unprotectedRelations = read<Config['unprotectedRelations']>(
    'INLAY_UNPROTECTED_RELATIONS',
    'deny',
    (text) => (text === 'deny' || text === 'allow' ? text : undefined),
    'must be deny or allow.',
  );
  const reloadsModels = read(
    'INLAY_MODEL_RELOAD',
    databaseUrl === undefined,
    (text) => (text === 'on' ? true : text === 'off' ? false : undefined),
    'must be on or off.',
  );
  const languageModelsFile = read<string | undefined>(
    'INLAY_LANGUAGE_MODELS',
    undefined,
    parsePath,
    'must be the path of a file, without NUL characters.',
  );
  const warehousesFile = read<string | undefined>(
    'INLAY_WAREHOUSES',
    undefined,
    parsePath,
    'must be the path of a file, without NUL characters.',
  );
  const otlpProblem = 'must be an http:// or https:// URL without user name, query or fragment.';
  const otlpUrl = read<string | undefined>('OTEL_EXPORTER_OTLP_ENDPOINT', undefined, parseOtlpUrl, otlpProblem);
  const tracesUrl = read(
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    otlpUrl === undefined ? undefined : `${otlpUrl.replace(/\/+$/, '')}/v1/traces`,
    parseOtlpUrl,
    otlpProblem,
  );
  const serviceName = read(
    'OTEL_SERVICE_NAME',
    'inlay',
    (text) => (/^[\w.-]{1,100}$/.test(text) ? text : undefined),
    'must have 1 to 100 letters, digits, dots, _ or -.',
  );
  const ratio = read(
    'OTEL_TRACES_SAMPLER_ARG',
    1,
    (text) => (/^(0|1|0?\.\d{1,9}|1\.0{1,9})$/.test(text) ? Number(text) : undefined),
    'must be a number from 0 to 1.',
  );
  const limits = limitsOf((name) => {
    const { value, min, max } = limitRules[name];
    return read(limitVariable(name), value, wholeNumber(min, max), `must be a whole number from ${min} to ${max}.`);
  });
  const { ephemeralTtlSecondsDefault, ephemeralTtlSecondsMax } = limits;
  if (ephemeralTtlSecondsDefault > ephemeralTtlSecondsMax) {
    problems.push(
      `${limitVariable('ephemeralTtlSecondsDefault')} (${ephemeralTtlSecondsDefault}) must not be more than ${limitVariable('ephemeralTtlSecondsMax')} (${ephemeralTtlSecondsMax}).`,
    );
  }

  if (problems.length > 0) throw new ConfigError(problems);
  const store: StoreSettings =
    databaseUrl === undefined
      ? { kind: 'embedded', folder: join(dataFolder, 'store') }
      : { kind: 'postgres', url: databaseUrl, connectionsMax, statementMs };
  return Object.freeze({
    port,
    host,
    dataFolder,
    store: Object.freeze(store),
    apiKey,
    secrets: secret.length > 0 ? secret : secretList,
    brand,
    publicUrl,
    isDemo,
    trustedProxies,
    metrics: metricsPort === undefined ? undefined : Object.freeze({ host: metricsHost, port: metricsPort }),
    traces: tracesUrl === undefined ? undefined : Object.freeze({ url: tracesUrl, serviceName, ratio }),
    drainDelayMs,
    auditRetentionDays,
    unprotectedRelations,
    reloadsModels,
    languageModels:
      languageModelsFile === undefined
        ? undefined
        : Object.freeze({ file: resolve(languageModelsFile), keyOf: (variable: string) => env[variable] }),
    warehouses:
      warehousesFile === undefined
        ? undefined
        : Object.freeze({ file: resolve(warehousesFile), secretOf: (variable: string) => env[variable] }),
    ...limits,
  });
}

/** The address that clients use, without a trailing slash, when the server listens on `port`. */
export function publicUrlOf(config: Pick<Config, 'publicUrl' | 'host'>, port: number): string {
  if (config.publicUrl !== undefined) return config.publicUrl;
  // "All addresses" is nothing to connect to; this machine is one of them.
  const host = config.host === '0.0.0.0' ? '127.0.0.1' : config.host === '::' ? '::1' : config.host;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
