/** Hostile texts, and how each of them ends. */
import type { SemanticErrorCode } from '../../src/semantic-error.ts';

/** Texts that all end alike: `answered` with what the user may see, or refused with a code. */
export interface Attack {
  readonly tries: string;
  readonly ends: 'answered' | SemanticErrorCode;
  readonly sql: readonly string[];
}
