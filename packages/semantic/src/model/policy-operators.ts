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
