import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { openLog } from '../src/log.ts';
import { newSecret } from '../src/store/secret.ts';

function openCapturedLog() {
  const lines: string[] = [];
  const log = openLog({ write: (line) => void lines.push(line) });
  return { log, lines };
}

test('writes one JSON object per line with level and time', () => {
  const { log, lines } = openCapturedLog();
  log.info({ runId: 'r1' }, 'run ended');
  expect(lines).toHaveLength(1);
  const line: unknown = JSON.parse(lines[0] ?? '');
  expect(line).toMatchObject({
    level: 'info',
    runId: 'r1',
    msg: 'run ended',
    time: expect.stringMatching(/^\d{4}-.*Z$/),
  });
});

test('no secret appears, wherever it stands', () => {
  const { log, lines } = openCapturedLog();
  const key = newSecret('sk-');
  const session = newSecret('ses_');
  const token = `eyJhbGciOiJIUzI1NiJ9.${Buffer.from('{"sub":"7"}').toString('base64url')}.c2lnbmF0dXJl`;
  const chosen = 'my-own-api-key-of-thirty-two-chars!';
  const secrets = [key, session, token, chosen, 'hunter2'];

  log.info({ req: { headers: { authorization: `Api-Key ${chosen}` } } });
  log.info({ headers: { authorization: `Bearer ${token}` } });
  log.info({ authorization: chosen, body: { sessionId: session, apiKey: chosen, token } });
  log.info({ url: `/embed/dashboard/1?session=${session}&x=1` }, `GET /embed?sessionId=${chosen}&y=2`);
  log.info({ url: '/embed?a=1&session=hunter2#top' });
  log.warn(`refused: Authorization: Api-Key ${chosen}`);
  log.warn(`key ${key} and token ${token}`);
  log.child({ context: { nested: { token } } }).info('child');
  log.error(
    { err: new Error(`connect postgres://inlay:hunter2@db.example.com/inlay failed, Bearer ${token}`) },
    'failed',
  );
  log.error(Object.assign(new Error('x'), { connectionString: 'hunter2', config: { password: 'hunter2' } }));

  const text = lines.join('');
  for (const secret of secrets) expect(text).not.toContain(secret);
  for (const line of lines) expect(() => JSON.parse(line)).not.toThrow();
  expect(text).toContain('x=1');
  expect(text).toContain('y=2');
  expect(text).toContain('#top');
  expect(text).toContain('db.example.com');
});

test('an error of the database says where and what, and none of the values it was about', () => {
  const { log, lines } = openCapturedLog();
  const err = Object.assign(new Error('insert on table "messages" violates foreign key constraint "messages_fkey"'), {
    code: '23503',
    constraint: 'messages_fkey',
    detail: 'Failing row contains (private).',
    where: "unnamed portal parameter $1 = 'private'",
    query: "insert into messages values ('private')",
    params: ['private', { content: 'private' }],
    parameters: ['private'],
  });
  log.error({ err, requestId: 'req_1' }, 'failed');
  log.error({ err: new Error('outer', { cause: err }) }, 'failed');
  expect(lines.join('')).not.toContain('private');
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    requestId: 'req_1',
    err: { message: err.message, stack: expect.stringContaining('at '), code: '23503', constraint: 'messages_fkey' },
  });
  // The cause of a failure stays to be found.
  expect(lines[1]).toContain('violates foreign key constraint');
});

test('ids stay readable', () => {
  const { log, lines } = openCapturedLog();
  const id = '0198c5a2-7d3e-7a55-9d0c-3b1f0a2c4d5e';
  log.info({ threadId: id, messageId: '1763628000000-message' }, `thread ${id} of merchant-7`);
  expect(lines.join('')).toContain(`"threadId":"${id}"`);
  expect(lines.join('')).toContain(`thread ${id} of merchant-7`);
});

test("Fastify's own request lines hide the session in the URL", async () => {
  const { log, lines } = openCapturedLog();
  const app = Fastify({ loggerInstance: log });
  app.get('/embed', (_request, reply) => reply.send('ok'));
  await app.inject({ url: '/embed?session=hunter2', headers: { authorization: 'Api-Key hunter2' } });
  await app.close();
  expect(lines.some((line) => line.includes('/embed?session='))).toBe(true);
  expect(lines.join('')).not.toContain('hunter2');
});

test('an error whose text quotes the value that it is about is written without it, as a cause, too', () => {
  const { log, lines } = openCapturedLog();
  const parse = (text: string): unknown => {
    try {
      return JSON.parse(text);
    } catch (cause) {
      return new Error('what was kept cannot be read', { cause });
    }
  };
  log.error({ err: parse('SECRET "4242" is no JSON') }, 'failed');
  const text = 'invalid input syntax for type integer: "SECRET\n"4242"';
  log.error({ err: new Error('not kept', { cause: Object.assign(new Error(text), { code: '22P02' }) }) }, 'failed');
  expect(lines.join('')).not.toMatch(/SECRET|4242/);
  expect(lines[0]).toContain('what was kept cannot be read');
  expect(lines[1]).toContain('invalid input syntax for type integer');
  expect(lines[1]).toContain('log.test.ts');
});
