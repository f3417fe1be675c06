/** How the row filters of access policies compare. */

/** The operators of policy filters, with how many values each takes. */
export const policyOperators = {
  equals: 'many',
  notEquals: 'many',
  contains: 'many',
  notContains: 'many',
  startsWith: 'many',
  notStartsWith: 'many',
  endsWith: 'many',
  notEndsWith: 'many',
  gt: 'one',
  gte: 'one',
  lt: 'one',
  lte: 'one',
  inDateRange: 'two',
  notInDateRange: 'two',
  beforeDate: 'one',
  beforeOrOnDate: 'one',
  afterDate: 'one',
  afterOrOnDate: 'one',
  set: 'none',
  notSet: 'none',
} as const satisfies Readonly<Record<string, 'many' | 'two' | 'one' | 'none'>>;

/** An operator of a policy filter. */
export type PolicyOperator = keyof typeof policyOperators;

/** An operator that takes dates. */
export type DateOperator = Extract<PolicyOperator, `${string}Date` | `${string}DateRange`>;

/** Whether an operator takes dates. */
export const isDateOperator = (operator: PolicyOperator): operator is DateOperator => /Date(Range)?$/.test(operator);

/** Whether an operator looks for a text inside another. */
export const isTextOperator = (operator: PolicyOperator): boolean => /contains|startsWith|endsWith/i.test(operator);
