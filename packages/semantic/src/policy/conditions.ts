/**
 * Conditions of policy entries on the asking user: whether they hold, and how they are written. A comparison with a value that is
 * missing, or of two kinds of values, is neither true nor false, and so is its `not`: an entry counts only where all its conditions
 * are true, so that nobody is let in because something was not said of them.
 */
import type { ConditionValue, PolicyCondition } from '../model/data-model.ts';
import type { Json, Subject } from './subject.ts';
import { subjectValue, writePolicyValue } from './subject-values.ts';

/** Whether a condition holds for this user; null: that cannot be said, and the entry does not count. */
export function holds(condition: PolicyCondition, subject: Subject): boolean | null {
  switch (condition.kind) {
    case 'and':
    case 'or': {
      const deciding = condition.kind === 'or';
      const results = condition.conditions.map((it) => holds(it, subject));
      if (results.includes(deciding)) return deciding;
      return results.includes(null) ? null : !deciding;
    }
    case 'not': {
      const result = holds(condition.condition, subject);
      return result === null ? null : !result;
    }
    case 'truthy': {
      const value = readValue(condition.value, subject);
      if (value === undefined) return null;
      return typeof value === 'object' ? true : Boolean(value);
    }
    case 'compare':
      return compare(condition, subject);
  }
}

function compare(
  { operator, left, right }: PolicyCondition & { readonly kind: 'compare' },
  subject: Subject,
): boolean | null {
  const one = readValue(left, subject);
  if (one === undefined) return null;
  if (operator === 'in') return isIn(one, right, subject);
  const other = readValue(right, subject);
  if (other === undefined) return null;
  switch (operator) {
    case '==':
      return isSame(one, other);
    case '!=': {
      const same = isSame(one, other);
      return same === null ? null : !same;
    }
    case '<':
      return isBefore(one, other);
    case '>':
      return isBefore(other, one);
    case '<=': {
      const isAfter = isBefore(other, one);
      return isAfter === null ? null : !isAfter;
    }
    case '>=': {
      const isEarlier = isBefore(one, other);
      return isEarlier === null ? null : !isEarlier;
    }
  }
}

/** Whether a value is in a list; null when it is not found and part of the list is missing or of another kind. */
function isIn(value: Json, list: ConditionValue, subject: Subject): boolean | null {
  const items: readonly (Json | undefined)[] | null =
    list.kind === 'list' ? list.values.map((item) => subjectValue(item, subject)) : itemsOf(list, subject);
  if (items === null) return null;
  const results = items.map((item) => (item === undefined ? null : isSame(value, item)));
  if (results.includes(true)) return true;
  return results.includes(null) ? null : false;
}

/** The items of a value that is a list. That a user is in no group is known; any other list that is not there is not. */
function itemsOf(list: Exclude<ConditionValue, { kind: 'list' }>, subject: Subject): readonly Json[] | null {
  if (list.kind === 'groups') return subject.groups;
  const found = subjectValue(list, subject);
  return Array.isArray(found) ? found : null;
}

function readValue(value: ConditionValue, subject: Subject): Json | undefined {
  if (value.kind !== 'list') return subjectValue(value, subject);
  const items = value.values.map((item) => subjectValue(item, subject));
  return items.every((item) => item !== undefined) ? items : undefined;
}

type Plain = string | number | boolean;

/** A text, a boolean, or a number that has lost no digits. */
const isPlain = (value: Json): value is Plain =>
  typeof value === 'string' ||
  typeof value === 'boolean' ||
  (typeof value === 'number' && Number.isFinite(value) && Math.abs(value) <= Number.MAX_SAFE_INTEGER);

const areAlike = (one: Json, other: Json): boolean => isPlain(one) && isPlain(other) && typeof one === typeof other;

const isSame = (one: Json, other: Json): boolean | null => (areAlike(one, other) ? one === other : null);

function isBefore(one: Json, other: Json): boolean | null {
  if (typeof one === 'number' && typeof other === 'number' && areAlike(one, other)) return one < other;
  return typeof one === 'string' && typeof other === 'string' ? one < other : null;
}

/** A condition as text, for people: `securityContext.active and userAttributes.level >= 3`. */
export function writeCondition(condition: PolicyCondition): string {
  const inner = (it: PolicyCondition): string =>
    it.kind === 'and' || it.kind === 'or' ? `(${writeCondition(it)})` : writeCondition(it);
  switch (condition.kind) {
    case 'and':
    case 'or':
      return condition.conditions.map(inner).join(` ${condition.kind} `);
    case 'not':
      return `not ${inner(condition.condition)}`;
    case 'truthy':
      return writeValue(condition.value);
    case 'compare':
      return `${writeValue(condition.left)} ${condition.operator} ${writeValue(condition.right)}`;
  }
}

const writeValue = (value: ConditionValue): string =>
  value.kind === 'list' ? `[${value.values.map(writePolicyValue).join(', ')}]` : writePolicyValue(value);
