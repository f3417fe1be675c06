/**
 * Statements that repeat are prepared, on PostgreSQL: each connection parses and plans them once. A text counts as repeating
 * from its third use, so that texts that vary are not kept by the database; and a connection holds a bounded number of them.
 *
 * A prepared statement may stop working: a migration changed what it gives ("cached plan must not change result type"), or the
 * connection lost it (DISCARD ALL, a pooler that changes connections). Nothing has been executed then. Outside a transaction
 * the statement is tried once more, unprepared. Inside, the transaction is lost and the caller gets the error, as with a
 * connection that breaks. Either way nothing more is prepared on that connection, and it is closed when it is given back.
 */
import { createHash } from 'node:crypto';
import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { codeOf } from '../errors.ts';

/** From which use on a text is prepared. */
const usesUntilPrepared = 3;
/** Texts whose uses are counted, the latest used ones; the server has about a hundred in all. */
const textsMax = 500;
/** Prepared statements of one connection. What is beyond runs unprepared until the connection is replaced. */
const statementsMax = 200;
/** Changes of tables: the migration that makes them sets limits of its own (migrate.ts). */
const definition = /^\s*(create|alter|drop|lock)\b/i;

/** Gives the name under which a text is to be prepared; undefined while it has not been used often enough. */
export type NameStatement = (text: string) => string | undefined;

/**
 * Counts the uses of texts and names those that repeat. A name is a hash of its text: wherever two processes meet on one
 * connection of a pooler, the same name is the same statement.
 */
export function createStatementNames(): NameStatement {
  const texts = new Map<string, { uses: number; readonly name: string | undefined }>();
  return (text) => {
    const known = texts.get(text);
    if (known === undefined) {
      const oldest = texts.size >= textsMax ? texts.keys().next().value : undefined;
      if (oldest !== undefined) texts.delete(oldest);
      texts.set(text, { uses: 1, name: undefined });
      return undefined;
    }
    // Put at the end: the map is in the order of use.
    texts.delete(text);
    const uses = known.uses + 1;
    const name = uses < usesUntilPrepared ? undefined : (known.name ?? hashOf(text));
    texts.set(text, { uses, name });
    return name;
  };
}

const hashOf = (text: string): string =>
  `inlay_${createHash('sha256').update(text, 'utf8').digest('base64url').slice(0, 24)}`;

/**
 * The pool as Kysely uses it, with statements prepared. Ending it ends `pool`. A statement that gets no reply in
 * `replyMs` milliseconds fails, and its connection is closed: for a database that has vanished; one that is slow answers before.
 */
export function preparingPool(pool: Pool, replyMs: number): PostgresPool {
  const nameStatement = createStatementNames();
  const clients = new WeakMap<PoolClient, PreparingClient>();
  return {
    options: pool.options,
    connect: async () => {
      const client = await pool.connect();
      // Kysely keeps what it knows of a connection by its identity.
      const known = clients.get(client);
      if (known !== undefined) return known;
      const made = new PreparingClient(client, nameStatement, replyMs);
      clients.set(client, made);
      return made;
    },
    end: () => pool.end(),
  };
}

/** A connection. A class, since only a class states overloads without a cast. */
class PreparingClient implements PostgresPoolClient {
  readonly #client: PoolClient;
  readonly #nameStatement: NameStatement;
  readonly #replyMs: number;
  readonly #prepared = new Set<string>();
  /** Not to be used by anyone after this one. */
  #isRetired = false;
  /** No reply came: whatever comes next would wait behind it. */
  #isBroken = false;

  constructor(client: PoolClient, nameStatement: NameStatement, replyMs: number) {
    this.#client = client;
    this.#nameStatement = nameStatement;
    this.#replyMs = replyMs;
  }

  query<R>(text: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<R>>;
  query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>;
  query(text: string | PostgresCursor<unknown>, parameters: readonly unknown[] = []): unknown {
    if (typeof text !== 'string') throw new Error('Results are not streamed from the store.');
    return this.#run(text, parameters);
  }

  release(destroy?: boolean): void {
    this.#client.release(destroy === true || this.#isRetired);
  }

  async #run(text: string, parameters: readonly unknown[]) {
    if (this.#isBroken) throw new Error('The connection to the store is broken.');
    const values = [...parameters];
    const unnamed = { text, values, query_timeout: definition.test(text) ? 0 : this.#replyMs };
    const isInTransaction = this.#client.getTransactionStatus() !== 'I';
    const name = this.#nameFor(text, values);
    try {
      return await this.#client.query(name === undefined ? unnamed : { name, ...unnamed });
    } catch (error) {
      if (name !== undefined && isLostStatement(error)) {
        this.#isRetired = true;
        if (!isInTransaction) return await this.#client.query(unnamed);
      } else if (!isFromServer(error)) {
        this.#isRetired = true;
        this.#isBroken = true;
      }
      throw error;
    }
  }

  #nameFor(text: string, values: readonly unknown[]): string | undefined {
    // What binds nothing, such as `begin`, takes the simple protocol, which is one message.
    if (values.length === 0 || this.#isRetired) return undefined;
    const name = this.#nameStatement(text);
    if (name === undefined || this.#prepared.has(name)) return name;
    if (this.#prepared.size >= statementsMax) return undefined;
    this.#prepared.add(name);
    return name;
  }
}

/** Whether the database said this; else the connection, or a time limit of the driver, did. */
function isFromServer(error: unknown): boolean {
  return error instanceof Error && 'severity' in error;
}

/** The prepared statement is unknown, belongs to somebody else, or gives other columns than it did. */
export function isLostStatement(error: unknown): boolean {
  const code = codeOf(error);
  if (code === '26000' || code === '42P05') return true;
  return code === '0A000' && error instanceof Error && 'routine' in error && error.routine === 'RevalidateCachedQuery';
}
