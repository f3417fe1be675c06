/** ClickHouse's HTTP interface, as much of it as `@clickhouse/client` and these tests use, in front of an engine. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Engine, Statement } from './engine.ts';

/**
 * How a failure looks once rows have been sent: as ClickHouse writes it since 25.11, as older ones do, or a connection that
 * ends in the middle.
 */
export type FailureStyle = 'tagged' | 'plain' | 'cut';

/** A user that the engine lets read only (`readonly = 2`). */
export const readerOfClickHouse = { user: 'reader', password: "a reader's password" } as const;

/** The server in front of an engine. */
export interface Shim {
  serve(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** How failures after the first row look from now on. */
  failAs(style: FailureStyle): void;
}

/** Parameters of a URL that are no settings, and settings that only ClickHouse's own HTTP server knows. */
const notSettings: ReadonlySet<string> = new Set(
  'query query_id database default_format session_id wait_end_of_query enable_http_compression user password role'.split(
    ' ',
  ),
);
const passwords: ReadonlyMap<string, string> = new Map([
  ['default', ''],
  [readerOfClickHouse.user, readerOfClickHouse.password],
]);

/** @param onKill is told the id of each query that somebody wants to be killed */
export function createShim(engine: Engine, onKill: (queryId: string) => void): Shim {
  let style: FailureStyle = 'tagged';
  return {
    failAs(chosen) {
      style = chosen;
    },
    async serve(request, response) {
      try {
        await answer(request, response);
      } catch (error) {
        refuse(response, error);
      }
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://localhost');
    if (url.pathname === '/ping') return void response.end('Ok.\n');
    const user = authenticate(request);
    const statement = await readStatement(request, url, user);
    const killed = /^\s*KILL\s+QUERY\s+WHERE\s+query_id\s*=\s*'([^'\\]*)'/i.exec(statement.sql)?.[1];
    if (killed !== undefined) {
      onKill(killed);
      await engine.kill(killed);
      return void response.end();
    }
    const tag = randomBytes(8).toString('hex');
    // As ClickHouse does it: only then, and only for queries that cannot write.
    const isKilledOnClose =
      Number(statement.settings.get('readonly') ?? 0) > 0 &&
      statement.settings.get('cancel_http_readonly_queries_on_client_close') === '1';
    const onClose = (): void => {
      if (isKilledOnClose && !response.writableFinished) void engine.kill(statement.queryId);
    };
    response.on('close', onClose);
    let hasBegun = false;
    try {
      for await (const bytes of engine.run(statement)) {
        if (!hasBegun) {
          response.writeHead(200, {
            'X-ClickHouse-Query-Id': statement.queryId,
            'X-ClickHouse-Format': statement.format,
            'X-ClickHouse-Timezone': 'UTC',
            ...(style === 'tagged' ? { 'X-ClickHouse-Exception-Tag': tag } : {}),
          });
        }
        hasBegun = true;
        if (response.destroyed) return;
        if (bytes.length > 0 && !response.write(bytes)) {
          await Promise.race([once(response, 'drain'), once(response, 'close')]);
        }
      }
      response.end();
    } catch (error) {
      if (!hasBegun) throw error;
      if (style === 'cut') return void response.destroy();
      const message = `${messageOf(error)}\n`;
      // An older one leaves the last row as far as it came; the text then has neither a mark nor a line end.
      if (style === 'plain') return void response.end(message.trimEnd());
      const length = Buffer.byteLength(message);
      response.end(`\r\n__exception__\r\n${tag}\r\n${message}${length} ${tag}\r\n__exception__\r\n`);
    } finally {
      response.off('close', onClose);
    }
  }
}

/** The name of the user. @throws what ClickHouse says of a wrong password */
function authenticate({ headers }: IncomingMessage): string {
  const basic = /^Basic (.+)$/.exec(headers.authorization ?? '')?.[1];
  const [name = '', ...rest] =
    basic === undefined ? ['default', ''] : Buffer.from(basic, 'base64').toString().split(':');
  if (passwords.get(name) === rest.join(':')) return name;
  throw new Error(
    `Code: 516. DB::Exception: ${name}: Authentication failed: password is incorrect, or there is no user with such name. (AUTHENTICATION_FAILED)`,
  );
}

async function readStatement(request: IncomingMessage, url: URL, user: string): Promise<Statement> {
  const body = await text(request);
  const boundary = /^multipart\/form-data;\s*boundary=(.+)$/i.exec(request.headers['content-type'] ?? '')?.[1];
  const fields = new Map([...url.searchParams, ...(boundary === undefined ? [] : readParts(body, boundary))]);
  const asked = [fields.get('query') ?? '', boundary === undefined ? body : '']
    .filter((part) => part !== '')
    .join('\n');
  const format = /\s+FORMAT\s+(\w+)\s*$/i.exec(asked);
  const settings = new Map([...fields].filter(([name]) => !notSettings.has(name) && !name.startsWith('param_')));
  if (user === readerOfClickHouse.user && !settings.has('readonly')) settings.set('readonly', '2');
  return {
    sql: format === null ? asked : asked.slice(0, format.index),
    queryId: fields.get('query_id') ?? crypto.randomUUID(),
    database: fields.get('database') ?? null,
    settings,
    parameters: new Map(
      [...fields].flatMap(([name, value]) => (name.startsWith('param_') ? [[name.slice('param_'.length), value]] : [])),
    ),
    format: format?.[1] ?? fields.get('default_format') ?? 'TabSeparated',
  };
}

/** The fields of a multipart body. */
function* readParts(body: string, boundary: string): Generator<[string, string]> {
  for (const part of body.split(`--${boundary}`)) {
    const read = /^\r\nContent-Disposition: form-data; name="([^"]+)"\r\n\r\n([\s\S]*)\r\n$/.exec(part);
    if (read !== null) yield [read[1] ?? '', read[2] ?? ''];
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** A failure before the first row: a status, a header, and ClickHouse's words. */
function refuse(response: ServerResponse, error: unknown): void {
  const message = messageOf(error);
  const code = Number(/^Code: (\d+)\./.exec(message)?.[1] ?? 1002);
  const status = [516].includes(code)
    ? 403
    : [60, 81].includes(code)
      ? 404
      : [62, 47, 43, 386].includes(code)
        ? 400
        : 500;
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { 'X-ClickHouse-Exception-Code': String(code) });
  response.end(`${message} (version 26.7.2.1)\n`);
}
