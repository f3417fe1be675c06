/** Conditions of policy entries as policy-reference.ts has it of filters: written from the rules' text, sharing no code with the library. */
import type { ConditionValue, PolicyCondition, PolicyValue } from '../src/model/data-model.ts';
import type { Subject } from '../src/policy/subject.ts';

/** What a value in a policy is for a user; undefined: nothing. */
export function lookUp(value: PolicyValue, subject: Subject): unknown {
  const at = (object: unknown, key: string): unknown =>
    typeof object === 'object' && object !== null && !Array.isArray(object)
      ? new Map(Object.entries(object)).get(key)
      : undefined;
  switch (value.kind) {
    case 'literal':
      return value.value;
    case 'userAttribute':
      return at(subject.userAttributes, value.name);
    case 'securityContext':
      return value.path.reduce<unknown>(at, subject.securityContext);
    case 'groups':
      return subject.groups;
    case 'embedTenantName':
      return subject.embedTenantName;
  }
}

/** Three-valued: what compares with something missing, or with something of another kind, is unknown. */
export function truth(condition: PolicyCondition, subject: Subject): 'true' | 'false' | 'unknown' {
  const opposite = { true: 'false', false: 'true', unknown: 'unknown' } as const;
  switch (condition.kind) {
    case 'not':
      return opposite[truth(condition.condition, subject)];
    case 'and': {
      const all = condition.conditions.map((it) => truth(it, subject));
      return all.includes('false') ? 'false' : all.includes('unknown') ? 'unknown' : 'true';
    }
    case 'or': {
      const all = condition.conditions.map((it) => opposite[truth(it, subject)]);
      return all.includes('false') ? 'true' : all.includes('unknown') ? 'unknown' : 'false';
    }
    case 'truthy': {
      const value = conditionValue(condition.value, subject);
      return value === undefined ? 'unknown' : value === false || value === 0 || value === '' ? 'false' : 'true';
    }
    case 'compare': {
      const lostDigits = (value: unknown) => typeof value === 'number' && Math.abs(value) > 2 ** 53 - 1;
      const left = conditionValue(condition.left, subject);
      if (left === undefined || lostDigits(left)) return 'unknown';
      if (condition.operator === 'in') {
        const list = conditionList(condition.right, subject);
        if (list === undefined) return 'unknown';
        if (list.some((item) => item === left && typeof left !== 'object')) return 'true';
        return list.every((item) => typeof item === typeof left && typeof left !== 'object' && !lostDigits(item))
          ? 'false'
          : 'unknown';
      }
      const right = conditionValue(condition.right, subject);
      if (right === undefined || lostDigits(right) || typeof left !== typeof right || typeof left === 'object')
        return 'unknown';
      if (condition.operator === '==' || condition.operator === '!=') {
        return (left === right) === (condition.operator === '==') ? 'true' : 'false';
      }
      const bothNumbers = typeof left === 'number' && typeof right === 'number';
      const bothTexts = typeof left === 'string' && typeof right === 'string';
      if (!bothNumbers && !bothTexts) return 'unknown';
      const operators = { '<': left < right, '<=': left <= right, '>': left > right, '>=': left >= right };
      return operators[condition.operator] ? 'true' : 'false';
    }
  }
}

/** Undefined: missing, null or empty. */
function conditionValue(value: ConditionValue, subject: Subject): unknown {
  if (value.kind === 'list') {
    const items = value.values.map((it) => conditionValue(it, subject));
    return items.includes(undefined) ? undefined : items;
  }
  const found = lookUp(value, subject);
  if (value.kind === 'literal') return found;
  const isEmpty = found === undefined || found === null || found === '' || (Array.isArray(found) && found.length === 0);
  return isEmpty ? undefined : found;
}

/** That a user is in no group is known. */
function conditionList(value: ConditionValue, subject: Subject): readonly unknown[] | undefined {
  if (value.kind === 'groups') return subject.groups;
  if (value.kind === 'list') return value.values.map((it) => conditionValue(it, subject));
  const found = conditionValue(value, subject);
  return Array.isArray(found) ? found : undefined;
}
