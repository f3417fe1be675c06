/** Text as everything from outside has to be, since the store keeps it. */
import { z } from 'zod';

/** True for text that PostgreSQL can store: well-formed Unicode (no lone surrogate) without NUL. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** Text from outside, of any length: what {@link isStorableText} takes. */
export const textSchema = z.string().refine(isStorableText, 'must not contain NUL or a lone surrogate');
