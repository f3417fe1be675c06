/** Values of the warehouse's own SQL as the types that the model declares. */
import type { Dialect } from '../dialects/dialect.ts';
import type { MemberType } from '../model/data-model.ts';

/** A value as its type says, whatever type its SQL has: a text may be a UUID or a number, a time a date. Numbers and truths are as they are. */
export function asType(sql: string, type: MemberType, dialect: Dialect): string {
  if (type === 'string') return dialect.text(`(${sql})`);
  return type === 'time' ? dialect.time(`(${sql})`) : `(${sql})`;
}
