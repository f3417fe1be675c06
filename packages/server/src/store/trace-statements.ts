/** Statements of the store as spans: their text, which holds no value since values are bound, and how long they took. */
import type { LogEvent } from 'kysely';
import type { Traces } from '../telemetry/telemetry.ts';

/** What Kysely is to tell of every statement; undefined when nobody wants to know. */
export function traceStatements(traces: Traces): ((statement: LogEvent) => void) | undefined {
  if (!traces.isOn) return undefined;
  return ({ level, query, queryDurationMillis }) => {
    const text = query.sql.replaceAll(/\s+/g, ' ').trim();
    const operation = /^[a-z]+/i.exec(text)?.[0].toLowerCase() ?? 'statement';
    const attributes = { 'db.system.name': 'postgresql', 'db.query.text': text, 'inlay.is_error': level === 'error' };
    traces.ended(`store ${operation}`, attributes, queryDurationMillis);
  };
}
