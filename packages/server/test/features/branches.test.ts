/** Branches of the data model (chat-stream.md, http-api.md): who may ask which, and that each has its own model and policies. */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deleteRef } from 'isomorphic-git';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { initRepository, type TestRepository } from '../git-repository.ts';
import { call, say, scripted } from '../scripted-language-model.ts';
import { dumpTables } from '../seed.ts';
import { type JsonReply, openSession, openTestServer, postJson, type TestServer } from '../test-server.ts';

/** A model in which everybody sees all orders, under another name. */
const devModel = `
cubes:
  - name: dev_orders
    sql_table: orders
    dimensions: [{ name: id, sql: "{CUBE}.id", type: number, primary_key: true }]
    measures: [{ name: rows_count, type: count }]
    access_policy: [{ group: merchant, row_level: { allow_all: true } }]
`;
const ofMain = 'select measure(orders_count) from sales';
const ofDev = 'select measure(rows_count) from dev_orders';

/** What the agent asks, whatever it is asked. */
const query = { sqlQuery: ofDev, queryTitle: 'Rows', description: 'All of them.', userRequest: 'How many?' };

let server: TestServer;
let repository: TestRepository;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inlay-branches-'));
  repository = await initRepository(join(folder, 'repo'), { isBare: false });
  await cp(inject('demoModelFolder'), join(repository.root, 'model'), { recursive: true });
  const dev = await repository.commit({ 'model/dev.yml': devModel });
  for (const name of ['dev', 'short-lived']) await repository.setRef(`refs/heads/${name}`, dev);
  await repository.setRef('refs/heads/broken', await repository.commit({ 'model/dev.yml': 'cubes: 7' }));
  server = await openTestServer({
    languageModel: scripted((messages) => (messages.length === 1 ? [call('platformSqlApi', query)] : [say('Done.')])),
  });
  const model_folder = join(repository.root, 'model');
  await server.context.db.updateTable('deployments').set({ model_folder }).where('id', '=', 1).execute();
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

const merchant = {
  externalId: 'merchant-7',
  groups: ['merchant'],
  userAttributes: [{ name: 'merchant_id', value: 7 }],
};
/** What a query gives: how many rows of data, or the status and code of its refusal. */
async function ask(authorization: string, query: string, more: object = {}, deploymentId = 1): Promise<unknown> {
  const reply = await fetch(`${server.url}/api/v1/deployments/${deploymentId}/cubesql`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ query, ...more }),
  });
  const text = await reply.text();
  if (reply.status !== 200) return [reply.status, JSON.parse(text).code];
  return JSON.parse(text.trim().split('\n').at(-1) ?? '').data[0][0];
}
const key = () => `Api-Key ${server.apiKey}`;
const session = (branchName?: string): Promise<string> =>
  openSession(server, server.demo, { ...merchant, ...(branchName === undefined ? {} : { settings: { branchName } }) });
/** A look at a new thread: everything that the chat refuses before it says anything. */
const chat = (authorization: string, more: object): Promise<JsonReply> =>
  postJson(
    server,
    '/api/v1/public/demo/agents/1/chat/stream-chat-state',
    { sessionSettings: merchant, ...more },
    authorization,
  );

describe('an API key', () => {
  const asMerchant = (branch?: string) => ({ sessionSettings: merchant, branch });

  test('may name any branch, and gets its model with its policies', async () => {
    const own = await ask(key(), ofMain, asMerchant());
    const all = await ask(key(), ofDev, asMerchant('dev'));
    expect(own).toBeGreaterThan(0);
    expect(all).toBeGreaterThan(Number(own));
    expect(await ask(key(), ofMain, asMerchant('main'))).toBe(own);
    expect(await ask(key(), ofMain, asMerchant('dev'))).toEqual([400, 'RELATION_NOT_FOUND']);
    expect(await ask(key(), ofDev, asMerchant())).toEqual([400, 'RELATION_NOT_FOUND']);
  });

  test.each(['none', 'DEV', '../main', 'HEAD', 'HEAD@{1}', 'refs/heads/dev', 'dev/'])('%j is 404', async (branch) => {
    expect(await ask(key(), ofMain, asMerchant(branch))).toEqual([404, 'BRANCH_NOT_FOUND']);
  });

  test.each(['', ' '])('%j is no name', async (branch) => {
    expect(await ask(key(), ofMain, asMerchant(branch))).toEqual([400, 'INVALID_REQUEST']);
    const reply = await chat(key(), { activeBranchName: branch });
    expect([reply.status, reply.body['code']]).toEqual([400, 'INVALID_REQUEST']);
    expect(reply.body['issues']).toMatchObject([{ path: 'activeBranchName' }]);
  });

  test('a branch that is broken fails for itself', async () => {
    expect(await ask(key(), ofMain, asMerchant('broken'))).toEqual([500, 'DATA_MODEL_INVALID']);
    expect(await ask(key(), ofMain, asMerchant())).toBeGreaterThan(0);
  });

  test('the branches of one deployment are not those of another', async () => {
    const { apiKey, deploymentId } = server.other;
    expect(await ask(`Api-Key ${apiKey}`, ofDev, asMerchant('dev'), deploymentId)).toEqual([404, 'BRANCH_NOT_FOUND']);
  });

  test('settings that are not well-formed come first, and a branch that is not there writes no user', async () => {
    const bad = { sessionSettings: { externalId: 'A' }, branch: 'none' };
    expect(await ask(key(), ofMain, bad)).toEqual([400, 'INVALID_REQUEST']);
    const before = await dumpTables(server.context.db);
    const nobody = { sessionSettings: { externalId: 'nobody-yet' }, branch: 'none' };
    expect(await ask(key(), ofMain, nobody)).toEqual([404, 'BRANCH_NOT_FOUND']);
    expect(await dumpTables(server.context.db)).toBe(before);
  });
});

describe('an embed token', () => {
  test('without a branch of its own has the default one, and may name no other', async () => {
    const token = await session();
    expect(await ask(token, ofMain)).toBeGreaterThan(0);
    expect(await ask(token, ofMain, { branch: 'main' })).toBeGreaterThan(0);
    // The same for one that is not there: nothing is told of the branches.
    for (const branch of ['dev', 'none', '../main']) {
      expect(await ask(token, ofMain, { branch })).toEqual([403, 'BRANCH_NOT_ALLOWED']);
    }
  });

  test('has the branch of its session, whether it names it or not', async () => {
    const token = await session('dev');
    const all = await ask(token, ofDev);
    expect(all).toBeGreaterThan(0);
    expect(await ask(token, ofDev, { branch: 'dev' })).toBe(all);
    expect(await ask(token, ofMain)).toEqual([400, 'RELATION_NOT_FOUND']);
    expect(await ask(token, ofMain, { branch: 'main' })).toEqual([403, 'BRANCH_NOT_ALLOWED']);
  });

  test('of the default branch by name is as any other', async () => {
    const token = await session('main');
    expect(await ask(token, ofMain, { branch: 'main' })).toBeGreaterThan(0);
    expect(await ask(token, ofDev)).toEqual([400, 'RELATION_NOT_FOUND']);
  });

  test('of a branch that is gone opens nothing: never the default one instead', async () => {
    const token = await session('short-lived');
    expect(await ask(token, ofDev)).toBeGreaterThan(0);
    await deleteRef({ fs: await import('node:fs'), gitdir: repository.gitFolder, ref: 'refs/heads/short-lived' });
    await expect.poll(() => ask(token, ofDev), { timeout: 10_000 }).toEqual([404, 'BRANCH_NOT_FOUND']);
    expect(await ask(token, ofMain)).toEqual([404, 'BRANCH_NOT_FOUND']);
  });
});

test('a session for a branch that is not there is refused, and nothing is written', async () => {
  const mint = (body: object): Promise<JsonReply> =>
    postJson(server, '/api/v1/embed/generate-session', { deploymentId: 1, externalId: 'new', ...body }, key());
  const before = await dumpTables(server.context.db);
  for (const branchName of ['none', 'refs/heads/dev', '../main']) {
    expect(await mint({ settings: { branchName } })).toMatchObject({ status: 404, body: { code: 'BRANCH_NOT_FOUND' } });
  }
  const elsewhere = { deploymentId: 2, settings: { branchName: 'dev' } };
  expect(await mint(elsewhere)).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
  expect(await dumpTables(server.context.db)).toBe(before);
});

describe('isDefaultBranch', () => {
  test.each([
    [{}, 200, undefined],
    [{ isDefaultBranch: true }, 200, undefined],
    [{ activeBranchName: 'main' }, 200, undefined],
    [{ activeBranchName: 'main', isDefaultBranch: true }, 200, undefined],
    [{ activeBranchName: 'dev' }, 200, undefined],
    [{ activeBranchName: 'dev', isDefaultBranch: false }, 200, undefined],
    [{ isDefaultBranch: false }, 400, 'INVALID_REQUEST'],
    [{ activeBranchName: 'main', isDefaultBranch: false }, 400, 'INVALID_REQUEST'],
    [{ activeBranchName: 'dev', isDefaultBranch: true }, 400, 'INVALID_REQUEST'],
    [{ activeBranchName: 'none', isDefaultBranch: true }, 404, 'BRANCH_NOT_FOUND'],
  ])('%j with an API key: %s', async (more, status, code) => {
    const reply = await chat(key(), more);
    expect([reply.status, reply.body['code']]).toEqual([status, code]);
    if (status === 400) expect(reply.body['issues']).toMatchObject([{ path: 'isDefaultBranch' }]);
  });

  test('with a token it is about the branch of the session', async () => {
    const token = await session('dev');
    expect((await chat(token, { isDefaultBranch: false })).status).toBe(200);
    expect((await chat(token, { isDefaultBranch: true })).status).toBe(400);
    expect((await chat(token, { activeBranchName: 'main', isDefaultBranch: true })).status).toBe(403);
  });
});

test('an answer asks the branch of its call, or that of the session', async () => {
  const resultOf = async (authorization: string, more: object): Promise<string> => {
    const reply = await fetch(`${server.url}/api/v1/public/demo/agents/1/chat/stream-chat-state`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ input: 'How many?', sessionSettings: merchant, ...more }),
    });
    const frames = (await reply.text())
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    return frames.findLast(({ toolCall }) => toolCall?.result !== undefined).toolCall.result;
  };
  expect(await resultOf(key(), { activeBranchName: 'dev' })).toContain('"totalRows":1');
  expect(await resultOf(key(), {})).toContain('RELATION_NOT_FOUND');
  expect(await resultOf(await session('dev'), {})).toContain('"totalRows":1');
  expect(await resultOf(await session(), {})).toContain('RELATION_NOT_FOUND');
});
