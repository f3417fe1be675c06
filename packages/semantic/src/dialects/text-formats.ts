/**
 * How texts are read as values, in regular expressions that every warehouse takes: a text that fits one can be cast and
 * does not fail, whatever it says. The first group is what is cast.
 */

const year = '[1-9][0-9]{3}';
const leapYear = '(?:[1-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:[2468][048]|[13579][26])00)';
const day = [
  `${year}-(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])`,
  `${year}-(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)`,
  `${year}-02-(?:0[1-9]|1[0-9]|2[0-8])`,
  `${leapYear}-02-29`,
].join('|');
const hour = '(?:[01][0-9]|2[0-3])';
const sixty = '[0-5][0-9]';

/** A real day of the calendar with or without a time, as parse-time.ts reads them, from the year 1000 on; the zone, which is UTC, is cut off. */
export const timeFormat = `^((?:${day})(?:[T ]${hour}:${sixty}(?::${sixty}(?:[.][0-9]{1,6})?)?)?)(?:(?:Z|[+-]00(?::?00)?)?)$`;

/** The largest whole number of 64 bits with a sign. */
const largestWhole = '9223372036854775807';

/** Whole numbers up to the largest: of fewer digits, or of as many with a smaller one somewhere before the first that is larger. */
const wholeDigits = [
  `[0-9]{1,${largestWhole.length - 1}}`,
  ...[...largestWhole].flatMap((digit, at) => {
    const rest = largestWhole.length - at - 1;
    return digit === '0'
      ? []
      : [`${largestWhole.slice(0, at)}[0-${Number(digit) - 1}]${rest === 0 ? '' : `[0-9]{${rest}}`}`];
  }),
  largestWhole,
].join('|');

/** A whole number of 64 bits. */
export const wholeFormat = `^ *([+-]?(?:${wholeDigits})) *$`;

/** A number with a point and an exponent, within what a double holds. */
export const doubleFormat = '^ *([+-]?(?:[0-9]{1,60}(?:[.][0-9]{0,60})?|[.][0-9]{1,60})(?:[eE][+-]?[0-9]{1,2})?) *$';

/** A number with a point, of up to 18 digits before and behind it. */
export const decimalFormat = '^ *([+-]?(?:[0-9]{1,18}(?:[.][0-9]{0,18})?|[.][0-9]{1,18})) *$';

/** A truth, of a text in small letters. */
export const booleanFormat = '^ *(true|t|yes|y|1|false|f|no|n|0) *$';

/** Digits of a decimal that is written out: one with more is read as a double, and so is a whole number of more than 64 bits. */
const exactDigits = { before: 18, behind: 9 };

/**
 * A number in decimal notation as it is to be written.
 * @returns its text without needless zeros, and whether it is whole, a decimal, or so long that it is a double
 */
export function readNumber(text: string): { readonly kind: 'whole' | 'decimal' | 'double'; readonly text: string } {
  const [whole = '', fraction = ''] = text.split('.');
  const before = whole.replace(/^0+(?=\d)/, '') || '0';
  const behind = fraction.replace(/0+$/, '');
  // Keys are whole numbers of up to 64 bits: as a double one would be its neighbour, too.
  if (behind === '' && BigInt(before) <= BigInt(largestWhole)) return { kind: 'whole', text: before };
  if (before.length <= exactDigits.before && behind.length <= exactDigits.behind) {
    return { kind: 'decimal', text: `${before}.${behind}` };
  }
  return { kind: 'double', text: Number(text).toExponential() };
}

/** The whole number that an argument's SQL is, where it is written out; else null. */
export function wholeNumberOf(sql: string): number | null {
  const match = /^\(?(-? ?\d{1,9})\)?$/.exec(sql);
  return match === null ? null : Number(match[1]?.replace(' ', ''));
}
