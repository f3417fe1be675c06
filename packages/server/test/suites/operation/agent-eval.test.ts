/** `agent eval` as a process of its own, against a real server with the built-in analyst. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTestServer, type TestServer } from '../../test-server.ts';

const cli = fileURLToPath(new URL('../../../src/cli.ts', import.meta.url));
const examples = fileURLToPath(new URL('../../../../../examples/storefront/agents', import.meta.url));

let server: TestServer;
let root: string;
let folder: string;
beforeAll(async () => {
  server = await openTestServer();
  root = await mkdtemp(join(tmpdir(), 'inlay-agent-eval-'));
  folder = join(root, 'mixed');
  await mkdir(join(folder, 'eval'), { recursive: true });
  await writeFile(join(folder, 'eval', 'mixed.yml'), mixed);
});
afterAll(async () => {
  await server.close();
  await rm(root, { recursive: true, force: true, maxRetries: 3 });
});

/** One question of each verdict, and one to which the answer is nothing. */
const mixed = `
as: { groups: [merchant], userAttributes: [{ name: merchant_id, value: 7 }] }
questions:
  - name: right
    question: Orders by channel
    sql: SELECT MEASURE(orders_count) AS n, channel AS c FROM sales GROUP BY 2
  - name: of another merchant
    question: Orders by channel
    sql: SELECT channel, MEASURE(cancelled_orders) FROM sales GROUP BY 1
  - name: no question
    question: What is the capital of France?
    sql: SELECT MEASURE(orders_count) FROM sales
  - name: bad SQL
    question: Orders by channel
    sql: SELECT nothing FROM sales
  - name: for nobody
    question: Orders by channel
    as: {}
    expect: nothing
`;

async function evaluate(...args: readonly string[]) {
  const env = {
    PATH: process.env['PATH'],
    INLAY_URL: server.url,
    INLAY_API_KEY: server.apiKey,
    INLAY_DATA_DIR: root,
  };
  const { promise, resolve } = Promise.withResolvers<{ code: unknown; out: string; err: string }>();
  execFile(process.execPath, [cli, 'agent', 'eval', ...args], { env }, (error, out, err) =>
    resolve({ code: error?.code ?? 0, out, err }),
  );
  return promise;
}

describe('agent eval', { timeout: 60_000 }, () => {
  test('the built-in analyst passes the questions of the example', async () => {
    const { code, out, err } = await evaluate('--dir', examples);
    expect(out).toMatch(
      /^verdict +file +name +seconds +tokens\n(pass +eval\/\S+ .*\n)+\n\d+ pass, 0 fail, 0 review, 0 error\n$/,
    );
    expect(Number(/^(\d+) pass/m.exec(out)?.[1])).toBeGreaterThanOrEqual(8);
    expect(err).toMatch(/^Asking Shop analyst \(agent 1\) \d+ questions\.\n1\/\d+ pass /);
    expect(code).toBe(0);
  });

  test('each verdict with its reason, as JSON', async () => {
    const { code, out } = await evaluate('--dir', folder, '--json', '--agent', 'shop analyst', '--concurrency', '1');
    expect(code).toBe(1);
    const { counts, questions, agent } = JSON.parse(out);
    expect(agent).toEqual({ id: 1, name: 'Shop analyst' });
    expect(counts).toEqual({ pass: 2, fail: 1, review: 1, error: 1 });
    expect(questions).toMatchObject([
      { name: 'right', verdict: 'pass', reasons: [], file: 'eval/mixed.yml', sql: expect.stringContaining('channel') },
      {
        name: 'of another merchant',
        verdict: 'fail',
        reasons: expect.arrayContaining([
          expect.stringMatching(/^Missing: \["/),
          expect.stringMatching(/^Not expected: /),
        ]),
        usage: { models: [expect.any(String)], queries: 1 },
      },
      { name: 'no question', verdict: 'review', sql: null, answer: expect.any(String) },
      {
        name: 'bad SQL',
        verdict: 'error',
        reasons: [expect.stringMatching(/^The expected SQL fails: MEMBER_NOT_FOUND/), expect.anything()],
      },
      { name: 'for nobody', verdict: 'pass', reasons: [], sql: null, expectedSql: null, answer: expect.any(String) },
    ]);
  });

  test('the exit code: a review fails only with --strict', async () => {
    const one = ['--dir', folder, '--filter', 'RIGHT'];
    expect((await evaluate(...one)).code).toBe(0);
    const review = ['--dir', folder, '--filter', 'no question'];
    const loose = await evaluate(...review);
    expect(loose).toMatchObject({
      code: 0,
      out: expect.stringContaining('review eval/mixed.yml: no question\n  There is no query'),
    });
    expect((await evaluate(...review, '--strict')).code).toBe(1);
  });

  test('everybody asks as themselves: one without rights gets no right answer', async () => {
    const { code, out } = await evaluate('--dir', folder, '--filter', 'right', '--as', '{"groups":[]}', '--json');
    // The file says as whom, so that the flag does not count.
    expect(code).toBe(0);
    expect(JSON.parse(out).counts.pass).toBe(1);
    const unnamed = join(root, 'unnamed');
    await mkdir(join(unnamed, 'eval'), { recursive: true });
    const question =
      'questions:\n  - question: Orders by channel\n    sql: SELECT channel, MEASURE(orders_count) FROM sales GROUP BY 1\n';
    await writeFile(join(unnamed, 'eval', 'a.yml'), question);
    const nobody = await evaluate('--dir', unnamed, '--as', '{}', '--json');
    expect(JSON.parse(nobody.out).questions).toMatchObject([
      { verdict: 'error', reasons: [expect.stringContaining('RELATION_NOT_FOUND'), expect.anything()] },
    ]);
    const all = await evaluate('--dir', unnamed, '--as', '{"internalId":"analyst"}');
    expect(all).toMatchObject({ code: 0, out: expect.stringContaining('1 pass, 0 fail') });
  });

  test('what is wrong before anything is asked', async () => {
    const wrong = async (...args: readonly string[]) => {
      const { code, out, err } = await evaluate(...args);
      expect({ code, out }).toEqual({ code: 1, out: '' });
      return err;
    };
    expect(await wrong('--dir', join(root, 'nowhere'))).toContain('There is no folder');
    expect(await wrong('--dir', folder, '--agent', '99')).toBe('There is no agent 99: --agent ID\n  1  Shop analyst\n');
    expect(await wrong('--dir', folder, '--filter', 'xyz')).toBe('No question has "xyz" in it.\n');
    expect(await wrong('--dir', folder, '--as', '{"roles":[]}')).toContain('--as: ');
    expect(await wrong('--dir', folder, '--concurrency', '0')).toContain('--concurrency: ');
    expect(await wrong('--nonsense')).toContain("'--nonsense'");
  });
});
