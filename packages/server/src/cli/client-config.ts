/** Where the command line finds the server and its key: the environment, then the data folder. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ConfigError } from '../config.ts';
import { codeOf, reasonOf } from '../errors.ts';

/** What a call needs. */
export interface ClientConfig {
  /** Without a trailing slash. */
  readonly url: string;
  /** Of INLAY_API_KEY, or the file in which a first start with the demo left one; undefined: there is none. */
  readonly apiKey: string | undefined;
}

/**
 * Reads INLAY_URL, INLAY_API_KEY and, without the latter, the file `api-key` in INLAY_DATA_DIR. An empty variable counts as unset.
 * @throws ConfigError when one of them cannot be used; no secret is in it.
 */
export async function readClientConfig(env: Readonly<Record<string, string | undefined>>): Promise<ClientConfig> {
  const text = env['INLAY_URL'] || 'http://127.0.0.1:4000';
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '' || url.hash !== '') {
    throw new ConfigError(['INLAY_URL must be an http:// or https:// URL without user name, query and fragment.']);
  }
  const apiKey = env['INLAY_API_KEY'] || (await readKeyFile(resolve(env['INLAY_DATA_DIR'] || '.inlay', 'api-key')));
  if (apiKey !== undefined && !/^[!-~]+$/.test(apiKey)) {
    throw new ConfigError(['INLAY_API_KEY must have printable ASCII characters only.']);
  }
  return { url: text.replace(/\/+$/, ''), apiKey };
}

async function readKeyFile(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim() || undefined;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
    throw new ConfigError([`The key file ${path} cannot be read: ${reasonOf(error)}`]);
  }
}
