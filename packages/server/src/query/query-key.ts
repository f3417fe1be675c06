/** What tells compiled queries apart. */
import type { CompiledQuery } from '@inlay/semantic/compile-sql.ts';

/**
 * Equal for two queries exactly where a warehouse is asked the same: policies and their values are in the SQL and its parameters. By type,
 * too: the number 1 is not the text "1".
 */
export const queryKey = ({ sql, parameters }: Pick<CompiledQuery, 'sql' | 'parameters'>): string =>
  JSON.stringify([sql, ...parameters.map((value) => [typeof value, String(value)])]);
