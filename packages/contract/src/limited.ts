/**
 * Shapes with a limit of limits.ts: a value beyond it gives an issue that carries the limit's own error code, so that the
 * reply can tell it (errors.md). The OpenAPI description tells the limit by the usual keywords.
 */
import type { z } from 'zod';
import { type ErrorCode, isErrorCode } from './error.ts';
import { type LimitName, type Limits, limitRules } from './limits.ts';
import { textSchema } from './text.ts';

/** Bytes of a text in UTF-8. */
const utf8Bytes = (text: string): number => new TextEncoder().encode(text).length;

/** True when a text has at most `bytesMax` bytes in UTF-8. */
export function isWithinBytes(text: string, bytesMax: number): boolean {
  // A UTF-16 code unit takes one to three bytes: mostly the length alone decides.
  return text.length * 3 <= bytesMax || (text.length <= bytesMax && utf8Bytes(text) <= bytesMax);
}

/** What a refinement needs to say of a value beyond the limit `name`. `unit`: `characters`, `bytes`, `items`, `levels`. */
export function beyond(
  limits: Limits,
  name: LimitName,
  unit: string,
): { message: string; params: { code: ErrorCode } } {
  const { code } = limitRules[name];
  if (code === null) throw new Error(`The limit ${name} refuses nothing.`);
  return { message: `must be at most ${limits[name]} ${unit}`, params: { code } };
}

/** Storable text of at least `min` and at most as many characters (UTF-16 code units) as the limit says. */
export function limitedText(limits: Limits, name: LimitName, min = 0) {
  const max = limits[name];
  return atLeast(min)
    .refine((text) => text.length <= max, beyond(limits, name, 'characters'))
    .meta({ maxLength: max });
}

/** Storable text of at least `min` characters and at most as many bytes of UTF-8 as the limit says. */
export function limitedBytes(limits: Limits, name: LimitName, min = 0) {
  const max = limits[name];
  return atLeast(min)
    .refine((text) => isWithinBytes(text, max), beyond(limits, name, 'bytes of UTF-8'))
    .meta({ maxLength: max });
}

const atLeast = (min: number) => (min === 0 ? textSchema : textSchema.min(min));

/** A list of at most as many items as the limit says. */
export function limitedList<Item extends z.ZodArray>(list: Item, limits: Limits, name: LimitName): Item {
  const max = limits[name];
  return list.refine((items) => items.length <= max, beyond(limits, name, 'items')).meta({ maxItems: max });
}

/** The limit's code that an issue of a schema carries; null for any other issue. */
export function limitCodeOf(issue: object): ErrorCode | null {
  const params = 'params' in issue ? issue.params : null;
  if (typeof params !== 'object' || params === null) return null;
  // The validator of the routes wraps the parameters of an issue once more.
  const carried = 'params' in params ? params.params : params;
  if (typeof carried !== 'object' || carried === null || !('code' in carried)) return null;
  const { code } = carried;
  return isErrorCode(code) ? code : null;
}

/** The code that all of these agree on; null when they do not, when one has none, and for none at all. */
export function agreedCode(codes: readonly (ErrorCode | null)[]): ErrorCode | null {
  const [first = null] = codes;
  return codes.every((code) => code === first) ? first : null;
}
