/** Masks that are values, as SQL of the type that they stand in for. */
import type { Dialect } from '../dialects/dialect.ts';
import type { Measure, MemberType } from '../model/data-model.ts';

/** A value as SQL of a type; null is a null of that type. */
export function maskValue(value: string | number | boolean | null, type: MemberType, dialect: Dialect): string {
  if (value === null) return ofType('NULL', type, dialect);
  if (typeof value === 'boolean')
    return type === 'boolean' ? (value ? 'TRUE' : 'FALSE') : dialect.literal(String(value));
  if (typeof value === 'number' && type !== 'string' && /^-?\d+(\.\d+)?$/.test(String(value))) {
    return value < 0 ? `(- ${dialect.number(String(-value))})` : dialect.number(String(value));
  }
  return ofType(dialect.literal(String(value)), type, dialect);
}

/** A null or a text as SQL of a type. */
function ofType(sql: string, type: MemberType, dialect: Dialect): string {
  const isNull = sql === 'NULL';
  switch (type) {
    case 'string':
      return dialect.text(sql);
    case 'time':
      return dialect.time(sql);
    case 'number':
      return isNull ? dialect.double(sql) : dialect.cast(sql, 'string', 'double', null);
    case 'boolean':
      return dialect.cast(sql, isNull ? 'number' : 'string', 'boolean', null);
  }
}

/** What stands in place of a measure: its mask, which is a value; there is no row that SQL could be read from. */
export const measureMask = ({ mask, type }: Pick<Measure, 'mask' | 'type'>, dialect: Dialect): string =>
  maskValue(mask?.kind === 'literal' ? mask.value : null, type, dialect);
