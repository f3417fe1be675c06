import type { Dialect } from './dialect.ts';

const parameterTypes = {
  string: 'VARCHAR',
  integer: 'BIGINT',
  double: 'DOUBLE',
  boolean: 'BOOLEAN',
  time: 'TIMESTAMP',
};

/** DuckDB 1.5. */
export const duckdb: Dialect = {
  name: 'duckdb',
  quote: (identifier) => `"${identifier.replaceAll('"', '""')}"`,
  placeholder: (index, type) => `CAST($${index} AS ${parameterTypes[type]})`,
  dateTrunc: (granularity, sql) => `date_trunc('${granularity}', CAST(${sql} AS TIMESTAMP))`,
  divide: (left, right) => `(${left} / NULLIF(${right}, 0))`,
  isNotDistinct: (left, right) => `${left} IS NOT DISTINCT FROM ${right}`,
};
