/** Statements → the engine, each with settings and parameters of its own, as ClickHouse keeps those of HTTP requests apart. */
import { type ChdbSession, loadChdb } from './chdb.ts';

/** One request, as it came over HTTP. */
export interface Statement {
  readonly sql: string;
  readonly queryId: string;
  readonly database: string | null;
  readonly settings: ReadonlyMap<string, string>;
  /** By name; the texts as ClickHouse has them in URLs, escaped. */
  readonly parameters: ReadonlyMap<string, string>;
  readonly format: string;
}

/** The engine of the process. */
export interface Engine {
  /** What it answers, in pieces as the engine makes them. @throws an error with ClickHouse's words */
  run(statement: Statement): AsyncGenerator<Uint8Array>;
  /** Stops the query of that id, if it runs. */
  kill(queryId: string): Promise<void>;
}

const literal = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

/** The engine over the data of a folder. */
export function createEngine(dataFolder: string): Engine {
  const { Session } = loadChdb();
  // Held open: the engine shuts down with its last session.
  const control = new Session(dataFolder);
  const ask = (session: ChdbSession, sql: string, format = 'Null') => session.queryAsync(sql, { format });
  return {
    async *run({ sql, queryId, database, settings, parameters, format }) {
      const session = new Session(dataFolder);
      try {
        if (database !== null) await ask(session, `USE "${database.replaceAll('"', '""')}"`);
        // The engine makes query ids of its own: the client's is kept where a KILL can find it.
        const set = [`log_comment = ${literal(queryId)}`];
        for (const [name, value] of settings) if (name !== 'readonly') set.push(`${name} = ${literal(value)}`);
        for (const [name, value] of parameters) set.push(`param_${name} = ${literal(value)}`);
        // Last, as it forbids to set it again.
        const readonly = settings.get('readonly');
        if (readonly !== undefined) set.push(`readonly = ${Number(readonly)}`);
        await ask(session, `SET ${set.join(', ')}`);
        if (/EachRow/.test(format)) yield* streamed(session, sql, format);
        else yield (await ask(session, sql, format)).bytes();
      } finally {
        session.close();
      }
    },
    async kill(queryId) {
      await ask(control, `KILL QUERY WHERE Settings['log_comment'] = ${literal(queryId)} ASYNC`);
    },
  };
}

/** The chunks of a stream repeat the names and types, which over HTTP stand in the beginning only. */
async function* streamed(session: ChdbSession, sql: string, format: string): AsyncGenerator<Uint8Array> {
  const headerLines = format.endsWith('WithNamesAndTypes') ? 2 : format.endsWith('WithNames') ? 1 : 0;
  let isFirst = true;
  const stream = session.queryStream(sql, { format });
  try {
    for await (const chunk of stream) {
      const bytes = chunk.raw();
      let from = 0;
      for (let line = 0; line < headerLines && !isFirst; line++) from = bytes.indexOf(0x0a, from) + 1;
      isFirst = false;
      // The bytes are the engine's, and only for now.
      yield Uint8Array.from(bytes.subarray(from));
    }
  } finally {
    // After a failure, too: the engine would count the query as running.
    stream.cancel();
  }
}
