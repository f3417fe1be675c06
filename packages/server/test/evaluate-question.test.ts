/** How an answer is graded, what of a stream is its answer, and what is said of wrong files. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Frame, frameSchema } from '@inlay/contract/chat.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fingerprintOf } from '../src/agent/configuration/certified-queries.ts';
import type { ResultTable } from '../src/cli/evaluate/compare-results.ts';
import { type AsUser, evaluateQuestion } from '../src/cli/evaluate/evaluate-question.ts';
import { type Answer, readAnswer } from '../src/cli/evaluate/read-answer.ts';
import { prepareQuestions, type ReadyQuestion, readAgentsFolder } from '../src/cli/evaluate/read-questions.ts';
import { ConfigError } from '../src/config.ts';

const right = 'SELECT MEASURE(orders_count) FROM sales';
const wrong = 'SELECT MEASURE(revenue) FROM sales';

const question: ReadyQuestion = {
  file: 'eval/a.yml',
  name: 'orders',
  question: 'How many orders?',
  isOrdered: false,
  as: {},
  sql: right,
  certified: null,
};

const one = (value: number): ResultTable => ({ schema: [{ name: 'x', column_type: 'Int64' }], rows: [[value]] });
const results = new Map<string, ResultTable>([
  [right, one(1)],
  [wrong, one(2)],
  ['nothing', { schema: [{ name: 'x', column_type: 'Int64' }], rows: [] }],
]);

/** A server on which the agent answers so. A query that it does not know fails. */
function answering(answer: Partial<Answer>): AsUser {
  return {
    ask: () => Promise.resolve({ text: 'So many.', queries: [], failure: null, usage: null, ...answer }),
    query: async (sql) => {
      const result = results.get(sql);
      if (result === undefined) throw new ConfigError(['QUERY_FAILED: no such query']);
      return result;
    },
  };
}
const ran = (...sqls: readonly string[]) => ({ queries: sqls.map((sql) => ({ sql, problem: null })) });
const gradeOf = async (answer: Partial<Answer>, asked: Partial<ReadyQuestion> = {}) =>
  evaluateQuestion(answering(answer), { ...question, ...asked });

describe('evaluateQuestion', () => {
  test('the last query that worked decides', async () => {
    expect(await gradeOf(ran(right))).toMatchObject({ verdict: 'pass', reasons: [], sql: right, text: 'So many.' });
    expect(await gradeOf(ran(wrong, right))).toMatchObject({ verdict: 'pass' });
    const failedAfter = { queries: [...ran(right).queries, { sql: wrong, problem: 'QUERY_TIMEOUT: too long' }] };
    expect(await gradeOf(failedAfter)).toMatchObject({ verdict: 'pass', sql: right });
    expect(await gradeOf(ran(wrong))).toMatchObject({
      verdict: 'fail',
      reasons: ['No column has a value of the expected x.', 'Missing: [1]', 'Not expected: [2]'],
      sql: wrong,
    });
  });

  test('a person looks where an earlier query was right, where nothing was asked, and where there are no rows', async () => {
    const earlier = await gradeOf(ran(right, wrong));
    expect(earlier.verdict).toBe('review');
    expect(earlier.reasons[0]).toContain(right);
    expect(await gradeOf({ text: 'I cannot say.' })).toMatchObject({
      verdict: 'review',
      reasons: ['There is no query in the answer. It says: "I cannot say."'],
    });
    expect(await gradeOf(ran('nothing'), { sql: 'nothing' })).toMatchObject({ verdict: 'review' });
  });

  test('where nothing is expected, only rows that tell something are wrong', async () => {
    const nothing = { sql: null };
    results.set('sums', { schema: [], rows: [[null, 0]] });
    expect(await gradeOf({ text: 'There is no data that you may query.' }, nothing)).toMatchObject({ verdict: 'pass' });
    const refused = { queries: [{ sql: right, problem: 'RELATION_NOT_FOUND: No such view.' }] };
    expect(await gradeOf(refused, nothing)).toMatchObject({ verdict: 'pass', reasons: [] });
    expect(await gradeOf(ran('nothing', 'sums'), nothing)).toMatchObject({ verdict: 'pass' });
    expect(await gradeOf(ran(right, 'nothing'), nothing)).toMatchObject({ verdict: 'fail', sql: right });
    expect(await gradeOf({ failure: 'LANGUAGE_MODEL_FAILED: …' }, nothing)).toMatchObject({ verdict: 'error' });
    expect(await gradeOf(ran('gone'), nothing)).toMatchObject({ verdict: 'error' });
  });

  test('a certified question is to be answered by its query, however it is laid out', async () => {
    const certified = {
      name: 'orders',
      userRequests: ['How many orders?'],
      sql: right,
      fingerprint: fingerprintOf(right),
      agents: null,
    };
    const relaid = 'select measure(orders_count)\nfrom sales';
    results.set(relaid, one(1));
    results.set('SELECT COUNT(*) FROM sales', one(1));
    expect(await gradeOf(ran(relaid), { certified })).toMatchObject({ verdict: 'pass' });
    expect(await gradeOf(ran('SELECT COUNT(*) FROM sales'), { certified })).toMatchObject({
      verdict: 'review',
      reasons: [expect.stringContaining('the certified query orders, which was not used')],
    });
    expect(await gradeOf(ran('SELECT COUNT(*) FROM sales'))).toMatchObject({ verdict: 'pass' });
  });

  test('only queries that failed are a wrong answer; a run or a query that cannot be had is an error', async () => {
    const failed = { queries: [{ sql: wrong, problem: 'MEMBER_NOT_FOUND: No member.' }] };
    expect(await gradeOf(failed)).toMatchObject({
      verdict: 'fail',
      reasons: ['No query of the answer worked. The last: MEMBER_NOT_FOUND: No member.'],
    });
    expect(await gradeOf({ failure: 'LANGUAGE_MODEL_FAILED: gone' })).toMatchObject({
      verdict: 'error',
      reasons: ['The run failed: LANGUAGE_MODEL_FAILED: gone'],
    });
    expect(await gradeOf(ran('unknown'))).toMatchObject({
      verdict: 'error',
      reasons: ['The SQL of the answer fails: QUERY_FAILED: no such query'],
    });
    // Without something to compare with, nothing is asked.
    const silent: AsUser = { ...answering({}), ask: () => Promise.reject(new Error('was asked')) };
    expect(await evaluateQuestion(silent, { ...question, sql: 'unknown' })).toMatchObject({
      verdict: 'error',
      reasons: ['The expected SQL fails: QUERY_FAILED: no such query'],
    });
  });
});

describe('readAnswer', () => {
  const frame = (fields: Partial<Frame>): Frame =>
    frameSchema.parse({ role: 'assistant', content: '', sort: 1, ...fields });
  const call = (id: string, sql: string, result?: object): Frame =>
    frame({
      id,
      toolCall: {
        name: 'acmeSqlApi',
        input: JSON.stringify({ sqlQuery: sql }),
        ...(result === undefined ? {} : { result: JSON.stringify(result) }),
      },
    });

  test('queries in their order, each once, under any brand', () => {
    const error = { code: 'MEMBER_NOT_FOUND', message: 'No member "x".', hint: 'Closest: y' };
    const frames = [
      frame({ id: 'meta', toolCall: { name: 'acmeMeta', input: '{}', result: '{}' } }),
      call('a', 'one'),
      call('b', 'two'),
      call('b', 'two', { error }),
      call('a', 'one', { data: [] }),
      call('c', 'three', { data: [] }),
      frame({ id: 'f', content: 'Done.', graphPath: ['final'] }),
    ];
    expect(readAnswer(frames)).toEqual({
      text: 'Done.',
      queries: [
        { sql: 'two', problem: 'MEMBER_NOT_FOUND: No member "x". Closest: y' },
        { sql: 'one', problem: null },
        { sql: 'three', problem: null },
      ],
      failure: null,
      usage: null,
    });
  });

  test('a run that fails or is stopped has no answer', () => {
    const failed = frame({
      id: '__error__',
      error: 'The language model failed.',
      code: 'LANGUAGE_MODEL_FAILED',
      requestId: 'r1',
    });
    expect(readAnswer([failed]).failure).toBe('LANGUAGE_MODEL_FAILED: The language model failed. (request id r1)');
    expect(readAnswer([frame({ id: '__aborted__', type: 'abort' })]).failure).toBe('The run was aborted.');
  });
});

describe('a folder of questions', () => {
  let root: string;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'inlay-eval-'));
  });
  afterAll(() => rm(root, { recursive: true, force: true, maxRetries: 3 }));

  const folderOf = async (name: string, files: Readonly<Record<string, string>>): Promise<string> => {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(root, name, path)), { recursive: true });
      await writeFile(join(root, name, path), text);
    }
    return join(root, name);
  };
  const certifiedQuery = `---\nname: Orders\nuser_request: How many orders?\nagents: [Shop analyst]\n---\n\`\`\`sql\n${right}\n\`\`\`\n`;

  test('questions get their SQL, their user and the certified query that is theirs', async () => {
    const folder = await folderOf('good', {
      'certified_queries/orders.md': certifiedQuery,
      'eval/b.yml': 'questions:\n  - question: how many orders\n    certified_query: orders\n    ordered: true\n',
      'eval/a.yml': `as: { groups: [merchant] }\nquestions:\n  - name: own\n    question: Revenue\n    sql: ${wrong}\n    as: { internalId: analyst }\n  - question: Revenue?\n    sql: ${wrong}\n`,
    });
    const read = await readAgentsFolder(folder);
    const asked = prepareQuestions(read, { agentName: 'shop analyst', as: { groups: ['all'] } });
    expect(asked).toMatchObject([
      { file: 'eval/a.yml', name: 'own', as: { internalId: 'analyst' }, sql: wrong, certified: null, isOrdered: false },
      { file: 'eval/a.yml', name: 'Revenue?', as: { groups: ['merchant'] } },
      { file: 'eval/b.yml', as: { groups: ['all'] }, sql: right, certified: { name: 'Orders' }, isOrdered: true },
    ]);
    // The query is of another agent: this one need not use it, but it says what is right.
    const [, , other] = prepareQuestions(read, { agentName: 'another', as: {} });
    expect(other).toMatchObject({ sql: right, certified: null });
    expect(() => prepareQuestions(read, { agentName: 'another', as: undefined })).toThrow(
      'eval/b.yml: "how many orders" is asked as nobody: give the question or its file "as", or use --as',
    );
  });

  test('everything that is wrong is told, with its place', async () => {
    const folder = await folderOf('bad', {
      'config.yml': 'llms: x\n',
      'eval/a.yml':
        'questions:\n  - question: " "\n    sql: x\n  - question: Both?\n    sql: x\n    certified_query: y\n  - question: None?\n',
      'eval/b.yml': 'as: { externalId: a, internalId: b }\nquestions:\n  - question: Q\n    sql: x\n    asked: y\n',
      'eval/c.yml': 'questions: [\n',
    });
    const error = await readAgentsFolder(folder).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConfigError);
    const text = String(error instanceof Error ? error.message : '').replaceAll(`${folder}/`, '');
    expect(text.split('\n')).toEqual([
      expect.stringMatching(/^config\.yml:1:\d+: "llms" is not known here/),
      'eval/a.yml:2:15: questions.0.question: must not be blank',
      'eval/a.yml:4:5: questions.1: sql, certified_query and expect exclude each other',
      'eval/a.yml:7:5: questions.2: needs one of sql, certified_query and expect',
      expect.stringMatching(/^eval\/b\.yml:1:5: as: externalId and internalId exclude each other$/),
      expect.stringMatching(/^eval\/b\.yml:5:12: "asked" is not known here/),
      expect.stringMatching(/^eval\/c\.yml:\d+:\d+: /),
    ]);
  });

  test('a certified query that is not there, no questions and no folder', async () => {
    const folder = await folderOf('missing', {
      'eval/a.yml': 'questions:\n  - question: Q\n    certified_query: nothing\n    as: {}\n',
    });
    const read = await readAgentsFolder(folder);
    expect(() => prepareQuestions(read, { agentName: 'a', as: undefined })).toThrow(
      'eval/a.yml: "Q": no certified query is called nothing',
    );
    await expect(readAgentsFolder(await folderOf('none', { 'README.md': '' }))).rejects.toThrow('holds no questions');
    await expect(readAgentsFolder(join(root, 'nowhere'))).rejects.toThrow('There is no folder');
  });
});
