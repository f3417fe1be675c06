/** The arguments of a command that calls an operation: path parameters in their order, then flags. Pure. */
import type { Operation } from '@inlay/contract/operation.ts';
import { ConfigError } from '../config.ts';
import { type Flag, flagsOf, readFlag } from './flags.ts';

/** A call as it was typed. */
export interface ParsedCall {
  /** The path with its parameters filled in. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** What the flags say of the body; undefined: none says anything. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  /** The file whose JSON the flags add to; `-`: standard input. */
  readonly bodyFile: string | undefined;
  /** Print JSON and not for people. */
  readonly isJson: boolean;
  /** Follow the pages of a list to its end. */
  readonly isAll: boolean;
}

/** The path parameters of an operation, in their order. */
export function parametersOf({ path }: Pick<Operation, 'path'>): readonly string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
}

/** @throws ConfigError that says what is wrong with the arguments. */
export function parseCall(operation: Operation, args: readonly string[]): ParsedCall {
  const { positionals, flags } = splitArguments(args);
  const known = new Map(flagsOf(operation).map((flag) => [flag.name, flag]));
  const problem = (text: string): ConfigError =>
    new ConfigError([`${text} (npm run inlay -- ${operation.command} --help)`]);

  const parameters = parametersOf(operation);
  for (const [index, name] of parameters.entries()) {
    if (!positionals[index]) throw problem(`${operation.command} needs <${name}>`);
  }
  const extra = positionals[parameters.length];
  if (extra !== undefined) throw problem(`${operation.command} does not take ${extra}`);

  const isList = isListOperation(operation);
  const own = { json: flags.get('json'), all: flags.get('all'), body: flags.get('body') };
  for (const name of ['json', 'all', 'body']) flags.delete(name);
  if (own.all !== undefined && !isList) throw problem(`${operation.command} has no --all: it is not a list`);
  if (own.body !== undefined && operation.body === undefined) throw problem(`${operation.command} takes no body`);
  if (own.body?.length === 1 && own.body[0] === null) throw problem('--body needs a file, or - for standard input');

  const query: Record<string, string> = {};
  const body: Record<string, unknown> = {};
  for (const [name, given] of flags) {
    const flag = known.get(name);
    if (flag === undefined) throw problem(`${operation.command} has no --${name}`);
    const texts = given.map((text) => text ?? (flag.kind === 'boolean' ? 'true' : undefined));
    if (!texts.every((text) => text !== undefined)) throw problem(`--${name} needs a value`);
    const read = readFlag(flag, texts);
    if (read === undefined) throw problem(`--${name} ${expectation(flag, texts.length)}`);
    if (flag.place === 'query') query[flag.path[0] ?? ''] = texts[0] ?? '';
    else put(body, flag.path, read.value);
  }
  const missing = [...known.values()].find((flag) => flag.isRequired && !flags.has(flag.name));
  if (missing !== undefined && own.body === undefined) throw problem(`${operation.command} needs --${missing.name}`);

  let index = 0;
  return {
    path: operation.path.replaceAll(/:\w+/g, () => encodeURIComponent(positionals[index++] ?? '')),
    query,
    body: Object.keys(body).length === 0 ? undefined : body,
    bodyFile: own.body?.at(-1) ?? undefined,
    isJson: own.json !== undefined,
    isAll: own.all !== undefined,
  };
}

/** Whether the reply comes in pages. */
export function isListOperation({ query }: Pick<Operation, 'query'>): boolean {
  return 'after' in query.shape;
}

function expectation({ kind, itemKind }: Flag, count: number): string {
  const expected: Readonly<Record<Flag['kind'], string>> = {
    text: 'must be a text',
    number: 'must be a number',
    boolean: 'must be true or false',
    json: 'must be JSON',
    list: itemKind === 'text' ? 'must be given once per item, or be a JSON list' : 'must be a JSON list',
  };
  return kind !== 'list' && count > 1 ? 'can be given once only' : expected[kind];
}

function put(body: Record<string, unknown>, [first = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    body[first] = value;
    return;
  }
  const inner: Record<string, unknown> = { ...asObject(body[first]) };
  put(inner, rest, value);
  body[first] = inner;
}

const asObject = (value: unknown): object => (typeof value === 'object' && value !== null ? value : {});

/** `--name value`, `--name=value`, and `--name` before another flag or the end, whose value is null. */
function splitArguments(args: readonly string[]): {
  readonly positionals: readonly string[];
  readonly flags: Map<string, (string | null)[]>;
} {
  const positionals: string[] = [];
  const flags = new Map<string, (string | null)[]>();
  const bare = new Set(['json', 'all']);
  for (let index = 0; index < args.length; index++) {
    const text = args[index] ?? '';
    const [, typed = '', equal] = /^--([^=]+)(?:=(.*))?$/s.exec(text) ?? [];
    if (typed === '') {
      positionals.push(text);
      continue;
    }
    const name = typed.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    const next = args[index + 1];
    const takesNext = equal === undefined && !bare.has(name) && next !== undefined && !next.startsWith('--');
    if (takesNext) index++;
    flags.set(name, [...(flags.get(name) ?? []), equal ?? (takesNext ? next : null)]);
  }
  return { positionals, flags };
}
