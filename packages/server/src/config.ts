/** The settings of a process: the environment, read once, validated and frozen. No other file reads the environment. */
import { isIP } from 'node:net';
import { join, resolve } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/** Where the store lies: PGlite in a folder of the data folder, or a PostgreSQL server. */
export type StoreSettings =
  | { readonly kind: 'embedded'; readonly folder: string }
  | { readonly kind: 'postgres'; readonly url: string };

/** The settings of a process, all valid. Numbers carry their unit last in their name. */
export interface Config {
  /** 0–65535; 0 lets the system choose. */
  readonly port: number;
  /** A host name or IP address to listen on. */
  readonly host: string;
  /** Absolute path of the folder for everything that this process keeps. */
  readonly dataFolder: string;
  readonly store: StoreSettings;
  /** The demo account's admin key; undefined: one is made and kept in the data folder. */
  readonly apiKey: string | undefined;
  /** Signs embed tokens; undefined (embedded store only): one is made and kept in the data folder. */
  readonly secret: string | undefined;
  /** Stands for `platform` in exact identifiers (settings.md). */
  readonly brand: string;
  /** The address that clients use, without a trailing slash; undefined: the one listened on, see {@link publicUrlOf}. */
  readonly publicUrl: string | undefined;
  readonly isDemo: boolean;

  readonly queryTimeoutMs: number;
  /** Replies of the data API to one user at a time. Each holds its whole result until it is read, and a slow reader takes long. */
  readonly dataRepliesPerUserMax: number;
  /** Runs at a time of one user, and in this process. */
  readonly runsPerUserMax: number;
  readonly runsMax: number;
  readonly runMs: number;
  readonly agentTurnsMax: number;
  readonly agentToolCallsMax: number;
  /** The longest silence of the language model within a turn. */
  readonly languageModelSilenceMs: number;
  /** Text of the language model in one run, in UTF-16 code units. */
  readonly textCharactersMax: number;
  /** Rows in the `data` of a tool result (chat-stream.md). */
  readonly toolRowsMax: number;
  readonly sessionExchangeMs: number;
  readonly tokenLifetimeMs: number;
  readonly sessionLifetimeMs: number;
  /** Persistent external users per account (service.md 4.1 rule 10). */
  readonly externalUsersMax: number;
  readonly ephemeralUsersMax: number;
  readonly ephemeralTtlSecondsDefault: number;
}

/** The limits that no variable sets. They are told in settings.md. */
const fixed = {
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
} as const;

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
  const apiKey = read<string | undefined>(
    'INLAY_API_KEY',
    undefined,
    (text) => (/^[!-~]{32,256}$/.test(text) ? text : undefined),
    'must have 32 to 256 printable ASCII characters and no white space.',
  );
  const secret = read<string | undefined>(
    'INLAY_SECRET',
    undefined,
    (text) => (isStrongSecret(text) ? text : undefined),
    'must have 32 to 1024 characters that are hard to guess, such as the output of: openssl rand -base64 48',
  );
  if (databaseUrl !== undefined && !env['INLAY_SECRET']) {
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

  if (problems.length > 0) throw new ConfigError(problems);
  const store: StoreSettings =
    databaseUrl === undefined
      ? { kind: 'embedded', folder: join(dataFolder, 'store') }
      : { kind: 'postgres', url: databaseUrl };
  return Object.freeze({
    port,
    host,
    dataFolder,
    store: Object.freeze(store),
    apiKey,
    secret,
    brand,
    publicUrl,
    isDemo,
    ...fixed,
  });
}

/** The address that clients use, without a trailing slash, when the server listens on `port`. */
export function publicUrlOf(config: Pick<Config, 'publicUrl' | 'host'>, port: number): string {
  if (config.publicUrl !== undefined) return config.publicUrl;
  // "All addresses" is nothing to connect to; this machine is one of them.
  const host = config.host === '0.0.0.0' ? '127.0.0.1' : config.host === '::' ? '::1' : config.host;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function parsePort(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  return port <= 65_535 ? port : undefined;
}

function parseHost(text: string): string | undefined {
  const label = '[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?';
  const isName = text.length <= 253 && new RegExp(`^${label}(\\.${label})*$`).test(text);
  // Digits and dots only is meant as an IP address; a wrong one is not a host name.
  return isIP(text) !== 0 || (isName && !/^[\d.]+$/.test(text)) ? text : undefined;
}

function parsePath(text: string): string | undefined {
  return text.includes('\0') || text.trim() === '' ? undefined : text;
}

function parseDatabaseUrl(text: string): string | undefined {
  const url = URL.parse(text);
  return url !== null && (url.protocol === 'postgres:' || url.protocol === 'postgresql:') ? text : undefined;
}

function parsePublicUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined;
  const isPlain = url.username === '' && url.password === '' && !/[\s?#'"\\]/.test(text) && !text.endsWith('/');
  return isPlain ? text : undefined;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** What stands in sample settings. What is left of a secret without them has to be a secret still. */
const commonWords =
  /abcdefghijklmnopqrstuvwxyz|0123456789|1234567890|12345678|abcdef|qwerty|letmein|admin|change|please|replace|placeholder|default|example|sample|secret|password|passphrase|insert|random|string|signing|production|development|character|minimum|inlay|token|value|super|your|this|with|here|test|demo|long|must|least|key|jwt/g;

/** True for 32 to 1024 characters that are not one repeated, a short pattern repeated, or common words padded. */
function isStrongSecret(text: string): boolean {
  if (text.length < 32 || text.length > 1024) return false;
  const left = text.toLowerCase().replace(commonWords, '');
  return left.length >= 16 && new Set(left).size >= 8 && !/^(.{1,16})\1+.{0,15}$/s.test(text);
}
