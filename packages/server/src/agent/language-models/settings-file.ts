/** The file in which the operator names the language models over the network (settings.md): its shape, and reading it. */
import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { ConfigError } from '../../config.ts';
import { reasonOf } from '../../errors.ts';
import { parsePublicUrl } from '../../setting-values.ts';
import { type ConfigurationIssue, issueText, readYaml } from '../../yaml-source.ts';
import { isProviderName, type ProviderName, providers } from './providers.ts';
import { builtinName } from './registry.ts';

const fileBytesMax = 262_144;
const keyBytesMax = 16_384;
const languageModelsMax = 100;

const pathSchema = z
  .string()
  .min(1)
  .max(4096)
  .refine((path) => !path.includes('\0'), 'must not contain NUL');

const languageModelSchema = z
  .strictObject({
    name: z
      .string()
      .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'must have 1 to 64 small letters, digits, ".", "_" or "-"')
      .refine((name) => name !== builtinName, `"${builtinName}" is the built-in analyst`),
    provider: z.string().transform((name, context): ProviderName => {
      if (isProviderName(name)) return name;
      context.addIssue({ code: 'custom', message: `must be one of: ${Object.keys(providers).join(', ')}` });
      return z.NEVER;
    }),
    model: z.string().min(1).max(256),
    base_url: z
      .string()
      .max(2048)
      .refine(
        (text) => parsePublicUrl(text) !== undefined,
        'must be an http:// or https:// URL without a trailing slash, user name, query or fragment',
      )
      .optional(),
    api_key_env: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be the name of an environment variable')
      .optional(),
    api_key_file: pathSchema.optional(),
    private: z.boolean().default(false),
    input_tokens_max: z.int().min(1000).max(10_000_000).default(100_000),
    max_output_tokens: z.int().min(1).max(1_000_000).optional(),
    temperature: z.number().min(0).max(2).optional(),
    reasoning: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).optional(),
    retries: z.int().min(0).max(10).default(2),
    first_token_seconds: z.number().min(0.1).max(600).optional(),
    turn_seconds: z.number().min(1).max(3600).default(300),
    fallback: z.string().optional(),
  })
  .superRefine((entry, context) => {
    const wrong = (path: string, message: string): void => context.addIssue({ code: 'custom', path: [path], message });
    if (entry.api_key_env !== undefined && entry.api_key_file !== undefined) {
      wrong('api_key_file', 'api_key_env and api_key_file are both given: give one of them');
    }
    const { defaultBaseUrl, needsKey } = providers[entry.provider];
    if (entry.base_url === undefined && defaultBaseUrl === null) {
      wrong('provider', `needs base_url, the address of the server's API`);
    }
    if (needsKey && entry.api_key_env === undefined && entry.api_key_file === undefined) {
      wrong('provider', 'needs a key: give api_key_env or api_key_file');
    }
  });

const fileSchema = z.strictObject({
  language_models: z.array(languageModelSchema).min(1).max(languageModelsMax),
});

/** A language model over the network, as the operator describes it. All of it is valid, and its key is there. */
export interface LanguageModelSettings {
  readonly name: string;
  readonly provider: ProviderName;
  /** The provider's own name of the model. */
  readonly model: string;
  /** Without a trailing slash. */
  readonly baseUrl: string;
  /** Null: the server asks for none. */
  readonly apiKey: string | null;
  readonly isPrivate: boolean;
  readonly inputTokensMax: number;
  /** What is null is the provider's to choose. */
  readonly outputTokensMax: number | null;
  readonly temperature: number | null;
  readonly reasoning: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max' | null;
  /** Attempts after the first one, 0–10. */
  readonly retries: number;
  /** From the beginning of an attempt to the first word, thought or tool call, in milliseconds. */
  readonly firstTokenMs: number;
  /** The whole turn, all attempts together, in milliseconds. */
  readonly turnMs: number;
  /** The name of the one that answers when this one cannot; null: there is none. */
  readonly fallback: string | null;
}

/** What is wrong with an entry, at which of its keys. */
type Problem = { readonly key: string; readonly message: string };
type Entry = z.infer<typeof languageModelSchema>;

/** Where the settings come from. */
export interface LanguageModelSource {
  readonly file: string;
  /** The value of the environment variable that holds a key; undefined: it is not set. */
  readonly keyOf: (variable: string) => string | undefined;
}

/**
 * Reads the file. Relative paths in it count from the file.
 * @param silenceMs the longest silence that the agent bears (`languageModelSilenceMs`): waiting for a first token must end
 *   before that, or no fallback would ever be asked.
 * @throws ConfigError with one line per problem: file, line, column, path and what is wrong; never a key.
 */
export async function readLanguageModelSettings(
  { file, keyOf }: LanguageModelSource,
  silenceMs: number,
): Promise<readonly LanguageModelSettings[]> {
  const issues: ConfigurationIssue[] = [];
  const read = readYaml({ path: file, text: await readText(file, fileBytesMax) }, fileSchema, issues);
  const settings: LanguageModelSettings[] = [];
  if (read !== null) {
    const entries = read.value.language_models;
    const report = (index: number, { key, message }: Problem): void =>
      read.report(['language_models', index, key], `language_models.${index}.${key}: ${message}`);
    for (const [index, entry] of entries.entries()) {
      for (const problem of findProblems(entries, index, silenceMs)) report(index, problem);
      const { value, problem } = await readKey(entry, dirname(resolve(file)), keyOf);
      if (problem !== null) report(index, problem);
      settings.push(toSettings(entry, value, silenceMs));
    }
  }
  if (issues.length > 0) throw new ConfigError(issues.map(issueText));
  return settings;
}

function toSettings(entry: Entry, apiKey: string | null, silenceMs: number): LanguageModelSettings {
  return {
    name: entry.name,
    provider: entry.provider,
    model: entry.model,
    baseUrl: entry.base_url ?? providers[entry.provider].defaultBaseUrl ?? '',
    apiKey,
    isPrivate: entry.private,
    inputTokensMax: entry.input_tokens_max,
    outputTokensMax: entry.max_output_tokens ?? null,
    temperature: entry.temperature ?? null,
    reasoning: entry.reasoning ?? null,
    retries: entry.retries,
    firstTokenMs: entry.first_token_seconds === undefined ? silenceMs / 2 : entry.first_token_seconds * 1000,
    turnMs: entry.turn_seconds * 1000,
    fallback: entry.fallback ?? null,
  };
}

/** Names that occur twice, fallbacks that are not there or would be told what they may not know, waits that are too long. */
function* findProblems(entries: readonly Entry[], index: number, silenceMs: number): Generator<Problem> {
  const entry = entries[index];
  if (entry === undefined) return;
  const { name, fallback, first_token_seconds: seconds } = entry;
  if (entries.findIndex((other) => other.name === name) < index) {
    yield { key: 'name', message: `${JSON.stringify(name)} occurs twice` };
  }
  if (seconds !== undefined && seconds * 1000 >= silenceMs) {
    const message = `must be less than INLAY_LANGUAGE_MODEL_SILENCE_MS (${silenceMs} milliseconds)`;
    yield { key: 'first_token_seconds', message };
  }
  if (fallback === undefined) return;
  const byName = new Map(entries.map((other) => [other.name, other]));
  const next = byName.get(fallback);
  const wrong = (message: string): Problem => ({ key: 'fallback', message });
  if (next === undefined) yield wrong(`there is no language model ${JSON.stringify(fallback)} in this file`);
  else if (next.private && !entry.private) yield wrong('a private model must not stand in for one that is not');
  else if (leadsBack(name, byName)) yield wrong('the fallbacks lead round in a circle');
}

function leadsBack(name: string, byName: ReadonlyMap<string, Entry>): boolean {
  let next = byName.get(name)?.fallback;
  for (let steps = 0; next !== undefined && steps < languageModelsMax; steps++) {
    if (next === name) return true;
    next = byName.get(next)?.fallback;
  }
  return false;
}

/** The key of an entry, and what is wrong with it. */
async function readKey(
  { api_key_env: variable, api_key_file: path }: Entry,
  folder: string,
  keyOf: LanguageModelSource['keyOf'],
): Promise<{ readonly value: string | null; readonly problem: Problem | null }> {
  const wrong = (key: string, message: string) => ({ value: null, problem: { key, message } });
  const isKey = (text: string): boolean => /^[!-~]{1,4096}$/.test(text);
  const shape = 'must hold 1 to 4096 printable ASCII characters and no white space';
  if (variable !== undefined) {
    const value = keyOf(variable)?.trim() ?? '';
    if (value === '') return wrong('api_key_env', `the environment variable ${variable} is not set`);
    return isKey(value) ? { value, problem: null } : wrong('api_key_env', `${variable} ${shape}`);
  }
  if (path === undefined) return { value: null, problem: null };
  try {
    const value = (await readText(resolve(folder, path), keyBytesMax)).trim();
    return isKey(value) ? { value, problem: null } : wrong('api_key_file', `${path} ${shape}`);
  } catch (error) {
    return wrong('api_key_file', reasonOf(error));
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
