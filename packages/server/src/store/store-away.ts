/** Which failures mean that the store does not answer at this moment, so that trying again makes sense. */
import { codeOf } from '../errors.ts';

/** Of the network, and of PostgreSQL: starting, stopping, full, or somebody else holds what a statement needs for too long. */
const awayCodes: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  '25006', // read_only_sql_transaction: a standby that is to become the primary
  '25P03', // idle_in_transaction_session_timeout
  '53100', // disk_full
  '53200', // out_of_memory
  '53300', // too_many_connections
  '55P03', // lock_not_available
  '57014', // query_canceled, by the time limit of a statement
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
]);

/** The driver's own errors have no code. */
const awayMessages =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|The connection to the store is broken)/;

/**
 * True for an error by which the store, or the way to it, is away for a while; false for anything else, which is a defect or a
 * refusal. A write that fails so may have been kept, as with any connection that breaks.
 */
export function isStoreAway(error: unknown): boolean {
  const code = codeOf(error);
  if (awayCodes.has(code) || (typeof code === 'string' && /^08...$/.test(code))) return true;
  return error instanceof Error && awayMessages.test(error.message);
}
