/** Checks the default of an attribute definition before it is kept: the text has to stand for a value that may be set. */
import type { ErrorCode } from '@inlay/contract/error.ts';
import { agreedCode, limitCodeOf } from '@inlay/contract/limited.ts';
import type { AttributeType, UserShapes } from '@inlay/contract/user.ts';
import { parseDefaultValue } from './attribute-values.ts';

/** What a text must be to stand for a value of each type. */
const forms: Readonly<Record<AttributeType, string>> = {
  string: 'must be text',
  number: 'must be a decimal number, such as 7 or -0.5',
  boolean: 'must be true or false',
  string_array: 'must be a JSON list of texts, such as ["a","b"]',
  number_array: 'must be a JSON list of numbers, such as [1,2]',
};

/**
 * What is wrong with the text of a default for an attribute of `type`; null when nothing is. `code` is
 * ATTRIBUTE_TYPE_MISMATCH, that of a limit on attribute values, or INVALID_REQUEST.
 * @param attributeValue the shape of a value, see userShapes
 */
export function problemOfDefault(
  type: AttributeType,
  text: string,
  attributeValue: UserShapes['attributeValue'],
): { readonly code: ErrorCode; readonly message: string } | null {
  const value = parseDefaultValue(type, text);
  if (value === undefined) return { code: 'ATTRIBUTE_TYPE_MISMATCH', message: forms[type] };
  // JSON text may spell out what the store cannot keep, such as NUL.
  const parsed = attributeValue.safeParse(value);
  if (parsed.success) return null;
  const { issues } = parsed.error;
  return {
    code: agreedCode(issues.map(limitCodeOf)) ?? 'INVALID_REQUEST',
    message: issues[0]?.message ?? 'is not valid',
  };
}
