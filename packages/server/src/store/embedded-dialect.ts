/**
 * Kysely's dialect for PGlite, which runs on the thread that serves everything else: between two statements, or transactions, the
 * event loop turns. Without that each statement that ends begins the next by itself, and while many wait nothing else happens; and
 * since Node accepts one connection in a turn, few turns mean that callers wait at the door until the system resets them.
 */
import type { PGlite } from '@electric-sql/pglite';
import { type Dialect, PGliteDialect, type PGliteQueryResults } from 'kysely';
import type { Changes } from './changes.ts';
import { createEmbeddedStatements } from './embedded-statements.ts';

/** The dialect, and how many statements and transactions of it may have written something: see `writes` of {@link Changes}. */
export interface EmbeddedDialect {
  readonly dialect: Dialect;
  readonly writes: () => number;
}

/** The dialect over an open PGlite; who destroys the Kysely closes it. */
export function createEmbeddedDialect(pglite: PGlite): EmbeddedDialect {
  const nextTurn = createTurns();
  const runPrepared = createEmbeddedStatements(pglite);
  let writes = 0;
  const mayWrite = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } finally {
      writes += 1;
    }
  };

  function query<R>(text: string, parameters?: readonly unknown[]): Promise<PGliteQueryResults<R>>;
  async function query(text: string, parameters: readonly unknown[] = []): Promise<unknown> {
    await nextTurn();
    const run = async (): Promise<unknown> =>
      (await runPrepared(text, parameters)) ?? pglite.query(text, [...parameters]);
    // What a `select` may do besides is to tell of a change; a statement that begins with `with` may write.
    return /^\s*select\b/i.test(text) ? run() : mayWrite(run);
  }

  const dialect = new PGliteDialect({
    pglite: {
      query,
      async transaction(work) {
        await nextTurn();
        return mayWrite(() => pglite.transaction(work));
      },
      close: () => pglite.close(),
      get closed() {
        return pglite.closed;
      },
      get ready() {
        return pglite.ready;
      },
      waitReady: pglite.waitReady,
    },
  });
  return { dialect, writes: () => writes };
}

/** Gives a function that resolves once in each turn of the event loop: at once where it has not been called in this one. */
function createTurns(): () => Promise<void> {
  let isTaken = false;
  return async () => {
    if (isTaken) await new Promise((resolve) => setImmediate(resolve));
    isTaken = true;
    setImmediate(() => {
      isTaken = false;
    });
  };
}
