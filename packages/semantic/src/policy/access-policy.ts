/**
 * Access policies: which members a subject may name, and which rows of a relation a query over some of them may reach.
 * Everything fails closed: no entry, no attribute, a value of another type – no rows.
 */
import {
  type CubeMember,
  type DataModel,
  type MemberType,
  type Policy,
  type PolicyEntry,
  type PolicyFilter,
  type PolicyOperator,
  type PolicyValue,
  policyOperators,
  type Relation,
  type RelationMember,
} from '../model/data-model.ts';
import { parseTime } from '../parse-time.ts';
import type { Json, Subject } from './subject.ts';

/** A value ready to be bound, of the type of the member that it is compared with. Times are ISO 8601 texts. */
export type BoundValue = string | number | bigint | boolean;

/** A row filter with the subject's values in it. An empty `and` is true, an empty `or` is false. */
export type RowFilter =
  | { readonly kind: 'and' | 'or'; readonly filters: readonly RowFilter[] }
  | {
      readonly kind: 'compare';
      readonly member: string;
      readonly operator: PolicyOperator;
      readonly values: readonly BoundValue[];
    };

const noRows: RowFilter = { kind: 'or', filters: [] };

/** An entry that grants all rows matches a customer-chosen group name only if it says so: it might be anybody's name. */
const matches = (entry: PolicyEntry, subject: Subject): boolean =>
  (entry.rowFilter !== null || !subject.isEmbedTenantScope || entry.matchesEmbedTenants) &&
  entry.groups.some((group) => group === '*' || subject.groups.includes(group));

/** The members of a relation that the subject may name. Without any the relation does not exist for that subject. */
export function visibleMembers(model: DataModel, relation: Relation, subject: Subject): readonly RelationMember[] {
  return [...relation.members.values()].filter((member) => isVisible(model, relation, member, subject));
}

/** Non-public members do not exist for anybody. */
function isVisible(model: DataModel, relation: Relation, member: RelationMember, subject: Subject): boolean {
  if (!relation.isPublic || !member.isPublic) return false;
  const grants = (policy: Policy, name: string) =>
    policy.entries.some((entry) => matches(entry, subject) && entry.members.has(name));
  if (relation.policy !== null && !grants(relation.policy, member.name)) return false;
  const cubePolicy = model.cubes.get(member.member.cube)?.policy ?? null;
  if (cubePolicy !== null) return grants(cubePolicy, member.member.name);
  // Protected by nothing: denied to external users.
  return (relation.type === 'view' && relation.policy !== null) || subject.isInternal;
}

/**
 * The rows that a query may reach in a cube or view.
 * @param taken the members that the query takes from it; an entry counts only if it covers every one of them
 * @param dimensions the members that filters may name
 * @returns null for all rows
 */
export function rowFilter(
  policy: Policy | null,
  taken: ReadonlySet<string>,
  dimensions: (name: string) => CubeMember | undefined,
  subject: Subject,
): RowFilter | null {
  if (policy === null) return null;
  const admitted = policy.entries.filter(
    (entry) => matches(entry, subject) && entry.members.size > 0 && taken.isSubsetOf(entry.members),
  );
  if (admitted.some((entry) => entry.rowFilter === null)) return null;
  const filters = admitted.map(({ rowFilter }) =>
    rowFilter === null ? noRows : bindFilter(rowFilter, dimensions, subject),
  );
  return { kind: 'or', filters };
}

function bindFilter(
  filter: PolicyFilter,
  dimensions: (name: string) => CubeMember | undefined,
  subject: Subject,
): RowFilter {
  if (filter.kind !== 'compare') {
    return { kind: filter.kind, filters: filter.filters.map((it) => bindFilter(it, dimensions, subject)) };
  }
  const { member, operator } = filter;
  const type = dimensions(member)?.type;
  if (type === undefined) return noRows;
  const takes = policyOperators[operator];
  if (takes === 'none') return { kind: 'compare', member, operator, values: [] };
  const values: BoundValue[] = [];
  for (const value of filter.values) {
    for (const item of readValue(value, subject)) {
      const bound = bindValue(item, type);
      if (bound === null) return noRows;
      values.push(bound);
    }
  }
  if (values.length === 0 || (takes === 'one' && values.length > 1)) return noRows;
  return { kind: 'compare', member, operator, values };
}

/** The values that stand for a policy value; none when it is missing, null or empty. Arrays spread. */
function readValue(value: PolicyValue, subject: Subject): readonly Json[] {
  const spread = (found: Json | undefined): readonly Json[] => {
    if (found === undefined || found === null || found === '') return [null];
    return Array.isArray(found) ? (found.length === 0 ? [null] : found) : [found];
  };
  switch (value.kind) {
    case 'literal':
      return [value.value];
    case 'userAttribute':
      return spread(own(subject.userAttributes, value.name));
    case 'securityContext': {
      let found: Json | undefined = subject.securityContext;
      for (const key of value.path) found = isObject(found) ? own(found, key) : undefined;
      return spread(found);
    }
    case 'groups':
      return spread(subject.groups);
    case 'embedTenantName':
      return spread(subject.embedTenantName);
  }
}

const isObject = (value: Json | undefined): value is { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An own property only: `constructor` and its like are not attributes. */
const own = <T>(object: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined;

/** The value as the member's type; null when it is not one, or not surely the one that was meant. */
function bindValue(value: Json, type: MemberType): BoundValue | null {
  // A whole number beyond 2^53 has lost digits on its way here: it may be the key of somebody else's rows.
  if (typeof value === 'number' && (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER)) return null;
  switch (type) {
    case 'number':
      if (typeof value === 'number') return value;
      return typeof value === 'string' ? bindNumber(value) : null;
    case 'string':
      if (typeof value === 'string') return value === '' ? null : value;
      return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'time':
      return typeof value === 'string' ? parseTime(value) : null;
  }
}

/** A decimal text as a number: whole ones of 64 bits, others of up to 15 digits, which a double holds. */
function bindNumber(text: string): number | bigint | null {
  if (/^-?\d{1,19}$/.test(text)) {
    const whole = BigInt(text);
    if (BigInt.asIntN(64, whole) !== whole) return null;
    return Number.isSafeInteger(Number(whole)) ? Number(whole) : whole;
  }
  return /^-?\d+\.\d+$/.test(text) && text.replace(/\D/g, '').length <= 15 ? Number(text) : null;
}
