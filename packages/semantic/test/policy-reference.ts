/**
 * What an access policy means, in JavaScript over plain rows, written from the rules' text and from nothing else: slow, simple, and
 * sharing no code with the library. A query's answer has to equal that of the same query over what {@link permitted} leaves.
 */
import type {
  DataModel,
  MemberType,
  Policy,
  PolicyEntry,
  PolicyFilter,
  PolicyValue,
  SqlTemplate,
} from '../src/model/data-model.ts';
import type { Subject } from '../src/policy/subject.ts';
import { lookUp, truth } from './policy-reference-conditions.ts';

/** A value of a row. Times are texts such as `2024-01-31 23:30:00`. */
export type Cell = string | number | boolean | null;
/** A row by names of members of the cube or view whose policy is asked. */
export type PlainRow = Readonly<Record<string, Cell>>;

/** What a policy leaves of some rows. */
export interface Permitted {
  /** The rows admitted, each with the members of which the mask is shown in it. */
  readonly rows: readonly { readonly row: PlainRow; readonly masked: ReadonlySet<string> }[];
  /** The measures, and choices, of which the mask is shown. */
  readonly maskedMeasures: ReadonlySet<string>;
}

/** A cube or view: its policy, the type and kind of its members, and what they read. */
export interface ReferenceOwner {
  readonly policy: Policy | null;
  readonly members: ReadonlyMap<
    string,
    {
      readonly type: MemberType;
      /** `choice`: a `switch`, which is no value of a row, so that a mask of it is in none or all. */
      readonly kind: 'dimension' | 'measure' | 'segment' | 'choice';
      /** The members of the same owner that it reads, directly and through others. */
      readonly reads: ReadonlySet<string>;
      /** The other names that the owner has for it; left out: none. */
      readonly others?: ReadonlySet<string>;
    }
  >;
}

/** A cube of a model as the reference sees it. Reads are followed within the cube. */
export function cubeOwner(model: DataModel, name: string): ReferenceOwner {
  const cube = model.cubes.get(name);
  if (cube === undefined) throw new Error(`no cube ${name}`);
  const direct = (member: string): readonly string[] => {
    const declared: object = cube.members.get(member) ?? {};
    const parts = (sql: unknown): SqlTemplate => (Array.isArray(sql) ? sql : []);
    const source = 'source' in declared ? declared.source : declared;
    const own = typeof source === 'object' && source !== null && 'sql' in source ? parts(source.sql) : [];
    const filters = 'filters' in declared && Array.isArray(declared.filters) ? declared.filters.flatMap(parts) : [];
    return [...own, ...filters].flatMap((part) => (part.kind === 'member' && part.cube === name ? [part.member] : []));
  };
  const all = (member: string, seen = new Set<string>()): Set<string> => {
    for (const read of direct(member)) if (!seen.has(read)) all(read, seen.add(read));
    return seen;
  };
  return {
    policy: cube.policy,
    members: new Map([...cube.members].map(([key, { type, kind }]) => [key, { type, kind, reads: all(key) }])),
  };
}

/** The entries that are for this user. */
function matching(policy: Policy, subject: Subject): readonly PolicyEntry[] {
  return policy.entries.filter((entry) => {
    const isInGroup = entry.groups.includes('*') || entry.groups.some((group) => subject.groups.includes(group));
    const opensAll = entry.rowFilter === null || certainty(entry.rowFilter, undefined, subject) === 'always';
    const isTenantsOwn = opensAll && subject.isEmbedTenantScope && !entry.matchesEmbedTenants;
    return isInGroup && !isTenantsOwn && entry.conditions.every((it) => truth(it, subject) === 'true');
  });
}

/** How one entry grants a member. */
function granted(entry: PolicyEntry, name: string, owner: ReferenceOwner): 'full' | 'masked' | 'not' {
  if (entry.maskedMembers.has(name)) return 'masked';
  if (!entry.members.has(name)) return 'not';
  // What an entry says must not be seen is not seen through a member that reads it, nor by another name.
  const { reads = new Set<string>(), others = new Set<string>() } = owner.members.get(name) ?? {};
  if ([...reads, ...others].some((read) => entry.excludedMembers.has(read))) return 'not';
  return masks(entry, name, owner) ? 'masked' : 'full';
}

/** Whether an entry masks what a name means, by whatever name. */
const masks = (entry: PolicyEntry, name: string, owner: ReferenceOwner): boolean =>
  [name, ...(owner.members.get(name)?.others ?? [])].some((it) => entry.maskedMembers.has(it));

/** The most that any entry grants the user of a member. Of an owner without policy: all of it where `unprotected` says so, else nothing. */
export function mostGranted(
  owner: ReferenceOwner,
  name: string,
  subject: Subject,
  unprotected: boolean,
): 'full' | 'masked' | 'not' {
  if (owner.policy === null) return unprotected ? 'full' : 'not';
  const all = matching(owner.policy, subject).map((entry) => granted(entry, name, owner));
  return all.includes('full') ? 'full' : all.includes('masked') ? 'masked' : 'not';
}

/** Whether the policy lets the user name a member. Of an owner without policy: whatever `unprotected` says. */
export const mayName = (owner: ReferenceOwner, name: string, subject: Subject, unprotected: boolean): boolean =>
  mostGranted(owner, name, subject, unprotected) !== 'not';

/**
 * The rows of a cube or view that a query taking these members may reach.
 * @param rows with a value for each dimension that filters name
 */
export function permitted(
  owner: ReferenceOwner,
  subject: Subject,
  taken: ReadonlySet<string>,
  rows: readonly PlainRow[],
): Permitted {
  if (owner.policy === null)
    return { rows: rows.map((row) => ({ row, masked: new Set() })), maskedMeasures: new Set() };
  const counting = matching(owner.policy, subject).filter((entry) =>
    taken.size === 0
      ? [...owner.members.keys()].some((name) => granted(entry, name, owner) !== 'not')
      : [...taken].every((name) => granted(entry, name, owner) !== 'not'),
  );
  const touched = new Set([...taken].flatMap((name) => [name, ...(owner.members.get(name)?.reads ?? [])]));
  const isMasked = (entry: PolicyEntry, name: string) =>
    taken.has(name) ? granted(entry, name, owner) === 'masked' : masks(entry, name, owner);
  const isFigure = (name: string) => ['measure', 'choice'].includes(owner.members.get(name)?.kind ?? '');
  const admits = (entry: PolicyEntry, row: PlainRow) =>
    entry.rowFilter === null || isTrue(entry.rowFilter, row, owner, subject);

  const left = rows.flatMap((row) => {
    const admitting = counting.filter((entry) => admits(entry, row));
    if (admitting.length === 0) return [];
    const names = [...touched].filter((name) => !isFigure(name));
    return [{ row, masked: new Set(names.filter((name) => admitting.every((entry) => isMasked(entry, name)))) }];
  });

  const form = (entry: PolicyEntry) =>
    entry.rowFilter === null ? 'always' : certainty(entry.rowFilter, owner, subject);
  const maskedMeasures = [...touched]
    .filter(isFigure)
    .filter(
      (name) =>
        counting.some((entry) => form(entry) !== 'never' && isMasked(entry, name)) &&
        !counting.some((entry) => form(entry) === 'always' && !isMasked(entry, name)),
    );
  return { rows: left, maskedMeasures: new Set(maskedMeasures) };
}

const missing = Symbol('missing');
type Missing = typeof missing;

/** The values that stand in a filter; one that is missing, null or empty makes all of them missing. */
function filterValues(values: readonly PolicyValue[], subject: Subject): readonly unknown[] | Missing {
  const all: unknown[] = [];
  for (const value of values) {
    const found = lookUp(value, subject);
    if (value.kind === 'literal') all.push(found);
    else if (found === undefined || found === null || found === '') return missing;
    else if (Array.isArray(found)) {
      if (found.length === 0 || found.includes('') || found.includes(null)) return missing;
      all.push(...found);
    } else all.push(found);
  }
  return all;
}

/** A value as the type of the member; missing when it is none. */
function typed(value: unknown, type: MemberType): Cell | Missing {
  if (typeof value === 'number' && Math.abs(value) > 2 ** 53 - 1) return missing;
  if (type === 'boolean') return typeof value === 'boolean' ? value : missing;
  if (type === 'string') return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : missing;
  if (type === 'number') {
    if (typeof value === 'number') return value;
    return typeof value === 'string' && /^-?\d{1,15}(\.\d{1,9})?$/.test(value) ? Number(value) : missing;
  }
  return typeof value === 'string' && isTime(value) ? value : missing;
}

const isTime = (text: string) => /^\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d)?)?$/.test(text) && !Number.isNaN(instant(text));
const instant = (text: string) => Date.parse(`${text.replace(' ', 'T')}${text.length === 10 ? 'T00:00' : ''}Z`);
const isDay = (text: string) => text.length === 10;
const dayMs = 86_400_000;

/** The values that a filter compares with, as the member's type; null: one is missing, too many, or of another type. */
function comparable(
  filter: PolicyFilter & { readonly kind: 'compare' },
  type: MemberType | undefined,
  subject: Subject,
): readonly Cell[] | null {
  const { operator } = filter;
  const isText = /contains|starts|ends/i.test(operator);
  const isDate = /Date/.test(operator);
  const isOrder = ['gt', 'gte', 'lt', 'lte'].includes(operator);
  if (type === undefined || (isText && type !== 'string')) return null;
  if ((isDate && type !== 'time') || (isOrder && type === 'boolean')) return null;
  const found = filterValues(filter.values, subject);
  if (found === missing) return null;
  const wanted = isDate && /Range/.test(operator) ? 2 : isDate || isOrder ? 1 : null;
  if (found.length === 0 || (wanted !== null && found.length !== wanted)) return null;
  const values = found.map((value) => typed(value, isText ? 'string' : type));
  const cells = values.filter((value) => value !== missing);
  return cells.length < values.length ? null : cells;
}

function isTrue(filter: PolicyFilter, row: PlainRow, owner: ReferenceOwner, subject: Subject): boolean {
  if (filter.kind !== 'compare') {
    const results = filter.filters.map((it) => isTrue(it, row, owner, subject));
    return filter.kind === 'and' ? !results.includes(false) : results.includes(true);
  }
  const cell = row[filter.member] ?? null;
  if (filter.operator === 'set') return cell !== null;
  if (filter.operator === 'notSet') return cell === null;
  const type = owner.members.get(filter.member)?.type;
  const values = comparable(filter, type, subject);
  if (values === null) return false;
  const same = (value: Cell) => (type === 'time' ? instant(String(cell)) === instant(String(value)) : cell === value);
  const texts = values.map((value) => String(value).toLowerCase());
  const text = String(cell).toLowerCase();
  switch (filter.operator) {
    case 'equals':
      return cell !== null && values.some(same);
    case 'notEquals':
      return cell === null || !values.some(same);
    case 'contains':
      return cell !== null && texts.some((it) => text.includes(it));
    case 'notContains':
      return cell === null || !texts.some((it) => text.includes(it));
    case 'startsWith':
      return cell !== null && texts.some((it) => text.startsWith(it));
    case 'notStartsWith':
      return cell === null || !texts.some((it) => text.startsWith(it));
    case 'endsWith':
      return cell !== null && texts.some((it) => text.endsWith(it));
    case 'notEndsWith':
      return cell === null || !texts.some((it) => text.endsWith(it));
    default: {
      if (cell === null) return false;
      return type === 'time'
        ? compareTimes(filter.operator, String(cell), values.map(String))
        : compareOrder(filter.operator, cell, values[0] ?? null);
    }
  }
}

function compareOrder(operator: string, cell: Cell, value: Cell): boolean {
  if (cell === null || value === null) return false;
  const [less, equal] = [cell < value, cell === value];
  return { lt: less, lte: less || equal, gt: !less && !equal, gte: !less }[operator] ?? false;
}

function compareTimes(operator: string, cell: string, [first = '', second = '']: readonly string[]): boolean {
  const at = instant(cell);
  // The first instant that is behind a day, or behind an instant: times here have whole seconds.
  const behind = (text: string) => instant(text) + (isDay(text) ? dayMs : 1000);
  switch (operator) {
    case 'inDateRange':
      return at >= instant(first) && at < behind(second);
    case 'notInDateRange':
      return at < instant(first) || at >= behind(second);
    case 'beforeDate':
    case 'lt':
      return at < instant(first);
    case 'beforeOrOnDate':
      return at < behind(first);
    case 'afterDate':
      return at >= behind(first);
    case 'afterOrOnDate':
    case 'gte':
      return at >= instant(first);
    case 'lte':
      return at <= instant(first);
    case 'gt':
      return at > instant(first);
    default:
      throw new Error(operator);
  }
}

/** Whether a filter is sure for every row, by its form and the values that are there. Without owner, by its form alone. */
function certainty(
  filter: PolicyFilter,
  owner: ReferenceOwner | undefined,
  subject: Subject,
): 'always' | 'never' | 'depends' {
  if (filter.kind === 'compare') {
    if (owner === undefined || ['set', 'notSet'].includes(filter.operator)) return 'depends';
    return comparable(filter, owner.members.get(filter.member)?.type, subject) === null ? 'never' : 'depends';
  }
  const inner = filter.filters.map((it) => certainty(it, owner, subject));
  const [neutral, deciding] = filter.kind === 'and' ? (['always', 'never'] as const) : (['never', 'always'] as const);
  if (inner.includes(deciding)) return deciding;
  return inner.every((it) => it === neutral) ? neutral : 'depends';
}
