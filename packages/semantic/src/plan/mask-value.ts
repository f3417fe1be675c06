/** Masks that are values, as SQL of the type that they stand in for. */
import type { Dialect } from '../dialects/dialect.ts';
import type { Mask, Measure, MemberType } from '../model/data-model.ts';

/** A value as SQL of a type; null is a null of that type. */
export function maskValue(value: string | number | boolean | null, type: MemberType, dialect: Dialect): string {
  if (value === null) return ofType('NULL', type, dialect);
  if (typeof value === 'boolean')
    return type === 'boolean' ? (value ? 'TRUE' : 'FALSE') : dialect.literal(String(value));
  if (typeof value === 'number' && type !== 'string') return String(value);
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

/**
 * What stands in place of a measure: its mask where that is a value, or SQL that reads no column; else null. There is no row that a
 * column could be read from.
 */
export function measureMask({ mask, type }: { mask: Mask | null; type: Measure['type'] }, dialect: Dialect): string {
  if (mask?.kind === 'sql') {
    const text = mask.sql.map((part) =>
      part.kind === 'text' ? part.text : part.kind === 'literal' ? dialect.literal(part.value) : null,
    );
    return text.includes(null) ? maskValue(null, type, dialect) : `(${text.join('')})`;
  }
  return maskValue(mask?.value ?? null, type, dialect);
}
