/** Values of users as the type of the member that they are compared with. */
import type { MemberType } from '../model/data-model.ts';
import { parseTime } from '../parse-time.ts';

/** A value ready to be bound, of the type of the member that it is compared with. Times are texts as `parseTime` gives them. */
export type BoundValue = string | number | bigint | boolean;

/** The value as the member's type; null when it is not one, or not surely the one that was meant. */
export function bindValue(value: unknown, type: MemberType): BoundValue | null {
  // A whole number beyond 2^53 has lost digits on its way here: it may be the key of somebody else's rows.
  if (typeof value === 'number' && (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER)) return null;
  switch (type) {
    case 'number':
      if (typeof value === 'number') return value;
      return typeof value === 'string' ? bindNumber(value) : null;
    case 'string':
      // No database holds a NUL in a text, and some fail on one.
      if (typeof value === 'string') return value.includes('\0') ? null : value;
      return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'time':
      return typeof value === 'string' ? parseTime(value) : null;
  }
}

/** A decimal text as a number: whole ones of 64 bits, others of up to 15 digits, which a double holds. */
function bindNumber(text: string): number | bigint | null {
  if (/^-?\d{1,19}$/.test(text)) {
    const whole = BigInt(text);
    if (BigInt.asIntN(64, whole) !== whole) return null;
    return Number.isSafeInteger(Number(whole)) ? Number(whole) : whole;
  }
  return /^-?\d+\.\d+$/.test(text) && text.replace(/\D/g, '').length <= 15 ? Number(text) : null;
}
