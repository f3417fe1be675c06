/** What a user attribute may hold: the match of a value with its definition's type, and the reading of a default. */
import type { AttributeType, AttributeValue } from '@inlay/contract/user.ts';

const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

/** True when `value` may stand in an attribute of `type`; null may stand in any (service.md 2.3). */
export function isValueOfType(type: AttributeType, value: AttributeValue): boolean {
  if (value === null) return true;
  switch (type) {
    case 'string':
      return isText(value);
    case 'number':
      return isNumber(value);
    case 'boolean':
      return typeof value === 'boolean';
    case 'string_array':
      return Array.isArray(value) && value.every(isText);
    case 'number_array':
      return Array.isArray(value) && value.every(isNumber);
  }
}

/**
 * The value that the text of a definition's default stands for: itself, decimal text, `true` or `false`, or JSON text of
 * an array (http-api.md). Undefined when the text does not stand for a value of `type`.
 */
export function parseDefaultValue(type: AttributeType, text: string): AttributeValue | undefined {
  switch (type) {
    case 'string':
      return text;
    case 'number': {
      if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text.trim())) return undefined;
      const value = Number(text);
      return isNumber(value) ? value : undefined;
    }
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : undefined;
    case 'string_array':
    case 'number_array': {
      const value = parseJson(text);
      if (!Array.isArray(value)) return undefined;
      if (type === 'string_array') return value.every(isText) ? value : undefined;
      return value.every(isNumber) ? value : undefined;
    }
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
