/** The analyst quotes names by a list of its own, which is longer: what the semantic layer says needs quotes is in it. */
import { reservedWords as semanticWords } from '@inlay/semantic/reserved-words.ts';
import { expect, test } from 'vitest';
import { reservedWords } from '../src/reserved-words.ts';

test('every word that needs quotes as a name is quoted', () => {
  expect(semanticWords.size).toBeGreaterThan(70);
  expect([...semanticWords].filter((word) => !reservedWords.has(word))).toEqual([]);
});
