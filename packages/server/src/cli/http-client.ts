/** Calls of the management API by the command line. */
import { readFile } from 'node:fs/promises';
import { text as readStream } from 'node:stream/consumers';
import { errorBodySchema } from '@inlay/contract/error.ts';
import type { Operation } from '@inlay/contract/operation.ts';
import { pageInfoSchema } from '@inlay/contract/page.ts';
import { z } from 'zod';
import { ConfigError } from '../config.ts';
import { reasonOf } from '../errors.ts';
import type { ParsedCall } from './arguments.ts';
import type { ClientConfig } from './client-config.ts';

const timeoutMs = 60_000;

/** A reply that is a page. */
export const pageSchema = z.object({ items: z.array(z.unknown()), pageInfo: pageInfoSchema });

/**
 * Calls the operation once.
 * @returns the reply's JSON; undefined when it has none (204).
 * @throws ConfigError with the error that the server gave, its code first, or why there is no reply.
 */
export async function callOperation(
  { url, apiKey }: ClientConfig,
  { method }: Pick<Operation, 'method'>,
  { path, query, body }: Pick<ParsedCall, 'path' | 'query' | 'body'>,
): Promise<unknown> {
  if (apiKey === undefined) {
    throw new ConfigError([
      'There is no API key: set INLAY_API_KEY to an admin key.',
      'For the first one of an account, on the machine of the store: npm run inlay -- keys create --direct',
    ]);
  }
  const search = new URLSearchParams(query).toString();
  const address = `${url}${path}${search === '' ? '' : `?${search}`}`;
  const reply = await fetch(address, {
    method,
    headers: {
      authorization: `Api-Key ${apiKey}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  }).catch((error: unknown) => {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    throw new ConfigError([`The server at ${url} does not answer: ${reasonOf(cause)}`]);
  });
  const text = await reply.text();
  if (reply.status === 204) return undefined;
  const json = parseJson(text);
  if (reply.ok && json !== undefined) return json;
  throw new ConfigError(errorLines(url, reply.status, json));
}

/** What an error reply says, as lines for people: the code first. */
export function errorLines(url: string, status: number, json: unknown): readonly string[] {
  const error = errorBodySchema.safeParse(json).data;
  if (error === undefined) return [`${url} answered with status ${status}, and not as an Inlay server does.`];
  const issues = (error.issues ?? []).map(({ path, message }) => `  ${path === '' ? '(all)' : path}: ${message}`);
  return [`${error.code}: ${error.message}`, ...issues, `  request id: ${error.requestId}`].map(plain);
}

/** What a server says is text from outside: nothing in it may steer the terminal. */
export const plain = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd');

/** The JSON object in a file, or for `-` in standard input. @throws ConfigError when there is none. */
export async function readBodyFile(file: string): Promise<Readonly<Record<string, unknown>>> {
  const from = file === '-' ? 'standard input' : file;
  const text = await (file === '-' ? readStream(process.stdin) : readFile(file, 'utf8')).catch((error: unknown) => {
    throw new ConfigError([`${from} cannot be read: ${reasonOf(error)}`]);
  });
  const body = z.record(z.string(), z.unknown()).safeParse(parseJson(text)).data;
  if (body === undefined) throw new ConfigError([`${from} does not hold a JSON object.`]);
  return body;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
