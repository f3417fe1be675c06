/**
 * What one user may see of a data model, and which rows: every policy with the user's groups, attributes and security context in it.
 * Made once per query; nothing is worked out that is not asked for. Everything fails closed: no entry, no value – no rows.
 */
import type { CubeMember, DataModel, Relation } from '../model/data-model.ts';
import type { BoundValue } from './bound-value.ts';
import { policyPlace } from './entry-grants.ts';
import { grantsOf, type OwnerEntry, type PolicyOwner } from './grants.ts';
import { collectValues, filterShape } from './policy-shape.ts';
import { combine, isAllRows, isNoRows, noRows, type RowFilter } from './row-filter.ts';
import type { Subject } from './subject.ts';
import { type VisibleMembers, visibleMembers } from './visible-members.ts';

/** The rows of a cube or view that a query may reach, and what stands in place of the members that it may not read. */
export interface RowAccess {
  /** Null: all rows. */
  readonly filter: RowFilter | null;
  /**
   * Members whose value is replaced, with the rows in which it is not, or null: replaced in all rows. Beside taken members it holds
   * those of the same cube that they read: the mask stands in their place there, too. Of measures and choices always null.
   */
  readonly masks: ReadonlyMap<string, RowFilter | null>;
}

/** The rights of one user. */
export interface Rights {
  /** The members of a relation that the user may name, by name. Without any the relation does not exist for that user. */
  visible(relation: Relation): VisibleMembers;
  /**
   * The rows that a query may reach in a cube or view, and the masks in them.
   * @param taken the members that the query takes from it, by name; what a member reads of another cube is taken from that cube.
   *   An entry counts only if it covers every one of them
   */
  access(owner: PolicyOwner, taken: ReadonlySet<string>): RowAccess;
  /**
   * What of the user's rights in a cube or view decides what is visible of it, and the text of its filters and masks: a query compiled
   * for one user is compiled for all who have the same shape in everything that it may read, with their own {@link Rights.values}.
   */
  shape(owner: PolicyOwner): string;
  /** The values that the entries for this user compare with, by their origin. */
  values(owner: PolicyOwner): ReadonlyMap<string, BoundValue>;
}

/** The rights of a subject in a model. */
export function rightsOf(model: DataModel, subject: Subject): Rights {
  const grants = grantsOf(model, subject);
  const visible = new Map<Relation, VisibleMembers>();
  return {
    visible(relation) {
      const found = visible.get(relation) ?? visibleMembers(relation, model, grants, subject.seesUnprotected);
      visible.set(relation, found);
      return found;
    },
    access(owner, taken) {
      if (owner.policy === null) return unprotectedRows(owner, taken, model, subject);
      const entries = grants(owner)
        .map((entry) => ({ entry, filter: entry.filter() }))
        .filter(({ entry, filter }) => !isNoRows(filter) && covers(entry, taken));
      const rows = combine(
        'or',
        entries.map(({ filter }) => filter),
      );
      return { filter: isAllRows(rows) ? null : rows, masks: masksOf(entries, owner, taken, model) };
    },
    shape(owner) {
      if (owner.policy === null) return subject.seesUnprotected ? 'open' : 'closed';
      return grants(owner)
        .map((entry) => `${entry.index}:${filterShape(entry.filter())}`)
        .join(';');
    },
    values(owner) {
      const values = new Map<string, BoundValue>();
      for (const entry of grants(owner)) collectValues(entry.filter(), values);
      return values;
    },
  };
}

/** Without a policy no row is kept back: what may be taken at all was decided by what is visible. */
function unprotectedRows(
  owner: PolicyOwner,
  taken: ReadonlySet<string>,
  model: DataModel,
  subject: Subject,
): RowAccess {
  const relation = model.relations.get(owner.name);
  const isBare = relation?.type === 'view' && taken.size === 0 && !subject.seesUnprotected;
  // A view of nobody's is admitted by the cubes from which members are taken. Without any its rows are those of its roots, which
  // must not be counted where nothing protects them.
  const isOpen = isBare && relation.paths.some(([root = '']) => (model.cubes.get(root)?.policy ?? null) === null);
  return { filter: isOpen ? noRows : null, masks: new Map() };
}

/** An entry that grants nothing covers nothing, not even a query that takes no member. */
const covers = (entry: OwnerEntry, taken: ReadonlySet<string>): boolean =>
  entry.grants.isAny && [...taken].every((name) => entry.grants.of(name) !== null);

interface Admitting {
  readonly entry: OwnerEntry;
  readonly filter: RowFilter;
}

/** A figure of rows of both kinds cannot be shown for a part of them, nor can a choice, which stands beside every row. */
const isOfRow = (member: CubeMember | undefined): boolean =>
  member?.kind === 'segment' || (member?.kind === 'dimension' && member.source.kind !== 'switch');

function masksOf(
  entries: readonly Admitting[],
  owner: PolicyOwner,
  taken: ReadonlySet<string>,
  model: DataModel,
): ReadonlyMap<string, RowFilter | null> {
  const masks = new Map<string, RowFilter | null>();
  const mask = (name: string, isMasked: (entry: OwnerEntry) => boolean): void => {
    const full = entries.filter(({ entry }) => !isMasked(entry));
    if (full.length === entries.length) return;
    const rows = combine(
      'or',
      full.map(({ filter }) => filter),
    );
    if (isAllRows(rows)) return;
    masks.set(name, isNoRows(rows) || !isOfRow(policyPlace(model, owner.name).member(name)) ? null : rows);
  };
  for (const name of taken) mask(name, (entry) => entry.grants.of(name) === 'masked');
  const read = entries.flatMap(({ entry }) => [...taken].flatMap((name) => entry.grants.maskedReads(name)));
  for (const name of read) if (!taken.has(name)) mask(name, (entry) => entry.grants.masks(name));
  return masks;
}
