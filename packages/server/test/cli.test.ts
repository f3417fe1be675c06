/** The command line as a process of its own, against a real server. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { insertApiKey } from '../src/admin/make-api-key.ts';
import { openTestServer, type TestServer } from './test-server.ts';

const cli = fileURLToPath(new URL('../src/cli.ts', import.meta.url));

interface Finished {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

let server: TestServer;
let folder: string;
beforeAll(async () => {
  server = await openTestServer();
  folder = await mkdtemp(join(tmpdir(), 'inlay-cli-'));
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
});

/** Runs the command line with these settings only; by default as the admin of `demo`. */
async function inlay(
  args: readonly string[],
  { env = {}, stdin = '' }: { readonly env?: Readonly<Record<string, string>>; readonly stdin?: string } = {},
): Promise<Finished> {
  const settings = { INLAY_URL: server.url, INLAY_API_KEY: server.apiKey, INLAY_DATA_DIR: folder, ...env };
  const child = spawn(process.execPath, [cli, ...args], { env: { PATH: process.env['PATH'] ?? '', ...settings } });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  child.stdin.end(stdin);
  const [code] = await once(child, 'close');
  return { code: typeof code === 'number' ? code : null, out, err };
}

describe('the command line', { timeout: 60_000 }, () => {
  test('makes, lists, reads, changes and deletes a group', async () => {
    const made = await inlay(['groups', 'create', '--name', 'cli editors', '--description', 'By hand', '--json']);
    expect(made).toMatchObject({ code: 0, err: '' });
    const group = JSON.parse(made.out);
    expect(group).toMatchObject({ name: 'cli editors', description: 'By hand', userCount: 0 });
    const read = await inlay(['groups', 'get', String(group.id)]);
    expect(read.out).toMatch(
      new RegExp(`^id +${group.id}\\nname +cli editors\\ndescription +By hand\\nuserCount +0\\n`),
    );
    const listed = await inlay(['groups', 'list', '--search', 'CLI']);
    expect(listed.out.split('\n')).toEqual([
      expect.stringMatching(/^id +name +description +userCount +createdAt$/),
      expect.stringMatching(new RegExp(`^${group.id} +cli editors +By hand +0 +\\d{4}-`)),
      '',
    ]);
    const changed = await inlay(['groups', 'update', String(group.id), '--description', 'null', '--json']);
    expect(JSON.parse(changed.out)).toEqual({ ...group, description: null });
    expect(await inlay(['groups', 'delete', String(group.id)])).toEqual({ code: 0, out: '', err: 'Done.\n' });
    expect(await inlay(['groups', 'list', '--search', 'cli'])).toEqual({ code: 0, out: '', err: 'There are none.\n' });
  });

  test('follows pages, and says when there are more', async () => {
    for (const name of ['page-1', 'page-2', 'page-3']) await inlay(['groups', 'create', '--name', name]);
    const names = (text: string) => JSON.parse(text).items.map(({ name }: { name: string }) => name);
    const first = await inlay(['groups', 'list', '--search', 'page-', '--sort', '-name', '--first', '2']);
    expect(first.out).toContain('page-2');
    const [, cursor = ''] = /^There are more: --after (\S+), or --all\n$/.exec(first.err) ?? [];
    const next = await inlay(['groups', 'list', '--search', 'page-', '--sort', '-name', '--after', cursor, '--json']);
    expect(names(next.out)).toEqual(['page-1']);
    const all = await inlay([
      'groups',
      'list',
      '--search',
      'page-',
      '--sort',
      'name',
      '--first',
      '1',
      '--all',
      '--json',
    ]);
    expect(names(all.out)).toEqual(['page-1', 'page-2', 'page-3']);
    expect(all.err).toBe('');
  });

  test('changes settings by flags, by a file and by standard input, flags above the rest', async () => {
    const args = [
      'account',
      'update',
      '--allowed-origins',
      'https://a.example',
      '--allowed-origins',
      'https://b.example',
    ];
    const flags = await inlay([...args, '--limits-external-users-max', '9', '--json']);
    expect(JSON.parse(flags.out)).toMatchObject({
      allowedOrigins: ['https://a.example', 'https://b.example'],
      limits: { externalUsersMax: 9, ephemeralUsersMax: null },
    });
    const file = join(folder, 'body.json');
    await writeFile(file, '{"useCreatorMode": false, "plan": "starter"}');
    const mixed = await inlay(['account', 'update', '--body', file, '--plan', 'premium', '--json']);
    expect(JSON.parse(mixed.out)).toMatchObject({ useCreatorMode: false, plan: 'premium' });
    const stdin =
      '{"useCreatorMode": true, "plan": "enterprise", "allowedOrigins": [], "limits": {"externalUsersMax": null}}';
    const piped = await inlay(['account', 'update', '--body', '-', '--json'], { stdin });
    expect(JSON.parse(piped.out)).toMatchObject({
      useCreatorMode: true,
      allowedOrigins: [],
      limits: { externalUsersMax: null },
    });
    expect(await inlay(['account', 'update', '--body', '-'], { stdin: '[1]' })).toMatchObject({
      code: 1,
      err: 'standard input does not hold a JSON object.\n',
    });
    expect((await inlay(['account', 'update', '--body', '/no/such'])).err).toMatch(
      /^\/no\/such cannot be read: ENOENT/,
    );
  });

  test('keys: the text is printed once, rotated and revoked; the key may lie in the data folder', async () => {
    const made = await inlay(['keys', 'create', '--role', 'admin', '--label', 'cli', '--json']);
    const { id, key } = JSON.parse(made.out);
    expect(key).toMatch(/^sk-/);
    await writeFile(join(folder, 'api-key'), `${key}\n`);
    expect((await inlay(['account', 'get'], { env: { INLAY_API_KEY: '' } })).out).toMatch(/^name +demo$/m);
    const rotated = await inlay(['keys', 'rotate', String(id), '--overlap-seconds', '60']);
    const [, text = ''] = /^key +(sk-\S+)$/m.exec(rotated.out) ?? [];
    expect((await inlay(['keys', 'get', String(id)], { env: { INLAY_API_KEY: text } })).out).not.toContain(text);
    expect((await inlay(['keys', 'revoke', String(id)])).code).toBe(0);
    expect((await inlay(['keys', 'list', '--state', 'revoked', '--search', 'cli'])).out).toMatch(/ revoked /);
    await rm(join(folder, 'api-key'));
  });

  test('words of several resources: an embed tenant’s groups, sessions of a user, the audit log', async () => {
    const headers = { authorization: `Api-Key ${server.apiKey}`, 'content-type': 'application/json' };
    const body = { deploymentId: 1, externalId: 'cli-1', creatorMode: true, embedTenantName: 'cli-tenant' };
    const minted = await fetch(`${server.url}/api/v1/embed/generate-session`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ ...body, groupDefinitions: [{ name: 'g' }] }),
    });
    expect(minted.status).toBe(200);
    const groups = await inlay(['embed-tenants', 'groups', 'list', 'cli-tenant', '--json']);
    expect(JSON.parse(groups.out).items).toMatchObject([{ name: 'g' }]);
    const id = String(JSON.parse(groups.out).items[0].id);
    expect((await inlay(['embed-tenants', 'groups', 'delete', 'cli-tenant', id])).code).toBe(0);
    expect((await inlay(['sessions', 'revoke-all', '--external-id', 'cli-1'])).out).toBe('revoked  1\n');
    const log = await inlay(['audit', 'list', '--action', 'session.revoke', '--first', '1', '--json']);
    expect(JSON.parse(log.out).items).toMatchObject([{ action: 'session.revoke', details: { revoked: 1 } }]);
  });

  test('what the server refuses is told with code, issues and request id, and exit code 1', async () => {
    const refused = await inlay(['account', 'update', '--allowed-origins', 'https://*.example']);
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toMatch(
      /^INVALID_REQUEST: The body does not have the required shape\n {2}allowedOrigins\.0: must be .*\n {2}request id: req_\S+\n$/,
    );
    expect((await inlay(['groups', 'get', '999999'])).err).toMatch(/^NOT_FOUND: Group not found\n/);
    expect((await inlay(['groups', 'list', '--after', 'x'])).err).toMatch(/^INVALID_CURSOR: /);
    expect((await inlay(['account', 'get'], { env: { INLAY_API_KEY: 'sk-nobody' } })).err).toMatch(
      /^UNAUTHENTICATED: /,
    );
    const { accountId } = server.demo;
    const member = await insertApiKey(server.context.db, { accountId, role: 'member' });
    expect((await inlay(['account', 'get'], { env: { INLAY_API_KEY: member.key } })).err).toMatch(/^FORBIDDEN: /);
  });

  test('what is wrong before a call is one line or two, without a secret', async () => {
    expect(await inlay(['groups', 'create'])).toMatchObject({
      code: 1,
      err: 'groups create needs --name (npm run inlay -- groups create --help)\n',
    });
    expect(await inlay(['groups', 'lst'])).toMatchObject({
      code: 1,
      err: 'There is no command groups lst (npm run inlay -- --help)\n',
    });
    expect((await inlay(['keys', 'create', '--account', 'demo'])).err).toMatch(/keys create --direct --account NAME/);
    const keyless = await inlay(['account', 'get'], { env: { INLAY_API_KEY: '' } });
    expect(keyless).toMatchObject({ code: 1, out: '' });
    expect(keyless.err).toMatch(/^There is no API key: .*\n.*keys create --direct\n$/);
    for (const url of ['ftp://x', 'nothing', 'http://me:secret@x']) {
      expect((await inlay(['account', 'get'], { env: { INLAY_URL: url } })).err).toMatch(/^INLAY_URL must be .*\n$/);
    }
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const address = closed.address();
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
    closed.close();
    await once(closed, 'close');
    const gone = await inlay(['account', 'get'], { env: { INLAY_URL: url } });
    expect(gone).toMatchObject({ code: 1, out: '' });
    expect(gone.err).toContain(`The server at ${url} does not answer: `);
    expect(gone.err).not.toContain(server.apiKey);
  });

  test('help at every level, without a server', async () => {
    const env = { INLAY_URL: 'nowhere' };
    expect((await inlay([], { env })).out).toContain('external-users persist <id>');
    expect((await inlay(['--help'], { env })).out).toBe((await inlay([], { env })).out);
    const keys = (await inlay(['keys', '--help'], { env })).out;
    expect(keys).toContain('keys rotate <id>');
    expect(keys).not.toContain('groups list');
    expect((await inlay(['embed-tenants', 'groups', '-h'], { env })).out).toContain(
      'embed-tenants groups delete <embedTenantName> <id>',
    );
    const rotate = await inlay(['keys', 'rotate', '--help'], { env });
    expect(rotate).toMatchObject({ code: 0, err: '' });
    expect(rotate.out).toContain('--overlap-seconds NUMBER');
    expect((await inlay(['keys', 'create', '--help'], { env })).out).toContain('keys create --direct [--account NAME]');
    expect((await inlay(['apply', '--help'], { env })).out).toContain('apply -f FILE');
    const half = await inlay(['keys'], { env });
    expect(half).toMatchObject({ code: 1, out: '' });
    expect(half.err).toMatch(/^keys needs one more word:\n {2}keys list\n/);
    expect((await inlay(['help', 'keys', 'rotate'])).out).toBe((await inlay(['keys', 'rotate', '--help'])).out);
    expect((await inlay(['--nonsense'])).err).toBe('There is no command --nonsense (npm run inlay -- --help)\n');
  });
});
