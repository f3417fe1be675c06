/** The file inlay.yml, which says what an installation consists of: its shape, and reading it with places in errors. */
import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import {
  accountLimitsSchema,
  accountNameSchema,
  allowedOriginsSchema,
  frameAncestorsSchema,
  planSchema,
} from '@inlay/contract/admin/account.ts';
import { jsonIdSchema } from '@inlay/contract/page.ts';
import type { UserShapes } from '@inlay/contract/user.ts';
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { ConfigError } from '../config.ts';
import { reasonOf } from '../errors.ts';
import { isInBareRepository } from '../query/model-source.ts';
import type { WarehouseSettings } from '../store/schema.ts';
import { problemOfDefault } from '../users/default-value.ts';
import { connectionNameSchema } from '../warehouse/connections-file.ts';

const fileBytesMax = 1_048_576;
const itemsMax = 500;

const pathSchema = z
  .string()
  .min(1)
  .max(4096)
  .refine((path) => !path.includes('\0'), 'must not contain NUL');
const list = <T extends z.ZodType>(item: T) => z.array(item).max(itemsMax).default([]);

/** Files of DuckDB, or a connection that the operator's file names. */
const warehouseShape = z
  .strictObject({
    type: z.literal('duckdb').optional(),
    folder: pathSchema.optional(),
    connection: connectionNameSchema.optional(),
  })
  .transform(({ type, folder, connection }, context): WarehouseSettings => {
    if (connection !== undefined && type === undefined && folder === undefined) return { connection };
    if (connection === undefined && type !== undefined && folder !== undefined) return { type, folder };
    context.addIssue({ code: 'custom', message: 'must be { type: duckdb, folder: … } or { connection: … }' });
    return z.NEVER;
  });

/** The shape of a file, in which names, texts and values have the limits of `user`. */
function installationShape(user: UserShapes) {
  const { name, internalId, email, attributeValue, userAttributeDefinition, groupDefinition } = user;
  const account = z.strictObject({
    name: accountNameSchema,
    plan: planSchema,
    useCreatorMode: z.boolean().default(false),
    allowedOrigins: allowedOriginsSchema.optional(),
    frameAncestors: frameAncestorsSchema.optional(),
    limits: z.strictObject(accountLimitsSchema.shape).partial().optional(),
    userAttributes: list(z.strictObject(userAttributeDefinition.shape)),
    groups: list(z.strictObject(groupDefinition.shape)),
    internalUsers: list(
      z.strictObject({
        username: internalId.refine((text) => text === text.trim(), 'must not begin or end with white space'),
        email,
        groups: z.array(name).max(itemsMax).optional(),
        userAttributes: list(z.strictObject({ name, value: attributeValue })),
      }),
    ),
    deployments: list(
      z.strictObject({
        id: jsonIdSchema,
        name,
        model: pathSchema,
        agents: pathSchema.optional(),
        warehouse: warehouseShape,
      }),
    ),
    agents: list(z.strictObject({ id: jsonIdSchema, deployment: jsonIdSchema, name })),
  });
  return z.strictObject({ accounts: z.array(account).min(1).max(itemsMax) });
}

/** A read installation: absolute paths, no name twice where it must be unique, defaults that fit their type. */
export type Installation = z.infer<ReturnType<typeof installationShape>>;
/** One account of an installation. */
export type InstallationAccount = Installation['accounts'][number];

type Place = readonly PropertyKey[];
type Problem = { readonly place: Place; readonly message: string };

/**
 * Reads and checks an installation file. Relative paths count from the file; `${dataDir}` at the beginning of a warehouse
 * folder stands for the data folder.
 * @param options.user the shapes under the limits of the process.
 * @param options.connections the names in the operator's file of warehouses; left out: there are none
 * @throws ConfigError with one line per problem: file, line, column, path and what is wrong.
 */
export async function readInstallation(
  file: string,
  {
    dataFolder,
    user,
    connections = new Set(),
  }: { readonly dataFolder: string; readonly user: UserShapes; readonly connections?: ReadonlySet<string> },
): Promise<Installation> {
  const text = await readText(file);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
  if (document.errors.length > 0) {
    throw new ConfigError(
      document.errors.map((error) => {
        const { line, col } = lines.linePos(error.pos[0]);
        return `${file}:${line}:${col}: ${error.message}`;
      }),
    );
  }
  const fail = (problems: readonly Problem[]): never => {
    throw new ConfigError(problems.map((problem) => `${file}:${describe(document, lines, problem)}`));
  };

  const parsed = installationShape(user).safeParse(toPlain(document, file));
  if (!parsed.success) return fail(parsed.error.issues.flatMap(toProblems));
  const problems = [...findDuplicates(parsed.data), ...findWrongDefaults(parsed.data, user)];
  const folder = dirname(resolve(file));
  const accounts: InstallationAccount[] = [];
  for (const [index, account] of parsed.data.accounts.entries()) {
    const deployments: InstallationAccount['deployments'] = [];
    for (const [number, deployment] of account.deployments.entries()) {
      const place = ['accounts', index, 'deployments', number] as const;
      const model = resolve(folder, deployment.model);
      const agents = deployment.agents === undefined ? undefined : resolve(folder, deployment.agents);
      for (const [key, path] of [['model', model] as const, ['agents', agents] as const]) {
        if (path === undefined || (await isSourceFolder(path))) continue;
        problems.push({ place: [...place, key], message: `no such folder: ${path}` });
      }
      const { warehouse } = deployment;
      if ('connection' in warehouse && !connections.has(warehouse.connection)) {
        problems.push({
          place: [...place, 'warehouse', 'connection'],
          message: `INLAY_WAREHOUSES names no connection ${JSON.stringify(warehouse.connection)}`,
        });
      }
      const dataPath =
        'connection' in warehouse ? '' : warehouse.folder.replace(/^\$\{dataDir\}(?=$|[/\\])/, () => dataFolder);
      if (dataPath.includes('${')) {
        problems.push({
          place: [...place, 'warehouse', 'folder'],
          // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text of the file that is meant
          message: 'only ${dataDir} at the beginning is known',
        });
      }
      deployments.push({
        ...deployment,
        model,
        ...(agents === undefined ? {} : { agents }),
        warehouse: 'connection' in warehouse ? warehouse : { type: 'duckdb', folder: resolve(folder, dataPath) },
      });
    }
    accounts.push({ ...account, deployments });
  }
  if (problems.length > 0) return fail(problems);
  return { accounts };
}

async function readText(file: string): Promise<string> {
  try {
    const { size } = await stat(file);
    if (size > fileBytesMax) throw new Error(`the file is larger than ${fileBytesMax} bytes`);
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new ConfigError([`${file} cannot be read: ${reasonOf(cause)}`]);
  }
}

function toPlain(document: Document, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (cause) {
    throw new ConfigError([`${file}: ${reasonOf(cause)}`]);
  }
}

/** A folder on disk, or one in a bare repository. */
async function isSourceFolder(path: string): Promise<boolean> {
  if (await isFolder(path)) return true;
  return isInBareRepository(path).catch(() => false);
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

/** An unknown key is reported at the key, not at the object around it. */
function toProblems(issue: z.core.$ZodIssue): Problem[] {
  if (issue.code !== 'unrecognized_keys') return [{ place: issue.path, message: issue.message }];
  return issue.keys.map((key) => ({ place: [...issue.path, key], message: 'is not a known key' }));
}

/** Names and ids that occur twice. Ids of deployments and agents are unique in an installation, the rest in an account. */
function* findDuplicates(installation: Installation): Generator<Problem> {
  const { accounts } = installation;
  const twice = function* (
    items: readonly { readonly key: string | number; readonly place: Place }[],
  ): Generator<Problem> {
    const seen = new Set<string | number>();
    for (const { key, place } of items) {
      if (seen.has(key)) yield { place, message: `${JSON.stringify(key)} occurs twice` };
      seen.add(key);
    }
  };
  const all = <T>(
    pick: (account: InstallationAccount) => readonly T[],
    list: string,
    key: string,
    value: (item: T) => string | number,
  ) =>
    accounts.flatMap((account, index) =>
      pick(account).map((item, number) => ({ key: value(item), place: ['accounts', index, list, number, key] })),
    );

  yield* twice(accounts.map(({ name }, index) => ({ key: name, place: ['accounts', index, 'name'] })));
  yield* twice(
    all(
      (account) => account.deployments,
      'deployments',
      'id',
      ({ id }) => id,
    ),
  );
  yield* twice(
    all(
      (account) => account.agents,
      'agents',
      'id',
      ({ id }) => id,
    ),
  );
  for (const [index, account] of accounts.entries()) {
    const named = (list: 'groups' | 'userAttributes') =>
      account[list].map(({ name }, number) => ({ key: name, place: ['accounts', index, list, number, 'name'] }));
    yield* twice(named('groups'));
    yield* twice(named('userAttributes'));
    for (const [number, user] of account.internalUsers.entries()) {
      const place = ['accounts', index, 'internalUsers', number];
      yield* twice((user.groups ?? []).map((key, at) => ({ key, place: [...place, 'groups', at] })));
      yield* twice(
        user.userAttributes.map(({ name }, at) => ({ key: name, place: [...place, 'userAttributes', at, 'name'] })),
      );
    }
    // A username that is another's address would make `internalId` ambiguous (http-api.md). One's own may be the same.
    yield* twice(
      account.internalUsers.flatMap(({ username, email }, number) => {
        const place = ['accounts', index, 'internalUsers', number];
        const names = [{ key: username.toLowerCase(), place: [...place, 'username'] }];
        if (email.toLowerCase() !== username.toLowerCase())
          names.push({ key: email.toLowerCase(), place: [...place, 'email'] });
        return names;
      }),
    );
  }
}

/** Defaults of attributes that do not stand for a value of their type. */
function* findWrongDefaults({ accounts }: Installation, { attributeValue }: UserShapes): Generator<Problem> {
  for (const [index, account] of accounts.entries()) {
    for (const [number, { type, defaultValue }] of account.userAttributes.entries()) {
      const problem = defaultValue === undefined ? null : problemOfDefault(type, defaultValue, attributeValue);
      if (problem === null) continue;
      yield { place: ['accounts', index, 'userAttributes', number, 'defaultValue'], message: problem.message };
    }
  }
}

/** `line:column: path message`, as exact as the place can be found in the file. */
function describe(document: Document, lines: LineCounter, { place, message }: Problem): string {
  const { line, col } = lines.linePos(offsetOf(document, place));
  return `${line}:${col}: ${place.length > 0 ? `${place.map(String).join('.')}: ` : ''}${message}`;
}

function offsetOf(document: Document, place: Place): number {
  for (let length = place.length; length > 0; length--) {
    const path = place.slice(0, length);
    const parent = length > 1 ? document.getIn(path.slice(0, -1), true) : document.contents;
    const pair = isMap(parent) ? parent.items.find(({ key }) => isScalar(key) && key.value === path.at(-1)) : undefined;
    const node = pair?.key ?? document.getIn(path, true);
    if (isNode(node) && node.range) return node.range[0];
  }
  return isNode(document.contents) && document.contents.range ? document.contents.range[0] : 0;
}
