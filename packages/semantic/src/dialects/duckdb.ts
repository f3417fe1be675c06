/** SQL as DuckDB takes it. */
import type { Dialect, ParameterType } from './dialect.ts';

const parameterTypes: Readonly<Record<ParameterType, string>> = {
  string: 'VARCHAR',
  integer: 'BIGINT',
  double: 'DOUBLE',
  boolean: 'BOOLEAN',
  time: 'TIMESTAMP',
};

/** No limit: more rows than there can be. */
const limitMax = '9223372036854775807';

/** DuckDB 1.5. */
export const duckdb: Dialect = {
  name: 'duckdb',
  quote: (identifier) => `"${identifier.replaceAll('"', '""')}"`,
  placeholder: (index, type) => `CAST($${index} AS ${parameterTypes[type]})`,
  text: (sql) => `CAST(${sql} AS VARCHAR)`,
  dateTrunc: (granularity, sql) => `date_trunc('${granularity}', CAST(${sql} AS TIMESTAMP))`,
  divide: (left, right) => `(${left} / NULLIF(${right}, 0))`,
  // Nothing is moved below a LIMIT. Of several tables each is a column that holds its rows as structs.
  fence: (aliases, from) =>
    aliases.length === 1
      ? `FROM (SELECT * ${from} LIMIT ${limitMax}) AS ${aliases[0]}`
      : `FROM (SELECT ${aliases.join(', ')} ${from} LIMIT ${limitMax}) AS "joined rows"`,
  isNotDistinct: (left, right) => `${left} IS NOT DISTINCT FROM ${right}`,
};
