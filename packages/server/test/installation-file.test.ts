// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholder of the file format looks like one of a template
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defaultLimits, type Limits } from '@inlay/contract/limits.ts';
import { userShapes } from '@inlay/contract/user.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConfigError } from '../src/config.ts';
import { readInstallation } from '../src/installation/installation-file.ts';
import { initRepository } from './git-repository.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inlay-file-'));
  await mkdir(join(folder, 'model'));
});
afterAll(async () => rm(folder, { recursive: true, force: true }));

const dataFolder = '/var/lib/inlay';
const user = userShapes(defaultLimits);

async function read(text: string, limits: Partial<Limits> = {}) {
  const file = join(folder, 'inlay.yml');
  await writeFile(file, text);
  return readInstallation(file, { dataFolder, user: userShapes({ ...defaultLimits, ...limits }) });
}

/** The problems, without the path of the file before them. */
async function problemsOf(text: string, limits: Partial<Limits> = {}): Promise<readonly string[]> {
  try {
    await read(text, limits);
  } catch (error) {
    if (error instanceof ConfigError)
      return error.problems.map((problem) => problem.replace(`${folder}/inlay.yml:`, ''));
    throw error;
  }
  return [];
}

test('the storefront example is one', async () => {
  const file = fileURLToPath(new URL('../../../examples/storefront/inlay.yml', import.meta.url));
  const { accounts } = await readInstallation(file, { dataFolder, user });
  const [demo] = accounts;
  expect(accounts).toHaveLength(1);
  expect(demo).toMatchObject({ name: 'demo', plan: 'enterprise', useCreatorMode: true });
  expect(demo?.userAttributes.map(({ name, type }) => [name, type])).toStrictEqual([
    ['merchant_id', 'number'],
    ['region', 'string'],
    ['regions', 'string_array'],
  ]);
  expect(demo?.groups.map(({ name }) => name)).toStrictEqual(['merchant', 'merchant_admin', 'platform_team']);
  expect(demo?.internalUsers).toHaveLength(2);
  expect(demo?.deployments).toMatchObject([
    { id: 1, warehouse: { type: 'duckdb', folder: '/var/lib/inlay/storefront' } },
  ]);
  expect(demo?.agents).toMatchObject([{ id: 1, deployment: 1 }]);
});

describe('paths', () => {
  const deployment = (warehouse: string): string =>
    `accounts:\n  - name: a\n    plan: premium\n    deployments:\n      - { id: 1, name: d, model: model, warehouse: { type: duckdb, folder: '${warehouse}' } }\n`;

  test.each([
    ['data', () => join(folder, 'data')],
    ['/data', () => '/data'],
    ['${dataDir}', () => dataFolder],
    ['${dataDir}/x y', () => `${dataFolder}/x y`],
  ])('%s', async (path, expected) => {
    const { accounts } = await read(deployment(path));
    expect(accounts[0]?.deployments).toStrictEqual([
      { id: 1, name: 'd', model: join(folder, 'model'), warehouse: { type: 'duckdb', folder: expected() } },
    ]);
  });

  test('the folder of the agents counts from the file, and must be there', async () => {
    const withAgents = (agents: string): string =>
      deployment('data').replace('model: model', `model: model, agents: ${agents}`);
    const { accounts } = await read(withAgents('./model'));
    expect(accounts[0]?.deployments[0]?.agents).toBe(join(folder, 'model'));
    expect(await problemsOf(withAgents('none'))).toStrictEqual([
      `5:41: accounts.0.deployments.0.agents: no such folder: ${join(folder, 'none')}`,
    ]);
  });

  test('a model may be a path into a bare repository, if HEAD has it', async () => {
    const { commit, setRef } = await initRepository(join(folder, 'repo.git'), { isBare: true });
    await setRef('refs/heads/main', await commit({ 'analytics/model/a.yml': '' }));
    const inside = (path: string): string => deployment('data').replace('model: model', `model: repo.git/${path}`);
    const { accounts } = await read(inside('analytics/model'));
    expect(accounts[0]?.deployments[0]?.model).toBe(join(folder, 'repo.git/analytics/model'));
    expect(await problemsOf(inside('analytics/none'))).toStrictEqual([
      `5:27: accounts.0.deployments.0.model: no such folder: ${join(folder, 'repo.git/analytics/none')}`,
    ]);
  });

  test.each(['x/${dataDir}', '${HOME}/x', '${dataDir}x'])('%s is refused', async (path) => {
    expect(await problemsOf(deployment(path))).toStrictEqual([
      '5:68: accounts.0.deployments.0.warehouse.folder: only ${dataDir} at the beginning is known',
    ]);
  });

  test('a model folder that is not there is named', async () => {
    expect(await problemsOf(deployment('d').replace('model: model', 'model: modle'))).toStrictEqual([
      `5:27: accounts.0.deployments.0.model: no such folder: ${folder}/modle`,
    ]);
  });
});

describe('what is wrong is said with its place', () => {
  const account = 'accounts:\n  - name: a\n    plan: premium\n';

  test.each<[string, string, (string | RegExp)[]]>([
    ['an empty file', '', [/^1:1: Invalid input: expected object/]],
    ['no account', 'accounts: []', [/^1:1: accounts: Too small/]],
    ['a plan that is none', 'accounts:\n  - name: a\n    plan: gold\n', [/^3:5: accounts\.0\.plan: Invalid option/]],
    ['a missing key', 'accounts:\n  - name: a\n', [/^2:5: accounts\.0\.plan: Invalid option/]],
    [
      'unknown keys',
      `${account}    colour: red\n    size: 1\n`,
      ['4:5: accounts.0.colour: is not a known key', '5:5: accounts.0.size: is not a known key'],
    ],
    [
      'a misspelt key deep down',
      `${account}    groups:\n      - { name: g, desc: x }\n`,
      ['5:20: accounts.0.groups.0.desc: is not a known key'],
    ],
    [
      'an account name that is no path',
      'accounts:\n  - { name: a/b, plan: premium }\n',
      [/^2:7: accounts\.0\.name: must be 1 to 63/],
    ],
    [
      'a type that is none',
      `${account}    userAttributes: [{ name: x, type: date }]\n`,
      [/^4:33: accounts\.0\.userAttributes\.0\.type: Invalid option/],
    ],
    [
      'an id of text',
      `${account}    agents: [{ id: one, deployment: 1, name: x }]\n`,
      [/^4:16: accounts\.0\.agents\.0\.id: Invalid input/],
    ],
    [
      'an origin with a path, and one without TLS',
      `${account}    allowedOrigins: [https://app.example.com/, http://app.example.com]\n`,
      [
        /^4:22: accounts\.0\.allowedOrigins\.0: must be https:\/\/host/,
        /^4:48: accounts\.0\.allowedOrigins\.1: must be https:\/\/host/,
      ],
    ],
    [
      'a frame ancestor that is a wildcard',
      `${account}    frameAncestors: [self, "*"]\n`,
      [/^4:28: accounts\.0\.frameAncestors\.1: /],
    ],
    [
      'a limit that there is not, and one below nothing',
      `${account}    limits: { users: 5, externalUsersMax: -1 }\n`,
      [/^4:25: accounts\.0\.limits\.externalUsersMax: /, '4:15: accounts.0.limits.users: is not a known key'],
    ],
    [
      'a default that does not fit its type',
      `${account}    userAttributes: [{ name: x, type: number, defaultValue: many }]\n`,
      ['4:47: accounts.0.userAttributes.0.defaultValue: must be a decimal number, such as 7 or -0.5'],
    ],
    ['broken YAML', 'accounts:\n  - name: [a\n', [/^3:1: Flow sequence in block collection/]],
    ['a key twice', `${account}    plan: premium\n`, [/^4:5: Map keys must be unique/]],
    ['an account twice', `${account}  - name: a\n    plan: premium\n`, ['4:5: accounts.1.name: "a" occurs twice']],
    [
      'a group twice',
      `${account}    groups: [{ name: g }, { name: g }]\n`,
      ['4:29: accounts.0.groups.1.name: "g" occurs twice'],
    ],
    [
      'an attribute twice',
      `${account}    userAttributes: [{ name: x, type: string }, { name: x, type: number }]\n`,
      ['4:51: accounts.0.userAttributes.1.name: "x" occurs twice'],
    ],
    [
      'an agent id in two accounts',
      `${account}    agents: [{ id: 1, deployment: 1, name: x }]\n  - name: b\n    plan: premium\n    agents: [{ id: 1, deployment: 1, name: x }]\n`,
      ['7:16: accounts.1.agents.0.id: 1 occurs twice'],
    ],
    [
      "a username that is another's address",
      `${account}    internalUsers:\n      - { username: ann, email: a@example.com }\n      - { username: A@Example.com, email: b@example.com }\n`,
      ['6:11: accounts.0.internalUsers.1.username: "a@example.com" occurs twice'],
    ],
  ])('%s', async (_name, text, expected) => {
    const problems = await problemsOf(text);
    expect(problems).toHaveLength(expected.length);
    for (const [index, problem] of problems.entries()) expect(problem).toMatch(expected[index] ?? '');
  });

  test('settings of the account are read; null is a value of a limit', async () => {
    const { accounts } = await read(
      `${account}    allowedOrigins: [http://localhost:3000]\n    frameAncestors: []\n    limits: { externalUsersMax: null, userRequestsPerMinuteMax: 60 }\n`,
    );
    expect(accounts[0]).toMatchObject({
      allowedOrigins: ['http://localhost:3000'],
      frameAncestors: [],
      limits: { externalUsersMax: null, userRequestsPerMinuteMax: 60 },
    });
    expect((await read(account)).accounts[0]).not.toHaveProperty('limits');
  });

  test('names and values have the limits of the process', async () => {
    const groups = (characters: number): string => `${account}    groups: [{ name: ${'g'.repeat(characters)} }]\n`;
    expect(await problemsOf(groups(128))).toStrictEqual([]);
    expect(await problemsOf(groups(129))).toStrictEqual([
      '4:16: accounts.0.groups.0.name: must be at most 128 characters',
    ]);
    expect(await problemsOf(groups(129), { nameCharactersMax: 129 })).toStrictEqual([]);
    expect(await problemsOf(groups(128), { nameCharactersMax: 127 })).toHaveLength(1);
    const attribute = `${account}    userAttributes: [{ name: x, type: string, defaultValue: ${'é'.repeat(40)} }]\n`;
    expect(await problemsOf(attribute)).toStrictEqual([]);
    expect(await problemsOf(attribute, { attributeStringBytesMax: 64 })).toStrictEqual([
      '4:47: accounts.0.userAttributes.0.defaultValue: must be at most 64 bytes of UTF-8',
    ]);
  });

  test("one's own address may be the username", async () => {
    const { accounts } = await read(
      `${account}    internalUsers: [{ username: a@example.com, email: A@example.com }]\n`,
    );
    expect(accounts[0]?.internalUsers).toHaveLength(1);
  });

  test('an alias bomb is refused, not expanded', async () => {
    const levels = Array.from({ length: 12 }, (_, n) => `l${n + 1}: &l${n + 1} [${`*l${n}, `.repeat(12)}]`);
    expect(await problemsOf(`l0: &l0 [x]\n${levels.join('\n')}\n`)).toHaveLength(1);
  });

  test('a file that is not there, and one too large', async () => {
    await expect(readInstallation(join(folder, 'none.yml'), { dataFolder, user })).rejects.toThrow(
      /none\.yml cannot be read: ENOENT/,
    );
    await expect(read(`# ${'x'.repeat(1_100_000)}`)).rejects.toThrow('the file is larger than 1048576 bytes');
  });
});
