import { describe, expect, test } from 'vitest';
import type { ConditionValue, PolicyCondition, PolicyValue } from '../src/model/data-model.ts';
import { holds, writeCondition } from '../src/policy/conditions.ts';
import { nobody } from './policy-model.ts';

const literal = (value: string | number | boolean): PolicyValue => ({ kind: 'literal', value });
const attribute = (name: string): PolicyValue => ({ kind: 'userAttribute', name });
const context = (...path: string[]): PolicyValue => ({ kind: 'securityContext', path });
const groups: PolicyValue = { kind: 'groups' };
const list = (...values: PolicyValue[]): ConditionValue => ({ kind: 'list', values });
type Comparison = (PolicyCondition & { kind: 'compare' })['operator'];
const compare = (left: ConditionValue, operator: Comparison, right: ConditionValue): PolicyCondition => ({
  kind: 'compare',
  operator,
  left,
  right,
});
const truthy = (value: ConditionValue): PolicyCondition => ({ kind: 'truthy', value });
const not = (condition: PolicyCondition): PolicyCondition => ({ kind: 'not', condition });
const every = (kind: 'and' | 'or', ...conditions: PolicyCondition[]): PolicyCondition => ({ kind, conditions });

const someone = {
  ...nobody,
  groups: ['editors'],
  userAttributes: { level: 3, region: 'north', regions: ['n', 's'], none: null, empty: '', list: [], large: 2 ** 60 },
  securityContext: { active: true, suspended: false, plan: { name: 'pro', seats: 0 }, odd: ['a', 1] },
  embedTenantName: 'acme',
};
const [yes, no, missing] = [truthy(context('active')), truthy(context('suspended')), truthy(context('absent'))];

describe('a condition holds', () => {
  test.each<[PolicyCondition, boolean]>([
    [truthy(context('active')), true],
    [truthy(context('suspended')), false],
    [not(truthy(context('suspended'))), true],
    [truthy(context('plan', 'seats')), false],
    [truthy(attribute('regions')), true],
    [truthy(literal('')), false],
    [compare(attribute('level'), '>=', literal(3)), true],
    [compare(attribute('level'), '>', literal(3)), false],
    [compare(attribute('level'), '<', literal(3.5)), true],
    [compare(attribute('level'), '<=', literal(2)), false],
    [compare(context('plan', 'name'), '==', literal('pro')), true],
    [compare(context('plan', 'name'), '!=', literal('pro')), false],
    [compare(context('plan', 'name'), '<', literal('q')), true],
    [compare(literal('editors'), 'in', groups), true],
    [compare(literal('admins'), 'in', groups), false],
    [compare(attribute('region'), 'in', list(literal('south'), literal('north'))), true],
    [compare(literal('n'), 'in', attribute('regions')), true],
    [compare({ kind: 'embedTenantName' }, '==', literal('acme')), true],
    [every('and', yes, yes), true],
    [every('and', yes, no), false],
    [every('or', no, yes), true],
    [every('or', no, no), false],
  ])('%j: %s', (condition, expected) => {
    expect(holds(condition, someone)).toBe(expected);
  });

  test('that a user is in no group is known', () => {
    expect(holds(not(compare(literal('blocked'), 'in', groups)), nobody)).toBe(true);
  });
});

describe('a condition cannot be decided, nor can its not', () => {
  test.each<[string, PolicyCondition]>([
    ['absent', missing],
    ['null', truthy(attribute('none'))],
    ['an empty text', truthy(attribute('empty'))],
    ['an empty list', truthy(attribute('list'))],
    ['not an own property', truthy(attribute('constructor'))],
    ['beneath a value', truthy(context('active', 'x'))],
    ['== with nothing', compare(attribute('none'), '==', literal(1))],
    ['!= with nothing', compare(attribute('none'), '!=', literal(1))],
    ['nothing in a list', compare(attribute('none'), 'in', groups)],
    ['in nothing', compare(literal('x'), 'in', attribute('list'))],
    ['in what is no list', compare(literal('north'), 'in', attribute('region'))],
    ['in a list with a hole', compare(literal('x'), 'in', list(literal('y'), attribute('none')))],
    ['in a list of other things', compare(literal('x'), 'in', context('odd'))],
    ['a number and a text', compare(attribute('level'), '==', literal('3'))],
    ['a number and a text, unequal', compare(attribute('level'), '!=', literal('3'))],
    ['a text before a number', compare(attribute('region'), '<', literal(3))],
    ['booleans in an order', compare(context('active'), '>', literal(false))],
    ['a list and a text', compare(attribute('regions'), '!=', literal('x'))],
    ['two lists', compare(attribute('regions'), '==', attribute('regions'))],
    ['digits were lost', compare(attribute('large'), '==', literal(2 ** 60))],
    ['and with something true', every('and', yes, missing)],
    ['or with something false', every('or', no, missing)],
  ])('%s', (_name, condition) => {
    expect(holds(condition, someone)).toBeNull();
    expect(holds(not(condition), someone)).toBeNull();
  });

  test('where the rest does not decide', () => {
    expect(holds(every('and', no, missing), someone)).toBe(false);
    expect(holds(every('or', yes, missing), someone)).toBe(true);
    expect(holds(compare(literal('y'), 'in', list(literal('y'), attribute('none'))), someone)).toBe(true);
  });
});

test('is written as in the model', () => {
  const condition = every(
    'or',
    every('and', yes, compare(attribute('level'), '>=', literal(3))),
    not(compare(literal('a'), 'in', list(groups, literal('b')))),
  );
  expect(writeCondition(condition)).toBe(
    '(securityContext.active and userAttributes.level >= 3) or not "a" in [groups, "b"]',
  );
});
