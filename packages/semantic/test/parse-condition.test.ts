/** Conditions of policies: what they mean, what is refused, and that no text can do more than be refused. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ConditionValue, PolicyCondition } from '../src/model/data-model.ts';
import { parseCondition } from '../src/model/parse-condition.ts';

/** A condition as text, with every parenthesis. */
function textOf(condition: PolicyCondition): string {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return `(${condition.conditions.map(textOf).join(` ${condition.kind} `)})`;
    case 'not':
      return `not ${textOf(condition.condition)}`;
    case 'truthy':
      return writtenOf(condition.value);
    case 'compare':
      return `(${writtenOf(condition.left)} ${condition.operator} ${writtenOf(condition.right)})`;
  }
}
function writtenOf(value: ConditionValue): string {
  switch (value.kind) {
    case 'list':
      return `[${value.values.map(writtenOf).join(', ')}]`;
    case 'literal':
      return JSON.stringify(value.value);
    case 'userAttribute':
      return `userAttributes.${value.name}`;
    case 'securityContext':
      return `securityContext.${value.path.join('.')}`;
    case 'groups':
      return 'groups';
    case 'embedTenantName':
      return 'embedTenant.name';
  }
}
const meaningOf = (text: string): string => {
  const parsed = parseCondition(text);
  return typeof parsed === 'string' ? `! ${parsed}` : textOf(parsed);
};

test.each([
  ['{ securityContext.active }', 'securityContext.active'],
  ['securityContext.a.b', 'securityContext.a.b'],
  ['{ security_context.a["b c"].d }', 'securityContext.a.b c.d'],
  ['{ !securityContext.a && userAttributes.b || groups }', '((not securityContext.a and userAttributes.b) or groups)'],
  [
    '{ not securityContext.a or userAttributes.b and groups }',
    '(not securityContext.a or (userAttributes.b and groups))',
  ],
  ['{ not (securityContext.a or userAttributes.b) }', 'not (securityContext.a or userAttributes.b)'],
  [
    "{ userAttributes.level } >= 3 and { embedTenant.name } != 'x'",
    '((userAttributes.level >= 3) and (embedTenant.name != "x"))',
  ],
  ["{ 'admin' in groups }", '("admin" in groups)'],
  ['{ userAttributes.x not in [\'a\', "b", -1.5, true] }', 'not (userAttributes.x in ["a", "b", -1.5, true])'],
  ["{ userAttributes.x === 'it\\'s' }", '(userAttributes.x == "it\'s")'],
  ['((userAttributes.a)) == userAttributes.b', '! expected the end, not "==", at character 22 of the condition'],
  ['{ userAttributes.and == userAttributes.or }', '(userAttributes.and == userAttributes.or)'],
  ['true', 'true'],
])('%s', (text, meaning) => expect(meaningOf(text)).toBe(meaning));

test.each([
  ['', 'expected a value, not the end, at character 1'],
  ['{ securityContext }', '"securityContext" is not known; there are'],
  ['{ groups.length > 1 }', '"groups.length" is not known'],
  ['{ userAttributes.a.b }', '"userAttributes.a.b" is not known'],
  ['{ constructor }', '"constructor" is not known'],
  [
    '{ securityContext.f() }',
    "functions are not supported (whether a list has a value is written 'x' in groups), at character 20",
  ],
  ['{ userAttributes.a + 1 }', '"+" cannot stand here, at character 20'],
  ['{ userAttributes.a = 1 }', '"=" cannot stand here: write ==, at character 20'],
  ['{ userAttributes.a ? 1 : 2 }', '"?" cannot stand here'],
  ['{ userAttributes.a == null }', '"null" is not known'],
  ['{ userAttributes.a == [1] }', 'a list can be compared with in only'],
  ['{ userAttributes.a < 1 < 2 }', 'expected }, not "<"'],
  ['{ userAttributes.a == 9007199254740993 }', 'loses digits'],
  ["{ userAttributes.a == 'x }", '"\'" cannot stand here'],
  ['{ userAttributes.a', 'expected }, not the end'],
  [`{ ${'('.repeat(40)}groups${')'.repeat(40)} }`, 'more than 32 parentheses'],
  [`{ ${'!'.repeat(1500)}groups }`, 'more than 32 parentheses'],
  [' '.repeat(3000), 'at most 2000 characters'],
])('refuses %s', (text, problem) => {
  expect(meaningOf(text)).toMatch(/^! /);
  expect(meaningOf(text)).toContain(problem);
});

test('what is written out reads back the same', () => {
  const single = fc.oneof(
    fc.record({
      kind: fc.constant('literal' as const),
      value: fc.oneof(fc.string({ maxLength: 5 }), fc.integer(), fc.boolean()),
    }),
    fc.record({ kind: fc.constant('userAttribute' as const), name: fc.constantFrom('a', 'not', 'in') }),
    fc.constant({ kind: 'groups' as const }),
  );
  const { condition } = fc.letrec<{ condition: PolicyCondition }>((tie) => ({
    condition: fc.oneof(
      { maxDepth: 4 },
      fc.record({ kind: fc.constant('truthy' as const), value: single }),
      fc.record({
        kind: fc.constant('compare' as const),
        operator: fc.constantFrom('==' as const, '<' as const, 'in' as const),
        left: single,
        right: single,
      }),
      fc.record({ kind: fc.constant('not' as const), condition: tie('condition') }),
      fc.record({
        kind: fc.constantFrom('and' as const, 'or' as const),
        conditions: fc.array(tie('condition'), { minLength: 2, maxLength: 3 }),
      }),
    ),
  }));
  fc.assert(
    fc.property(condition, (written) => {
      expect(parseCondition(textOf(written))).toEqual(written);
    }),
    { numRuns: 300 },
  );
});

test('no text makes it throw', () => {
  const piece = fc.constantFrom(
    '{',
    '}',
    '(',
    ')',
    '[',
    ']',
    'and',
    'not',
    'in',
    '==',
    "'",
    '"',
    '\\',
    'groups',
    'userAttributes',
    '.',
    'x',
    ',',
    '1',
    '!',
    ' ',
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(piece, fc.string({ maxLength: 3 })), { maxLength: 40 }), (pieces) => {
      parseCondition(pieces.join(' '));
    }),
    { numRuns: 2000 },
  );
});
