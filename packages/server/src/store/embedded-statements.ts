/**
 * Statements that repeat are prepared, on PGlite: parsed and planned once, and run with one message to the engine where PGlite's own
 * `query` sends six. On the thread that serves everything else this is a third of the cost.
 */
import { messages, type PGlite, parse, protocol } from '@electric-sql/pglite';
import { createStatementNames, isLostStatement } from './prepared-statements.ts';

/** Prepared statements at a time; what is beyond runs unprepared. */
const statementsMax = 200;

/** What a statement gave. */
export interface StatementResult {
  readonly rows: readonly unknown[];
  readonly affectedRows: number | undefined;
}

type Answer = Awaited<ReturnType<PGlite['execProtocolStream']>>;

interface Prepared {
  /** The types of what is bound, by their ids. */
  readonly types: readonly number[];
  /** What names the columns; none for a statement without rows. */
  readonly description: Answer;
}

/**
 * Gives a function that runs a statement that is prepared, or is to be; null where it is to be run as usual: it does not repeat.
 * Outside of transactions, and one at a time.
 */
export function createEmbeddedStatements(
  pglite: PGlite,
): (text: string, parameters: readonly unknown[]) => Promise<StatementResult | null> {
  const nameStatement = createStatementNames();
  const known = new Map<string, Prepared>();

  async function prepare(name: string, text: string): Promise<Prepared> {
    const { serialize } = protocol;
    const answer = await pglite.execProtocolStream(
      join([serialize.parse({ name, text }), serialize.describe({ type: 'S', name }), serialize.sync()]),
      {},
    );
    const prepared = {
      types: parse.parseDescribeStatementResults(answer),
      description: answer.filter((message) => message instanceof messages.RowDescriptionMessage),
    };
    known.set(name, prepared);
    return prepared;
  }

  async function execute(name: string, text: string, parameters: readonly unknown[]): Promise<StatementResult> {
    const { serialize } = protocol;
    const { types, description } = known.get(name) ?? (await prepare(name, text));
    const values = parameters.map((value, index) => {
      if (value === null || value === undefined) return null;
      const write = pglite.serializers[types[index] ?? 0];
      return write === undefined ? String(value) : write(value);
    });
    const answer = await pglite.execProtocolStream(
      join([serialize.bind({ statement: name, values }), serialize.execute({}), serialize.sync()]),
      {},
    );
    await pglite.syncToFs();
    const [result] = parse.parseResults([...description, ...answer], pglite.parsers);
    return { rows: result?.rows ?? [], affectedRows: result?.affectedRows };
  }

  return async (text, parameters) => {
    // Of one that is closed PGlite's own `query` says so.
    if (parameters.length === 0 || pglite.closed) return null;
    const name = nameStatement(text);
    if (name === undefined || (!known.has(name) && known.size >= statementsMax)) return null;
    try {
      return await pglite.runExclusive(() => execute(name, text, parameters));
    } catch (error) {
      if (!isLostStatement(error)) throw error;
      // A migration has changed what it gives. Nothing has been executed; the next time it is prepared anew.
      await pglite.runExclusive(() =>
        pglite.execProtocolStream(join([protocol.serialize.close({ type: 'S', name }), protocol.serialize.sync()]), {}),
      );
      known.delete(name);
      return null;
    }
  };
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}
