/** The file in which the operator names language models: what of it is taken, and how its problems are told. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readLanguageModelSettings } from '../src/agent/language-models/settings-file.ts';
import { ConfigError, readConfig } from '../src/config.ts';

const key = 'a-key-that-nobody-may-read';
let folder: string;
let file: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inlay-models-'));
  file = join(folder, 'models.yml');
  await writeFile(join(folder, 'key'), `${key}\n`);
  await writeFile(join(folder, 'two-lines'), 'one\ntwo\n');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const read = async (text: string, env: Readonly<Record<string, string>> = {}) => {
  await writeFile(file, text);
  return readLanguageModelSettings({ file, keyOf: (name) => env[name] }, 60_000);
};
/** The lines of the error, the file's name cut off. */
const problemsOf = async (text: string, env?: Readonly<Record<string, string>>): Promise<readonly string[]> => {
  const error: unknown = await read(text, env).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ConfigError)) throw new Error('it was taken', { cause: error });
  return error.problems.map((problem) => problem.replaceAll(folder, '').replace('/models.yml:', ''));
};

test('a whole file', async () => {
  const text = `
language_models:
  - name: claude
    provider: anthropic
    model: claude-sonnet-4-5
    api_key_env: ANTHROPIC_API_KEY
    reasoning: low
    max_output_tokens: 8000
    fallback: local
  - name: local
    provider: openai-compatible
    model: qwen3
    base_url: http://127.0.0.1:8000/v1
    temperature: 0
    input_tokens_max: 30000
    retries: 0
    first_token_seconds: 45
    turn_seconds: 120
  - name: gpt
    provider: openai
    model: gpt-5
    api_key_file: key
    private: true
`;
  expect(await read(text, { ANTHROPIC_API_KEY: ` ${key} ` })).toStrictEqual([
    {
      name: 'claude',
      provider: 'anthropic',
      model: 'claude-sonnet-4-5',
      baseUrl: 'https://api.anthropic.com/v1',
      apiKey: key,
      isPrivate: false,
      inputTokensMax: 100_000,
      outputTokensMax: 8000,
      temperature: null,
      reasoning: 'low',
      retries: 2,
      firstTokenMs: 30_000,
      turnMs: 300_000,
      fallback: 'local',
    },
    {
      name: 'local',
      provider: 'openai-compatible',
      model: 'qwen3',
      baseUrl: 'http://127.0.0.1:8000/v1',
      apiKey: null,
      isPrivate: false,
      inputTokensMax: 30_000,
      outputTokensMax: null,
      temperature: 0,
      reasoning: null,
      retries: 0,
      firstTokenMs: 45_000,
      turnMs: 120_000,
      fallback: null,
    },
    {
      name: 'gpt',
      provider: 'openai',
      model: 'gpt-5',
      baseUrl: 'https://api.openai.com/v1',
      apiKey: key,
      isPrivate: true,
      inputTokensMax: 100_000,
      outputTokensMax: null,
      temperature: null,
      reasoning: null,
      retries: 2,
      firstTokenMs: 30_000,
      turnMs: 300_000,
      fallback: null,
    },
  ]);
});

/** One model, its lines from line 2 on. */
const one = (...lines: readonly string[]): string =>
  ['language_models:', '  - name: m', ...lines.map((line) => `    ${line}`)].join('\n');
const local = ['provider: openai-compatible', 'model: q', 'base_url: http://127.0.0.1:1/v1'];

describe('problems have a line each', () => {
  test.each([
    ['not YAML', 'language_models: [', /^1:\d+: /],
    ['none at all', 'language_models: []', /^1:\d+: language_models: /],
    ['an unknown key', one(...local, 'api_key: x'), /^\d+:\d+: "api_key" is not known here$/],
    [
      'an unknown provider',
      one('provider: acme', 'model: q'),
      /^3:\d+: .*provider: must be one of: openai, openai-compatible, anthropic$/,
    ],
    [
      'the name of the built-in analyst',
      one(...local).replace('name: m', 'name: builtin'),
      /^2:\d+: .*built-in analyst/,
    ],
    ['no address', one('provider: openai-compatible', 'model: q'), /^3:\d+: .*needs base_url/],
    ['no key', one('provider: anthropic', 'model: q'), /^3:\d+: .*needs a key/],
    [
      'a key that is not set',
      one(...local, 'api_key_env: NOWHERE'),
      /^6:\d+: .*the environment variable NOWHERE is not set$/,
    ],
    ['a key file that is not there', one(...local, 'api_key_file: gone'), /^6:\d+: .*\/gone cannot be read: ENOENT/],
    ['a key file with white space', one(...local, 'api_key_file: two-lines'), /^6:\d+: .*two-lines must hold/],
    ['two keys', one(...local, 'api_key_env: A', 'api_key_file: key'), /^7:\d+: .*give one of them$/],
    [
      'a key in the address',
      one('provider: openai-compatible', 'model: q', `base_url: http://u:${key}@h/v1`),
      /^5:\d+: .*must be an http/,
    ],
    [
      'a fallback that is not there',
      one(...local, 'fallback: b'),
      /^6:\d+: .*there is no language model "b" in this file$/,
    ],
    ['a fallback to itself', one(...local, 'fallback: m'), /^6:\d+: .*in a circle$/],
    [
      'a wait beyond the silence',
      one(...local, 'first_token_seconds: 60'),
      /^6:\d+: .*INLAY_LANGUAGE_MODEL_SILENCE_MS/,
    ],
  ])('%s', async (_name, text, expected) => {
    const problems = await problemsOf(text);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(expected);
    expect(problems[0]).not.toContain(key);
  });

  test('a key that is no key is not echoed', async () => {
    const problems = await problemsOf(one(...local, 'api_key_env: A'), { A: `${key} ${key}` });
    expect(problems).toStrictEqual([
      '6:18: language_models.0.api_key_env: A must hold 1 to 4096 printable ASCII characters and no white space',
    ]);
  });

  test('a private model never stands in for one that is not, and all problems are told', async () => {
    const entry = (name: string, ...more: readonly string[]) =>
      [`  - name: ${name}`, ...[...local, ...more].map((line) => `    ${line}`)].join('\n');
    const text = ['language_models:', entry('a', 'fallback: b'), entry('b', 'private: true'), entry('a')].join('\n');
    expect(await problemsOf(text)).toStrictEqual([
      '6:15: language_models.0.fallback: a private model must not stand in for one that is not',
      '12:11: language_models.2.name: "a" occurs twice',
    ]);
  });
});

describe('INLAY_LANGUAGE_MODELS', () => {
  test('is a path, and keys are read by the names of their variables', () => {
    const { languageModels } = readConfig({ INLAY_LANGUAGE_MODELS: '/etc/inlay/models.yml', SOME_KEY: key });
    expect(languageModels?.file).toBe('/etc/inlay/models.yml');
    expect(languageModels?.keyOf('SOME_KEY')).toBe(key);
    expect(JSON.stringify(languageModels)).not.toContain(key);
  });
  test('unset, there are none', () => {
    expect(readConfig({}).languageModels).toBeUndefined();
  });
});
