/**
 * Why a user gets what they get: every policy that a query consults, each entry with whether it counted and why not, the filters
 * with the values in them, and the masks. For operators: it names what the user may not see.
 */
import type { DataModel, PolicyFilter } from '../model/data-model.ts';
import { writeCondition } from './conditions.ts';
import { policyPlace } from './entry-grants.ts';
import { grantsOf, type OwnerEntry, type PolicyOwner } from './grants.ts';
import { mismatchOf } from './match-entry.ts';
import { memberReads } from './member-reads.ts';
import { type RowAccess, rightsOf } from './rights.ts';
import { isAllRows, isNoRows, type RowFilter } from './row-filter.ts';
import type { Subject } from './subject.ts';
import { subjectValue, writePolicyValue } from './subject-values.ts';

/** What became of one entry of a policy. */
export interface EntryExplanation {
  /** From 1, in the order of the file. */
  readonly position: number;
  /** Whom it is for: `group merchant`. */
  readonly audience: string;
  /** Whether rows may come from it. */
  readonly counts: boolean;
  /** Why, or why not: one line each. */
  readonly reasons: readonly string[];
}

/** What one policy made of a query. */
export interface PolicyExplanation {
  readonly name: string;
  readonly type: 'view' | 'cube';
  /** The members that the query takes, in the order given. */
  readonly taken: readonly string[];
  /** Empty where there is no policy. */
  readonly entries: readonly EntryExplanation[];
  /** The rows that are left, in words: `all rows`, `no rows`, or a condition with its values. */
  readonly rows: string;
  /** By member: the mask stands in `all rows`, or in all but those of a condition. */
  readonly masks: readonly { readonly member: string; readonly rows: string }[];
}

/**
 * Explains each policy that a query consults.
 * @param taken the members that the query takes, by the name of the view or cube that they are taken from
 */
export function explainRights(
  model: DataModel,
  subject: Subject,
  taken: ReadonlyMap<string, ReadonlySet<string>>,
): readonly PolicyExplanation[] {
  const rights = rightsOf(model, subject);
  const grants = grantsOf(model, subject);
  return [...taken].flatMap(([name, members]): PolicyExplanation[] => {
    const relation = model.relations.get(name);
    const cube = model.cubes.get(name);
    const isView = relation?.type === 'view';
    if (!isView && cube === undefined) return [];
    const policy = (isView ? relation.policy : cube?.policy) ?? null;
    const access = rights.access({ name, policy }, members);
    const counting = new Map(grants({ name, policy }).map((entry) => [entry.index, entry]));
    return [
      {
        name,
        type: isView ? 'view' : 'cube',
        taken: [...members],
        entries: (policy?.entries ?? []).map((entry, index) => {
          const verdict = explainEntry({ name, policy }, index, counting.get(index), members, model, subject);
          return { position: index + 1, audience: audienceOf(entry.groups), ...verdict };
        }),
        rows: policy === null ? withoutPolicy(access, subject) : writeRows(access.filter),
        masks: [...access.masks].map(([member, shown]) => ({
          member,
          rows: shown === null ? 'all rows' : `all rows but those with ${writeFilter(shown)}`,
        })),
      },
    ];
  });
}

const withoutPolicy = (access: RowAccess, subject: Subject): string => {
  if (access.filter !== null) return 'no rows: no policy, and no member is taken from a cube that has one';
  return `all rows: no policy${subject.seesUnprotected ? ', and this user sees what none protects' : ' of its own'}`;
};

const audienceOf = (groups: readonly string[]): string =>
  groups.includes('*') ? 'everyone' : `group ${groups.join(' or ')}`;

function explainEntry(
  owner: PolicyOwner,
  index: number,
  matched: OwnerEntry | undefined,
  taken: ReadonlySet<string>,
  model: DataModel,
  subject: Subject,
): Pick<EntryExplanation, 'counts' | 'reasons'> {
  const no = (...reasons: readonly string[]) => ({ counts: false, reasons });
  const entry = owner.policy?.entries[index];
  if (entry === undefined) return no();
  const mismatch = mismatchOf(entry, subject);
  if (mismatch !== null) {
    switch (mismatch.kind) {
      case 'group':
        return no('the user is in none of these groups');
      case 'embed-tenant':
        return no('it opens all rows, and groups of an embed tenant count here only with embed_tenants: true');
      case 'condition':
        return no(
          `its condition ${mismatch.isMissing ? 'cannot be decided, since a value is missing or of another type' : 'is false'}: ${writeCondition(mismatch.condition)}`,
        );
    }
  }
  if (matched === undefined || !matched.grants.isAny) return no('it grants no member');
  const uncovered = [...taken].filter((name) => matched.grants.of(name) === null);
  if (uncovered.length > 0)
    return no(...uncovered.map((name) => whyUncovered(owner.name, name, entry.excludedMembers, entry.members, model)));
  const filter = matched.filter();
  if (isNoRows(filter)) return no('its filter is false for this user', ...missingValues(entry.rowFilter, subject));
  return {
    counts: true,
    reasons: [
      `gives ${writeRows(isAllRows(filter) ? null : filter)}`,
      ...[...taken].filter((name) => matched.grants.of(name) === 'masked').map((name) => `masks ${name}`),
      ...missingValues(entry.rowFilter, subject),
    ],
  };
}

function whyUncovered(
  owner: string,
  name: string,
  excluded: ReadonlySet<string>,
  members: ReadonlySet<string>,
  model: DataModel,
): string {
  if (!members.has(name)) return `it does not grant ${name}`;
  const place = policyPlace(model, owner);
  const member = place.member(name);
  const read = member === undefined ? new Map() : memberReads(model)(member.cube, member.name);
  const hidden = [...excluded].filter((other) => {
    const target = place.member(other);
    return target !== undefined && read.has(`${target.cube}.${target.name}`);
  });
  return `it does not grant ${name}, which reads ${hidden.join(' and ') || 'what it excludes'}`;
}

/** The values that a filter asks for and the user has not. */
function missingValues(filter: PolicyFilter | null, subject: Subject): readonly string[] {
  if (filter === null) return [];
  if (filter.kind !== 'compare') return [...new Set(filter.filters.flatMap((it) => missingValues(it, subject)))];
  return filter.values
    .filter((value) => subjectValue(value, subject) === undefined)
    .map((value) => `${writePolicyValue(value)} is missing or empty, so the filter on ${filter.member} is false`);
}

const writeRows = (filter: RowFilter | null): string => {
  if (filter === null) return 'all rows';
  return isNoRows(filter) ? 'no rows' : `rows with ${writeFilter(filter)}`;
};

/** A row filter in words: `merchant_id equals 7 or channel set`. */
function writeFilter(filter: RowFilter): string {
  if (isAllRows(filter)) return 'true';
  if (isNoRows(filter)) return 'false';
  if (filter.kind === 'compare') {
    const values = filter.values.map(({ value }) =>
      typeof value === 'string' ? JSON.stringify(value) : String(value),
    );
    return [filter.member, filter.operator, values.join(', ')].filter((word) => word !== '').join(' ');
  }
  return filter.filters
    .map((it) => (it.kind === 'compare' ? writeFilter(it) : `(${writeFilter(it)})`))
    .join(` ${filter.kind} `);
}
