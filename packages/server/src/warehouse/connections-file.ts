/**
 * The file in which the operator names connections to warehouses (settings.md): its shape, and reading it. It alone says where a
 * warehouse lies and who asks it; a deployment names one of these connections, and nothing of it ever comes over HTTP.
 */
import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { ConfigError } from '../config.ts';
import { reasonOf } from '../errors.ts';
import { parseHost, parsePublicUrl } from '../setting-values.ts';
import { type ConfigurationIssue, issueText, readYaml } from '../yaml-source.ts';
import type { ClickHouseAddress } from './clickhouse.ts';
import type { DuckDbSettings } from './duckdb-files.ts';
import type { PostgresSettings } from './postgres.ts';

const fileBytesMax = 262_144;
const secretBytesMax = 65_536;
const connectionsMax = 100;

/** The shape of a connection's name. */
export const connectionNameSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'must have 1 to 64 small letters, digits, ".", "_" or "-"');

const pathSchema = z
  .string()
  .min(1)
  .max(4096)
  .refine((path) => !path.includes('\0'), 'must not contain NUL');
const variableSchema = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be the name of an environment variable');
const nameSchema = z.string().min(1).max(256);
const password = { password_env: variableSchema.optional(), password_file: pathSchema.optional() };
const poolSize = z.int().min(1).max(1000).default(10);

const connectionSchema = z.discriminatedUnion('type', [
  z.strictObject({
    name: connectionNameSchema,
    type: z.literal('postgres'),
    host: z.string().refine((text) => parseHost(text) !== undefined, 'must be a host name or an IP address'),
    port: z.int().min(1).max(65_535).default(5432),
    database: nameSchema,
    user: nameSchema,
    ...password,
    tls: z.enum(['verify', 'off']).default('verify'),
    tls_ca_file: pathSchema.optional(),
    connections_max: poolSize,
  }),
  z.strictObject({
    name: connectionNameSchema,
    type: z.literal('clickhouse'),
    url: z
      .string()
      .max(2048)
      .refine(
        (text) => parsePublicUrl(text) !== undefined,
        'must be an http:// or https:// URL without a trailing slash, user name, query or fragment',
      ),
    database: nameSchema.default('default'),
    user: nameSchema,
    ...password,
    connections_max: poolSize,
  }),
  z.strictObject({
    name: connectionNameSchema,
    type: z.literal('duckdb'),
    folder: pathSchema.optional(),
    file: pathSchema.optional(),
    threads: z.int().min(1).max(256).default(4),
    memory_max: z
      .string()
      .regex(/^[1-9]\d{0,5} ?(MB|GB)$/, 'must be a size such as 512MB or 4GB')
      .optional(),
  }),
]);
type Entry = z.infer<typeof connectionSchema>;

const fileSchema = z.strictObject({ warehouses: z.array(connectionSchema).min(1).max(connectionsMax) });

/** A connection, valid, its password read. */
export type Connection =
  | ({ readonly type: 'postgres' } & PostgresSettings)
  | ({ readonly type: 'clickhouse' } & ClickHouseAddress)
  | { readonly type: 'duckdb'; readonly settings: DuckDbSettings };

/** Connections by their names. */
export type Connections = ReadonlyMap<string, Connection>;

/** Where the connections come from. */
export interface ConnectionSource {
  readonly file: string;
  /** The value of the environment variable that holds a password; undefined: it is not set. */
  readonly secretOf: (variable: string) => string | undefined;
}

/** What is wrong with an entry, at which of its keys. */
type Report = (key: string, message: string) => void;

/**
 * Reads the file. Relative paths in it count from the file. Nothing is connected to yet.
 * @param source undefined: there are no connections
 * @throws ConfigError with one line per problem: file, line, column, path and what is wrong; never a password
 */
export async function readConnections(source: ConnectionSource | undefined): Promise<Connections> {
  const connections = new Map<string, Connection>();
  if (source === undefined) return connections;
  await readEntries(source.file, async (entry, report) => {
    const connection = await toConnection(entry, source, report);
    if (connection !== null) connections.set(entry.name, connection);
  });
  return connections;
}

/** The names alone, for a command on a machine that has no passwords. @throws ConfigError as {@link readConnections} */
export async function readConnectionNames(source: ConnectionSource | undefined): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  if (source !== undefined) await readEntries(source.file, async ({ name }) => void names.add(name));
  return names;
}

async function readEntries(file: string, take: (entry: Entry, report: Report) => Promise<void>): Promise<void> {
  const issues: ConfigurationIssue[] = [];
  const read = readYaml({ path: file, text: await readText(file, fileBytesMax) }, fileSchema, issues);
  const names = new Set<string>();
  for (const [index, entry] of (read?.value.warehouses ?? []).entries()) {
    const report: Report = (key, message) =>
      read?.report(['warehouses', index, key], `warehouses.${index}.${key}: ${message}`);
    if (names.has(entry.name)) report('name', `${JSON.stringify(entry.name)} occurs twice`);
    names.add(entry.name);
    await take(entry, report);
  }
  if (issues.length > 0) throw new ConfigError(issues.map(issueText));
}

async function toConnection(entry: Entry, source: ConnectionSource, report: Report): Promise<Connection | null> {
  const folder = dirname(resolve(source.file));
  if (entry.type === 'duckdb') {
    const { folder: tables, file, threads, memory_max: memoryMax } = entry;
    const more = { threads, ...(memoryMax === undefined ? {} : { memoryMax }) };
    if (tables !== undefined && file === undefined) {
      return { type: 'duckdb', settings: { folder: resolve(folder, tables), ...more } };
    }
    if (file !== undefined && tables === undefined) {
      return { type: 'duckdb', settings: { file: resolve(folder, file), ...more } };
    }
    report('type', 'give either folder or file');
    return null;
  }
  const secret = await readPassword(entry, folder, source.secretOf, report);
  const { user, database, connections_max: queries } = entry;
  const common = { user, password: secret, database, connectionsMax: queries };
  if (entry.type === 'clickhouse') return { type: 'clickhouse', url: entry.url, ...common };
  const { host, port, tls, tls_ca_file: caFile } = entry;
  if (tls === 'off') {
    if (caFile !== undefined) report('tls_ca_file', 'tls is off');
    return { type: 'postgres', host, port, tls: { mode: 'off' }, ...common };
  }
  const ca = caFile === undefined ? null : await readSecret(resolve(folder, caFile), 'tls_ca_file', report);
  return { type: 'postgres', host, port, tls: { mode: 'verify', ca }, ...common };
}

/** The password of an entry; null when it has none. */
async function readPassword(
  {
    password_env: variable,
    password_file: path,
  }: { password_env?: string | undefined; password_file?: string | undefined },
  folder: string,
  secretOf: ConnectionSource['secretOf'],
  report: Report,
): Promise<string | null> {
  if (variable !== undefined && path !== undefined) {
    report('password_file', 'password_env and password_file are both given: give one of them');
    return null;
  }
  if (variable !== undefined) {
    const value = secretOf(variable) ?? '';
    if (value === '') report('password_env', `the environment variable ${variable} is not set`);
    return value;
  }
  if (path === undefined) return null;
  // Editors and `echo` leave a line end behind, which no password has.
  return (await readSecret(resolve(folder, path), 'password_file', report)).replace(/\r?\n$/, '');
}

async function readSecret(file: string, key: string, report: Report): Promise<string> {
  try {
    return await readText(file, secretBytesMax);
  } catch (error) {
    report(key, reasonOf(error));
    return '';
  }
}

async function readText(file: string, bytesMax: number): Promise<string> {
  try {
    const { size } = await stat(file);
    if (size > bytesMax) throw new Error(`the file is larger than ${bytesMax} bytes`);
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new ConfigError([`${file} cannot be read: ${reasonOf(cause)}`]);
  }
}
