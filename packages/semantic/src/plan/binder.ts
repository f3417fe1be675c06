/** The values of a query, bound as parameters: they never become text of the SQL. */
import type { Dialect, ParameterType } from '../dialects/dialect.ts';
import type { MemberType } from '../model/data-model.ts';
import type { BoundValue } from '../policy/bound-value.ts';
import { likePattern, type Pattern } from '../query/like-pattern.ts';

/** A bound value as a client of a warehouse takes it. Integers are bigints, times are texts. */
export type Parameter = string | number | bigint | boolean;

/** One parameter of a compiled query. */
export interface Slot {
  readonly value: Parameter;
  readonly type: ParameterType;
  /** The place in the data model that the value is read for (`"orders 0 2"`); null: it was written in the query. */
  readonly origin: string | null;
  /** What a text was made into before it was bound: a pattern of LIKE that finds it there; null: nothing. */
  readonly pattern: Pattern | null;
}

/** Collects the bound values of one query. Parameters are numbered, so pieces of SQL may be put together in any order. */
export interface Binder {
  /** What has been bound, in the order of the parameters' numbers. */
  readonly slots: readonly Slot[];
  /**
   * The placeholder of a value that stands for, or is compared with, a value of `type`. Two values of one origin, or two equal ones
   * without, are one parameter: the text of an expression is then the same wherever it stands. Values of two origins never are,
   * however equal they are for one user: the same SQL is bound anew for another.
   * @param origin the place in the model that gave the value; none: the query
   */
  bind(value: BoundValue, type: MemberType, origin?: string): string;
  /** The placeholder of a LIKE pattern that finds a text, whatever characters are in it. */
  bindPattern(text: string, pattern: Pattern, origin: string): string;
}

/** A value as the parameter that it becomes, with its type. */
export function toParameter(value: BoundValue, type: MemberType): { value: Parameter; type: ParameterType } {
  switch (typeof value) {
    case 'bigint':
      return { value, type: 'integer' };
    case 'number':
      return Number.isSafeInteger(value) ? { value: BigInt(value), type: 'integer' } : { value, type: 'double' };
    case 'boolean':
      return { value, type: 'boolean' };
    case 'string':
      return { value, type: type === 'time' ? 'time' : 'string' };
  }
}

/** A binder without values. */
export function createBinder(dialect: Dialect): Binder {
  const slots: Slot[] = [];
  const placeholders = new Map<string, string>();
  const bind = (slot: Slot): string => {
    const { value, type, origin, pattern } = slot;
    // The first word keeps apart what a query says and what a policy does: no text of a query is a place in the model.
    const key = origin === null ? `query ${type} ${value}` : `policy ${type} ${pattern} ${origin}`;
    const known = placeholders.get(key);
    if (known !== undefined) return known;
    slots.push(slot);
    const placeholder = dialect.placeholder(slots.length, type);
    placeholders.set(key, placeholder);
    return placeholder;
  };
  return {
    slots,
    bind: (value, type, origin) => bind({ ...toParameter(value, type), origin: origin ?? null, pattern: null }),
    bindPattern: (text, pattern, origin) =>
      bind({ value: likePattern(text, pattern), type: 'string', origin, pattern }),
  };
}
