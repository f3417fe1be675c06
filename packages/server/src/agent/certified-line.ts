/** The last line of an answer that rests on certified queries. Pure. */
import { plainText } from '@inlay/analyst/plain-text.ts';
import { z } from 'zod';
import type { FinishedCall } from './agent-dependencies.ts';
import type { CertifiedQuery } from './configuration/agent-configuration.ts';
import { type FingerprintOf, fingerprintOrNull } from './configuration/certified-queries.ts';

const namesMax = 5;
const sqlInput = z.object({ sqlQuery: z.string() });

/**
 * Says which of the queries that ran are certified: the same query, whatever its layout. An answer that rests on others too says
 * so. Null when none is.
 * @param sqlToolName the tool whose calls are queries; failed ones do not count
 */
export function certifiedLine(
  certified: readonly CertifiedQuery[],
  sqlToolName: string,
  calls: readonly FinishedCall[],
  fingerprintOf: FingerprintOf = fingerprintOrNull,
): string | null {
  if (certified.length === 0) return null;
  const ran = calls.filter(({ name, hasFailed }) => name === sqlToolName && !hasFailed);
  const found = ran.map(({ input }) => certifiedOf(certified, fingerprintOf(sqlOf(input))));
  const names = [...new Set(found.flatMap((query) => (query === null ? [] : [query.name])))];
  if (names.length === 0) return null;
  const quoted = names.slice(0, namesMax).map((name) => `“${plainText(name, 128)}”`);
  const list = [...quoted, ...(names.length > namesMax ? [`${names.length - namesMax} more`] : [])].join(', ');
  const what = `certified ${names.length === 1 ? 'query' : 'queries'} ${list}`;
  return found.includes(null) ? `Partly from the ${what}; the other queries are not certified.` : `From the ${what}.`;
}

function certifiedOf(certified: readonly CertifiedQuery[], fingerprint: string | null): CertifiedQuery | null {
  return certified.find((query) => query.fingerprint === fingerprint) ?? null;
}

function sqlOf(input: string): string {
  try {
    return sqlInput.parse(JSON.parse(input)).sqlQuery;
  } catch {
    return '';
  }
}
