import type { AttributeType, AttributeValue } from '@inlay/contract/user.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isValueOfType, parseDefaultValue } from '../src/users/attribute-values.ts';

const types: readonly AttributeType[] = ['string', 'number', 'boolean', 'string_array', 'number_array'];
const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
const values: Record<AttributeType, fc.Arbitrary<AttributeValue>> = {
  string: fc.string(),
  number: finite,
  boolean: fc.boolean(),
  string_array: fc.array(fc.string(), { minLength: 1 }),
  number_array: fc.array(finite, { minLength: 1 }),
};

test.each(types)('a %s fits its own type and no other; null and an empty list fit more', (type) => {
  fc.assert(
    fc.property(values[type], (value) => {
      for (const other of types) expect(isValueOfType(other, value)).toBe(other === type);
    }),
  );
  expect(isValueOfType(type, null)).toBe(true);
  expect(isValueOfType(type, [])).toBe(type.endsWith('_array'));
});

test.each([Number.NaN, Number.POSITIVE_INFINITY])('%d is no number', (value) => {
  expect(isValueOfType('number', value)).toBe(false);
  expect(isValueOfType('number_array', [value])).toBe(false);
});

test.each(types)('the text of a %s as a default reads as that value', (type) => {
  fc.assert(
    fc.property(values[type], (value) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      // JSON has no minus zero.
      expect(parseDefaultValue(type, text)).toEqual(typeof value === 'string' ? value : JSON.parse(text));
    }),
  );
});

test.each<[AttributeType, string]>([
  ['number', ''],
  ['number', ' '],
  ['number', 'seven'],
  ['number', '0x10'],
  ['number', '1e999'],
  ['number', 'NaN'],
  ['number', '1,5'],
  ['boolean', 'TRUE'],
  ['boolean', '1'],
  ['string_array', 'web'],
  ['string_array', '["web"'],
  ['string_array', '["web",1]'],
  ['string_array', '{}'],
  ['string_array', 'null'],
  ['number_array', '["1"]'],
  ['number_array', '[1e999]'],
  ['number_array', '[null]'],
])('a %s has no default %j', (type, text) => {
  expect(parseDefaultValue(type, text)).toBeUndefined();
});
