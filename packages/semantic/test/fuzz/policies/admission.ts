/** What the rules leave for one block: the rows and masks of each cube, and the joined rows and masks of the view, by values. */
import type { DataModel } from '../../../src/model/data-model.ts';
import type { Subject } from '../../../src/policy/subject.ts';
import { type Cell, mostGranted, type PlainRow, permitted, type ReferenceOwner } from '../../policy-reference.ts';
import type { CubeRows } from './copy.ts';
import type { MemberNote, Place } from './members.ts';
import { noteOf, placeOf, type RelationPlace, readsOf, type TableRow, type World } from './world.ts';

/** A world with policies, and who asks. */
export interface Case {
  readonly world: World;
  readonly model: DataModel;
  /** The same, made of a file in which nothing extends anything: what the rules and the copy are made of. */
  readonly full: DataModel;
  readonly subject: Subject;
}

/** What a view's policy leaves of the joined rows. */
export interface ViewRows {
  /** A condition over `real_…` members; null: every row. */
  readonly condition: string | null;
  /** Members that filters name, so that the copy needs them as they are. */
  readonly real: readonly string[];
  /** Masked members, with the condition under which they are shown, or null: never. */
  readonly masked: ReadonlyMap<string, string | null>;
  readonly maskedMeasures: ReadonlySet<string>;
}

const isSame = (one: Place, other: Place) => one.cube === other.cube && one.member === other.member;
const isSamePath = (one: RelationPlace, other: RelationPlace) => one.path.join() === other.path.join();

const owners = new WeakMap<DataModel, Map<string, ReferenceOwner>>();

/** An owner as it was made for this model before. */
function remembered(model: DataModel, name: string, make: () => ReferenceOwner): ReferenceOwner {
  const known = owners.get(model) ?? new Map<string, ReferenceOwner>();
  owners.set(model, known);
  const owner = known.get(name) ?? make();
  known.set(name, owner);
  return owner;
}

const cubeOwner = (it: Case, cube: string) => remembered(it.full, cube, () => makeCubeOwner(it, cube));
const viewOwner = (it: Case, view: string) => remembered(it.full, view, () => makeViewOwner(it, view));

const kindOf = ({ use, kind }: MemberNote) => (use === 'choice' ? 'choice' : kind);

/** A cube as the rules see it. */
function makeCubeOwner({ world, full }: Case, cube: string): ReferenceOwner {
  const declared = world.cubes.find((it) => it.name === cube);
  const members = [...(declared?.members ?? [])].map(([name, note]) => {
    const reads = readsOf(world, { cube, member: name }).filter((read) => read.cube === cube);
    const kind = kindOf(note);
    return [name, { type: note.type, kind, reads: new Set(reads.map(({ member }) => member)) }] as const;
  });
  return { policy: full.cubes.get(cube)?.policy ?? null, members: new Map(members) };
}

/** A view as the rules see it: the names of its members are its own. Of one cube, each path to it is another. */
function makeViewOwner({ world, full }: Case, view: string): ReferenceOwner {
  const all = [...(world.views.find((it) => it.name === view)?.members ?? [])];
  const members = all.flatMap(([name, place]) => {
    const note = noteOf(world, place);
    if (note === undefined) return [];
    const read = readsOf(world, place);
    const isRead = (it: RelationPlace) =>
      read.some((one) => isSame(one, it)) && (it.cube !== place.cube || isSamePath(it, place));
    const isOther = (it: RelationPlace) => isSame(it, place) && isSamePath(it, place);
    const names = (is: (it: RelationPlace) => boolean) =>
      new Set(all.filter(([other, it]) => other !== name && is(it)).map(([other]) => other));
    const [reads, others] = [names(isRead), names(isOther)];
    return [[name, { type: note.type, kind: kindOf(note), reads, others }] as const];
  });
  return { policy: full.relations.get(view)?.policy ?? null, members: new Map(members) };
}

const isView = ({ world }: Case, relation: string) => world.views.some(({ name }) => name === relation);

/** What the user is shown of a member of a view or cube; of both policies the stricter counts. */
export function accessTo(it: Case, relation: string, name: string): 'full' | 'masked' | 'not' {
  const place = placeOf(it.world, relation, name);
  if (place === null) return 'not';
  const { subject } = it;
  const view = isView(it, relation) ? viewOwner(it, relation) : null;
  // A cube that nothing protects adds nothing below a view that something does.
  const isProtected = view !== null && view.policy !== null;
  const inCube = mostGranted(cubeOwner(it, place.cube), place.member, subject, isProtected || subject.seesUnprotected);
  const inView = view !== null && isProtected ? mostGranted(view, name, subject, true) : 'full';
  return [inCube, inView].includes('not') ? 'not' : [inCube, inView].includes('masked') ? 'masked' : 'full';
}

/** Whether the user may name a member of a view or cube. */
export const isVisible = (it: Case, relation: string, name: string): boolean => accessTo(it, relation, name) !== 'not';

/** The members that are taken from each cube by a block: those that it names, and what they read of other cubes. */
function takenFrom(world: World, places: readonly Place[]): ReadonlyMap<string, ReadonlySet<string>> {
  const taken = new Map<string, Set<string>>();
  const take = ({ cube, member }: Place) => taken.set(cube, (taken.get(cube) ?? new Set()).add(member));
  const follow = (place: Place, seen: Set<string>): void => {
    for (const read of noteOf(world, place)?.reads ?? []) {
      if (read.cube !== place.cube) take(read);
      const key = `${read.cube}.${read.member}`;
      if (!seen.has(key)) follow(read, seen.add(key));
    }
  };
  for (const place of places) {
    take(place);
    follow(place, new Set());
  }
  return taken;
}

const plainRow = (row: TableRow): PlainRow => {
  const { s, n } = row;
  return {
    ...row,
    loud: typeof s === 'string' ? s.toUpperCase() : null,
    next: typeof n === 'number' ? n + 1 : null,
    big: typeof n === 'number' ? n > 1 : null,
    grade: typeof n === 'number' && n > 1 ? 'high' : (s ?? null),
  };
};

/** What is left of each cube for a block that names these members. */
export function cubeRows(it: Case, places: readonly Place[]): ReadonlyMap<string, CubeRows> {
  const taken = takenFrom(it.world, places);
  return new Map(
    it.world.cubes.map(({ name, rows }) => {
      const left = permitted(cubeOwner(it, name), it.subject, taken.get(name) ?? new Set(), rows.map(plainRow));
      const masked = new Map<string, number[]>();
      for (const { row, masked: hidden } of left.rows) {
        for (const member of hidden) masked.set(member, [...(masked.get(member) ?? []), Number(row['id'])]);
      }
      const ids = left.rows.map(({ row }) => Number(row['id']));
      return [name, { ids, masked, maskedMeasures: left.maskedMeasures }];
    }),
  );
}

/** The values that members that a view's filter may name have in these worlds; null where nothing is joined, too. */
const domains: Readonly<Record<string, readonly Cell[]>> = {
  s: ['a', 'b', null],
  b: [true, false, null],
  owner: [1, 2, null],
  loud: ['A', 'B', null],
};
/** Values that none has: filters tell them apart, which shows what a filter reads. */
const strangers: Readonly<Record<string, readonly Cell[]>> = {
  s: ['A', 'hid', 'zz'],
  b: [],
  owner: [0, 3, 99],
  loud: ['a', 'b', 'hid', 'zz'],
};

/** What is left of the joined rows of a view for a block that names these members. */
export function viewRows(it: Case, view: string, names: ReadonlySet<string>): ViewRows {
  const all: ViewRows = { condition: null, real: [], masked: new Map(), maskedMeasures: new Set() };
  if (!isView(it, view)) return all;
  const owner = viewOwner(it, view);
  if (owner.policy === null) {
    const roots = it.world.views.find(({ name }) => name === view)?.roots ?? [];
    const isOpen = roots.some((root) => (it.full.cubes.get(root)?.policy ?? null) === null);
    // Without any member nothing says which cube's policy would have to admit the user.
    return names.size === 0 && isOpen && !it.subject.seesUnprotected ? { ...all, condition: 'false' } : all;
  }
  const filtered = [...new Set(JSON.stringify(owner.policy).match(/"member":"\w+"/g) ?? [])].map((found) =>
    found.slice('"member":"'.length, -1),
  );
  const meant = (name: string) => placeOf(it.world, view, name)?.member ?? '';
  const rows = combinations(filtered, meant);
  const left = permitted(owner, it.subject, names, rows);
  const admitted = new Map(left.rows.map(({ row, masked }) => [row, masked]));
  const masked = new Map<string, string | null>();
  for (const name of new Set(left.rows.flatMap((row) => [...row.masked]))) {
    const shown = condition(
      rows,
      filtered,
      (row) => admitted.has(row) && admitted.get(row)?.has(name) === false,
      [...admitted.keys()],
      meant,
    );
    masked.set(name, shown === 'false' ? null : shown);
  }
  const kept = condition(rows, filtered, (row) => admitted.has(row), rows, meant);
  return { condition: kept, real: filtered, masked, maskedMeasures: left.maskedMeasures };
}

/** @param meant gives the cube's name of a member */
function combinations(names: readonly string[], meant: (name: string) => string): readonly PlainRow[] {
  let rows: PlainRow[] = [{}];
  for (const name of names) {
    const values = [...(domains[meant(name)] ?? []), ...(strangers[meant(name)] ?? [])];
    rows = rows.flatMap((row) => values.map((value) => ({ ...row, [name]: value })));
  }
  return rows;
}

/**
 * The combinations for which something holds as SQL, null where it holds for all that matter. Members on which nothing depends are not
 * read: the filter may read something that the question cannot reach.
 */
function condition(
  rows: readonly PlainRow[],
  names: readonly string[],
  holds: (row: PlainRow) => boolean,
  mattering: readonly PlainRow[],
  meant: (name: string) => string,
): string | null {
  const kept = rows.filter(holds);
  if (kept.length === 0) return 'false';
  if (mattering.every(holds)) return null;
  const decisive = names.filter((name) =>
    rows.some((row) => {
      const others = rows.filter((other) => names.every((it) => it === name || other[it] === row[it]));
      return others.some((other) => holds(other) !== holds(row));
    }),
  );
  const real = (name: string, row: PlainRow) => domains[meant(name)]?.includes(row[name] ?? null) ?? false;
  const possible = kept.filter((row) => decisive.every((name) => real(name, row)));
  if (possible.length === 0)
    return decisive.map((name) => `(real_${name} IS NULL AND real_${name} IS NOT NULL)`).join(' AND ');
  const texts = possible.map((row) =>
    decisive
      .map((name) => {
        const value = row[name] ?? null;
        if (value === null) return `real_${name} IS NULL`;
        if (typeof value === 'boolean') return value ? `real_${name}` : `NOT real_${name}`;
        return `real_${name} = ${typeof value === 'string' ? `'${value}'` : String(value)}`;
      })
      .join(' AND '),
  );
  return [...new Set(texts)].map((it) => `(${it})`).join(' OR ');
}
