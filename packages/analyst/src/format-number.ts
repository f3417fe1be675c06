/** Formats and compares numbers digit by digit, so that what a double cannot hold is shown as it is. */

/** A number in decimal digits: `whole` has no leading zeros (but "0"), `fraction` may be empty or end in zeros. */
export interface DecimalDigits {
  readonly isNegative: boolean;
  readonly whole: string;
  readonly fraction: string;
}

const digitsMax = 400;

/** The digits of a JSON number or of a decimal string, exponent included; undefined for anything else. */
export function readDigits(value: unknown): DecimalDigits | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined;
  const match = /^([+-]?)(\d{1,400})(?:\.(\d{0,400}))?(?:e([+-]?\d{1,3}))?$/i.exec(String(value));
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  const shifted = shift(whole, fraction, Number(exponent));
  if (shifted.whole.length > digitsMax || shifted.fraction.length > 2 * digitsMax) return undefined;
  const isZero = /^0*$/.test(shifted.whole + shifted.fraction);
  return { isNegative: sign === '-' && !isZero, ...shifted };
}

/**
 * The number with thousands separators.
 * - `isWhole`: a count; no decimals unless it has some. Otherwise at least two decimals.
 * - `isExact`: all digits are shown. Otherwise it was computed in binary: it is rounded to two decimals, or to three
 *   significant digits when below 0.1.
 * - `format` `percent`: a share from 0 to 1, shown times 100 with up to two decimals.
 */
export function formatNumber(
  digits: DecimalDigits,
  options: { readonly isWhole: boolean; readonly isExact: boolean; readonly format?: string | undefined },
): string {
  if (options.format === 'percent') {
    const shifted = { ...digits, ...shift(digits.whole, digits.fraction, 2) };
    const rounded = round(shifted, 2);
    return `${write({ ...rounded, fraction: rounded.fraction.replace(/0+$/, '') })}%`;
  }
  const isSmall = /^0$/.test(digits.whole) && digits.fraction.startsWith('0');
  const significant = isSmall ? digits.fraction.search(/[1-9]/) + 3 : 2;
  const shown = options.isExact ? digits : round(digits, Math.max(2, significant));
  const fraction = shown.fraction.replace(/0+$/, '');
  if (options.isWhole && fraction === '') return write({ ...shown, fraction: '' });
  return write({ ...shown, fraction: fraction.padEnd(2, '0') });
}

/** Below 0 when `left` is the smaller number, above 0 when it is the larger, 0 when they are equal. */
export function compareDigits(left: DecimalDigits, right: DecimalDigits): number {
  if (left.isNegative !== right.isNegative) return left.isNegative ? -1 : 1;
  const length = Math.max(left.fraction.length, right.fraction.length);
  const a = left.whole + left.fraction.padEnd(length, '0');
  const b = right.whole + right.fraction.padEnd(length, '0');
  const size = a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
  return left.isNegative ? -size : size;
}

// Moves the decimal point by `places` to the right, or to the left when negative.
function shift(whole: string, fraction: string, places: number): { whole: string; fraction: string } {
  const digits = whole + fraction;
  const point = whole.length + places;
  const padded = point < 0 ? '0'.repeat(-point) + digits : digits.padEnd(point, '0');
  const cut = Math.max(point, 0);
  return { whole: padded.slice(0, cut).replace(/^0+(?=\d)/, '') || '0', fraction: padded.slice(cut) };
}

// Half away from zero, on the digits.
function round(digits: DecimalDigits, places: number): DecimalDigits {
  if (digits.fraction.length <= places) return digits;
  const isUp = digits.fraction.charCodeAt(places) >= 53;
  const kept = digits.whole + digits.fraction.slice(0, places);
  const text = isUp ? (BigInt(kept) + 1n).toString().padStart(kept.length, '0') : kept;
  const whole = places === 0 ? text : text.slice(0, -places);
  const fraction = places === 0 ? '' : text.slice(-places);
  const isZero = /^0*$/.test(whole + fraction);
  return { isNegative: digits.isNegative && !isZero, whole: whole.replace(/^0+(?=\d)/, '') || '0', fraction };
}

function write({ isNegative, whole, fraction }: DecimalDigits): string {
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ',');
  return `${isNegative ? '-' : ''}${grouped}${fraction === '' ? '' : `.${fraction}`}`;
}
