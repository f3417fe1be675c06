/** Literals: numbers, texts, intervals, and the types that a value may be cast to. */
import type { A_Const, Node, TypeName } from 'libpg-query';
import type { Interval } from '../model/data-model.ts';
import { isBuiltInUnit, lengthOf } from '../model/interval.ts';
import type { CastType, NamedExpression } from '../query/semantic-query.ts';
import { identifier, only, refuse } from './refusal.ts';

/** Reads a constant. @throws SemanticError SQL_NOT_SUPPORTED */
export function readConstant(constant: A_Const): NamedExpression {
  const { location = 0 } = constant;
  if (constant.isnull === true) return { kind: 'literal', value: null, location };
  if (constant.sval !== undefined) return { kind: 'literal', value: constant.sval.sval ?? '', location };
  if (constant.boolval !== undefined) return { kind: 'literal', value: constant.boolval.boolval ?? false, location };
  if (constant.ival !== undefined) return { kind: 'number', text: String(constant.ival.ival ?? 0), location };
  if (constant.fval === undefined) return refuse('a bit string', location);
  const written = constant.fval.fval ?? '';
  const text = written.replace(/^(-?)\./, '$10.').replace(/\.$/, '');
  // Hexadecimal, octal and 1_000 are PostgreSQL's; plain decimals are everybody's. 38 digits is what a DECIMAL holds.
  if (!/^-?\d+(\.\d+)?$/.test(text) || text.replace(/\D/g, '').length > 38)
    return refuse(`the number ${written.slice(0, 20)}`, location);
  return { kind: 'number', text, location };
}

/** A whole number as written; null for anything else. */
export function wholeNumber(node: Node | undefined): number | null {
  const value = node !== undefined && 'A_Const' in node ? node.A_Const : undefined;
  return value?.ival === undefined ? null : (value.ival.ival ?? 0);
}

const castTypes: Readonly<Record<string, CastType>> = {
  text: 'text',
  varchar: 'text',
  bpchar: 'text',
  string: 'text',
  int2: 'bigint',
  int4: 'bigint',
  int8: 'bigint',
  bigint: 'bigint',
  float4: 'double',
  float8: 'double',
  double: 'double',
  numeric: 'decimal',
  decimal: 'decimal',
  bool: 'boolean',
  date: 'date',
  timestamp: 'timestamp',
  timestamptz: 'timestamp',
};

/** Digits behind the point that a decimal may have. */
const placesMax = 18;

/** The type of a cast; `'interval'` for an interval, with the bits that name its unit. */
export type TargetType =
  | { readonly kind: 'interval'; readonly unit: number | null }
  /** `places`: of a decimal that says them, else null. */
  | { readonly kind: 'cast'; readonly type: CastType; readonly places: number | null };

/** Reads the type in a cast. @throws SemanticError SQL_NOT_SUPPORTED */
export function readType(typeName: TypeName | undefined, location: number): TargetType {
  const names = (typeName?.names ?? []).map(identifier);
  const name = (names.length === 2 && names[0] === 'pg_catalog' ? names[1] : names.join('.')) ?? '';
  only(typeName ?? {}, `the type ${name.slice(0, 40)}`, ['names', 'typmods', 'typemod', 'location'], location);
  const sizes = (typeName?.typmods ?? []).map(wholeNumber);
  if (name === 'interval') {
    if (sizes.length > 1) refuse('an interval with a precision', location);
    return { kind: 'interval', unit: sizes[0] ?? null };
  }
  const type = Object.hasOwn(castTypes, name) ? castTypes[name] : undefined;
  if (type === undefined) {
    return refuse(
      `a cast to ${name.slice(0, 40)}`,
      location,
      'Types: text, bigint, double precision, decimal(p, s), boolean, date, timestamp.',
    );
  }
  if (type !== 'decimal') {
    if (sizes.length > 0) refuse(`a cast to ${name} with a size`, location);
    return { kind: 'cast', type, places: null };
  }
  const [digits, places = 0] = sizes;
  if (digits === undefined) return { kind: 'cast', type, places: null };
  if (digits === null || places === null || places < 0 || places > placesMax || digits > 38 || digits - places < 1) {
    return refuse('a decimal of that size', location, `Up to 38 digits, up to ${placesMax} of them behind the point.`);
  }
  return { kind: 'cast', type, places };
}

/** The bits by which PostgreSQL's grammar names the unit behind an interval's text. */
const unitBits: Readonly<Record<number, string>> = {
  2: 'month',
  4: 'year',
  8: 'day',
  1024: 'hour',
  2048: 'minute',
  4096: 'second',
};
/** More than any time of the calendar can be moved by. */
const secondsMax = 10_000 * 366 * 86_400;

/** Reads `1 month`, `2 days 3 hours`, or with a unit behind it, `7` DAY. @throws SemanticError SQL_NOT_SUPPORTED */
export function readInterval(text: string, unit: number | null, location: number): Interval {
  const named = unit === null ? '' : (unitBits[unit] ?? refuse('an interval of two units', location));
  const words = `${text} ${named}`.trim().toLowerCase().split(/\s+/);
  let [months, days, seconds] = [0, 0, 0];
  for (let at = 0; at < words.length; at += 2) {
    const amount = words[at] ?? '';
    const word = (words[at + 1] ?? '').replace(/s$/, '').replace(/^mon$/, 'month');
    if (!/^[+-]?\d{1,9}$/.test(amount) || !isBuiltInUnit(word)) {
      return refuse(`the interval '${text.slice(0, 40)}'`, location, "Write INTERVAL '1 month', or '2 days 3 hours'.");
    }
    const part = lengthOf(Number(amount), word);
    months += part.months;
    days += part.days;
    seconds += part.seconds;
  }
  if (Math.abs(months) > 120_000 || Math.abs(days) > secondsMax / 86_400 || Math.abs(seconds) > secondsMax) {
    return refuse('an interval of more than 10,000 years', location);
  }
  return { months, days, seconds };
}
