/** Builds an access policy from its YAML. Whatever is not understood is an error: a policy is never half applied. */

import { parseTime } from '../parse-time.ts';
import type { MemberType, Policy, PolicyCondition, PolicyEntry, PolicyFilter, PolicyValue } from './data-model.ts';
import { parseCondition, userValue, userValueNames } from './parse-condition.ts';
import { type PolicyMembers, splitMembers } from './policy-members.ts';
import { isDateOperator, isTextOperator, type PolicyOperator, policyOperators } from './policy-operators.ts';
import { type PolicyEntryFile, policyEntryShape, policyFilterShape, policyGroupShape } from './policy-shapes.ts';
import { didYouMean, readShape } from './read-shape.ts';
import type { Item } from './read-sources.ts';
import type { Path, Reporter } from './report.ts';
import { isRecord } from './yaml-source.ts';

/** What a policy of a cube or view may name. */
export interface PolicyScope extends PolicyMembers {
  /** The name of the cube or view, and those of what it extends. */
  readonly names: readonly string[];
  /** The dimensions that filters may name, with their types; null: one that has no value of a row. */
  readonly dimensions: ReadonlyMap<string, MemberType | null>;
}

/** Builds a policy; null where there is none. What is wrong is reported; the policy returned must then not be used. */
export function buildPolicy(
  entries: readonly Item<unknown>[] | null,
  owner: PolicyScope,
  report: Reporter,
): Policy | null {
  if (entries === null) return null;
  if (entries.length === 0)
    report.error(
      ['access_policy'],
      'access_policy needs one entry at least; to deny everybody, write one with includes: []',
    );
  return {
    entries: entries.flatMap(({ file, report: here }): PolicyEntry[] => {
      const entry = readShape(policyEntryShape, file, here, 'policy entry');
      if (entry === null) return [];
      if ((entry.group === undefined) === (entry.groups === undefined)) {
        // Roles were told as a key that is not known.
        const isTold = isRecord(file) && (Object.hasOwn(file, 'role') || Object.hasOwn(file, 'roles'));
        if (!isTold) here.error([], `the entry needs either group or groups`);
      }
      const members = splitMembers(entry, owner, here);
      return [
        {
          groups: entry.groups ?? (entry.group === undefined ? [] : [entry.group]),
          conditions: conditionsOf(entry, here),
          rowFilter: rowFilterOf(entry, owner, here),
          ...members,
          matchesEmbedTenants: entry.embed_tenants ?? false,
        },
      ];
    }),
  };
}

function conditionsOf(entry: PolicyEntryFile, report: Reporter): readonly PolicyCondition[] {
  return (entry.conditions ?? []).flatMap((condition, index) => {
    const parsed = parseCondition(String(condition.if));
    if (typeof parsed !== 'string') return [parsed];
    report.error(['conditions', index, 'if'], parsed);
    return [];
  });
}

function rowFilterOf(entry: PolicyEntryFile, owner: PolicyScope, report: Reporter): PolicyFilter | null {
  const filters = entry.row_level?.filters;
  if (filters === undefined) return null;
  return { kind: 'and', filters: buildFilters(filters, owner, report, ['row_level', 'filters']) };
}

const buildFilters = (list: readonly unknown[], owner: PolicyScope, report: Reporter, path: Path): PolicyFilter[] =>
  list.flatMap((filter, index) => buildFilter(filter, owner, report.under(...path, index)) ?? []);

/** Null when it is wrong. */
function buildFilter(file: unknown, owner: PolicyScope, report: Reporter): PolicyFilter | null {
  if (isRecord(file) && (Object.hasOwn(file, 'and') || Object.hasOwn(file, 'or'))) {
    const group = readShape(policyGroupShape, file, report, 'filter');
    if (group === null) return null;
    const { and, or } = group;
    if (and !== undefined && or !== undefined) report.error([], 'a filter has and, or or, not both');
    const kind = and === undefined ? 'or' : 'and';
    return { kind, filters: buildFilters(and ?? or ?? [], owner, report, [kind]) };
  }
  const filter = readShape(policyFilterShape, file, report, 'filter');
  if (filter === null) return null;
  const member = memberOf(filter.member, owner, report);
  const { values, isWrong } = valuesOf(filter.values, report);
  const meant = operatorOf(filter.operator, values, report);
  if (member === null || meant === null || isWrong) return null;
  checkValues(meant, owner.dimensions.get(member) ?? null, report);
  return { kind: 'compare', member, ...meant };
}

/** A filter may be written with its own relation in front, as other tools write it; with another, it means another member. */
function memberOf(text: string, owner: PolicyScope, report: Reporter): string | null {
  const inside = /^\{([^{}]*)\}$/.exec(text.trim())?.[1]?.trim() ?? text;
  const [first = '', second, ...rest] = inside.split('.');
  const isOwn = ['CUBE', ...owner.names].includes(first.replace(/^\{(.*)\}$/, '$1')) && rest.length === 0;
  const member = second !== undefined && isOwn ? second : inside;
  const type = owner.dimensions.get(member);
  if (type !== undefined && type !== null) return member;
  if (type === null) {
    report.error(['member'], `${member} is computed by a measure, or a choice: a policy filters on values of rows`);
  } else if (!owner.isLost(member)) {
    report.error(['member'], `no dimension "${text}" here to filter on${didYouMean(member, owner.dimensions.keys())}`);
  }
  return null;
}

type Meant = Pick<Extract<PolicyFilter, { kind: 'compare' }>, 'operator' | 'values'>;

/** Operators that are others by another name. */
const sameOperators: Readonly<Record<string, PolicyOperator>> = { in: 'equals', notIn: 'notEquals' };
const refusedOperators: Readonly<Record<string, string>> = {
  measureFilter: 'rows have no measures to filter on',
  like: 'write contains, startsWith or endsWith',
  eq: 'write equals',
  '=': 'write equals',
  '==': 'write equals',
  ne: 'write notEquals',
  neq: 'write notEquals',
  '!=': 'write notEquals',
  '<>': 'write notEquals',
  '>': 'write gt',
  '>=': 'write gte',
  '<': 'write lt',
  '<=': 'write lte',
};

function operatorOf(text: string, values: readonly PolicyValue[], report: Reporter): Meant | null {
  // A day is the range from it to it.
  const isDay = text === 'onTheDate';
  const name = isDay ? 'inDateRange' : (sameOperators[text] ?? text);
  if (!isOperator(name)) {
    const why = Object.hasOwn(refusedOperators, text)
      ? `: ${refusedOperators[text]}`
      : didYouMean(text, Object.keys(policyOperators));
    report.error(['operator'], `operator "${text}" is not supported${why}`);
    return null;
  }
  const takes = isDay ? 'one' : policyOperators[name];
  const counts = { none: 'no value', one: 'one value', two: 'two values', many: 'at least one value' } as const;
  const isRight = {
    none: values.length === 0,
    one: values.length === 1,
    // One value that stands for a list of two is right as well.
    two: values.length === 2 || (values.length === 1 && values[0]?.kind !== 'literal'),
    many: values.length > 0,
  }[takes];
  if (!isRight) {
    report.error(values.length === 0 ? [] : ['values'], `operator ${text} takes ${counts[takes]}`);
    return null;
  }
  return { operator: name, values: isDay ? [...values, ...values] : values };
}

const isOperator = (name: string): name is PolicyOperator => Object.hasOwn(policyOperators, name);

/** The values of a filter, and whether one of them is wrong, which was reported; it stands as an empty text then. */
function valuesOf(
  given: string | readonly (string | number | boolean)[] | undefined,
  report: Reporter,
): { readonly values: readonly PolicyValue[]; readonly isWrong: boolean } {
  const isList = typeof given !== 'string';
  let isWrong = false;
  const values = (isList ? (given ?? []) : [given]).map((text, index): PolicyValue => {
    const path = isList ? ['values', index] : ['values'];
    const value = parsePolicyValue(text);
    if (typeof text === 'number' && Math.abs(text) > Number.MAX_SAFE_INTEGER) {
      report.error(path, 'a number this large loses digits: write it in quotes');
    }
    if (typeof value !== 'string') return value;
    report.error(path, value);
    isWrong = true;
    return { kind: 'literal', value: '' };
  });
  return { values, isWrong };
}

/** `"{ userAttributes.x }"`, `"{ securityContext.x.y }"`, `"{ groups }"`, `"{ embedTenant.name }"`, or a literal. */
function parsePolicyValue(text: string | number | boolean): PolicyValue | string {
  if (typeof text !== 'string') return { kind: 'literal', value: text };
  if (!/[{}]/.test(text)) {
    // It would be compared as it stands, and let no row through.
    const isBare = userValue(text.trim().split('.')) !== null && text.includes('.');
    return isBare
      ? `"${text.slice(0, 80)}" needs braces: "{ ${text.trim().slice(0, 80)} }"`
      : { kind: 'literal', value: text };
  }
  const path = /^\{\s*([A-Za-z_][\w.]*)\s*\}$/.exec(text)?.[1]?.split('.') ?? [];
  return userValue(path) ?? `"${text.slice(0, 80)}" is not a value; there are ${userValueNames}, in braces`;
}

/** Operators that do not fit the member's type, and literals that it can never be equal to: such a filter would let no row through. */
function checkValues({ operator, values }: Meant, type: MemberType | null, report: Reporter): void {
  if (type === null) return;
  if (isDateOperator(operator) && type !== 'time') {
    report.error(['operator'], `operator ${operator} is for dimensions of type time`);
    return;
  }
  if (isTextOperator(operator)) {
    // The text of a number or a time differs between warehouses.
    if (type !== 'string') report.error(['operator'], `operator ${operator} is for dimensions of type string`);
    return;
  }
  for (const [index, value] of values.entries()) {
    if (value.kind !== 'literal' || isOfType(value.value, type)) continue;
    report.error(['values', index], `"${String(value.value)}" is not a ${type}, as the member is`);
  }
}

function isOfType(value: string | number | boolean, type: MemberType): boolean {
  switch (type) {
    case 'string':
      return true;
    case 'boolean':
      return typeof value === 'boolean';
    case 'number':
      return typeof value === 'number' || (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value));
    case 'time':
      return typeof value === 'string' && parseTime(value) !== null;
  }
}
