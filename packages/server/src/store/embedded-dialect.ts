/**
 * Kysely's dialect for PGlite, which runs on the thread that serves everything else: between two statements, or transactions, the
 * event loop turns. Without that each statement that ends begins the next by itself, and while many wait nothing else happens; and
 * since Node accepts one connection in a turn, few turns mean that callers wait at the door until the system resets them.
 */
import type { PGlite } from '@electric-sql/pglite';
import { type Dialect, PGliteDialect, type PGliteQueryResults } from 'kysely';
import { createEmbeddedStatements } from './embedded-statements.ts';

/** The dialect over an open PGlite; who destroys the Kysely closes it. */
export function createEmbeddedDialect(pglite: PGlite): Dialect {
  const nextTurn = createTurns();
  const runPrepared = createEmbeddedStatements(pglite);

  function query<R>(text: string, parameters?: readonly unknown[]): Promise<PGliteQueryResults<R>>;
  async function query(text: string, parameters: readonly unknown[] = []): Promise<unknown> {
    await nextTurn();
    return (await runPrepared(text, parameters)) ?? pglite.query(text, [...parameters]);
  }

  return new PGliteDialect({
    pglite: {
      query,
      async transaction(work) {
        await nextTurn();
        return pglite.transaction(work);
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
