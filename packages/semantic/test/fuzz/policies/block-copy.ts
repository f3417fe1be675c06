/** A block as text over the copy that is made for it: what the rules leave, with the policy of its view written into the text. */
import type { DataModel, Dimension } from '../../../src/model/data-model.ts';
import { type Case, cubeRows, isVisible, type ViewRows, viewRows } from './admission.ts';
import { copyOf } from './copy.ts';
import { type Block, blockText, namesIn, type Rendering } from './questions.ts';
import { noteOf, placeOf, type RelationPlace, readsOf } from './world.ts';

/** What a name of a block means. */
function placeIn(it: Case, block: Block, name: string): RelationPlace | null {
  const [cube = '', member] = name.split('.');
  return member === undefined ? placeOf(it.world, block.from[0], name) : { cube, member, path: [cube] };
}

/** A choice is no value of a row: `*` leaves it out. */
const isChoice = (member: Dimension): boolean => member.source.kind === 'switch';

/** The names that `*` means to the user. */
const starOf = (it: Case, block: Block): readonly string[] =>
  block.from.flatMap((relation) =>
    [...(it.model.relations.get(relation)?.members.values() ?? [])]
      .filter(({ member, name }) => member.kind === 'dimension' && !isChoice(member) && isVisible(it, relation, name))
      .map(({ name }) => (block.from.length > 1 ? `${relation}.${name}` : name)),
  );

/** A block over its copy. */
export interface Copied {
  readonly text: string;
  /** The condition that stands for the view's own policy. */
  readonly condition: string | null;
  /** Whether masks of some joined rows are written into the text. */
  readonly isRewritten: boolean;
  readonly model: DataModel;
  readonly isMasked: boolean;
}

/** In how many ways a view reaches a cube. */
const pathsTo = ({ world }: Case, relation: string, cube: string): number =>
  new Set(
    [...(world.views.find(({ name }) => name === relation)?.members.values() ?? [])].flatMap((it) =>
      it.cube === cube ? [it.path.join()] : [],
    ),
  ).size;

/** Whether a path has a join to many rows in it. */
const isRepeating = ({ world }: Case, path: readonly string[]): boolean =>
  path.some((from, at) => {
    const edges = world.cubes.find(({ name }) => name === from)?.edges ?? [];
    return edges.some(({ target, relationship }) => target === path[at + 1] && relationship === 'one_to_many');
  });

/** Members that join another cube to read it, or read one that does: of each, those whose mask saves that. */
const joiningMembers: Readonly<Record<string, readonly string[]>> = {
  far: ['far'],
  deep: ['far', 'deep'],
  beyond: ['beyond'],
};

/** The copy of a block and the block's text over it; null: it cannot be written. */
export function copied(it: Case, block: Block, prefix: string, isForRefusal: boolean): Copied | null {
  const names = new Set([...namesIn(block), ...(block.select === '*' ? starOf(it, block) : [])]);
  const places = [...names].flatMap((name) => placeIn(it, block, name) ?? []);
  const rows = new Map(cubeRows(it, places));
  const [relation] = block.from;
  const view: ViewRows = viewRows(it, relation, names);
  const partly = new Map<string, string>();
  const replaced = new Set<string>();
  const readers = ({ cube, member }: RelationPlace) =>
    [...names].filter((other) => {
      const from = placeIn(it, block, other);
      return from !== null && readsOf(it.world, from).some((read) => read.cube === cube && read.member === member);
    });
  // What no row shows is masked in the cube, or by its name where the view reaches the cube in another way, too; what some joined rows
  // show is written into the question.
  for (const name of [...view.masked.keys(), ...view.maskedMeasures]) {
    const place = placeOf(it.world, relation, name);
    const left = place === null ? undefined : rows.get(place.cube);
    if (place === null || left === undefined) continue;
    const shown = view.masked.get(name) ?? null;
    if (shown !== null) {
      if (readers(place).length > 0 || place.member === 't') return null;
      partly.set(name, shown);
    } else if (pathsTo(it, relation, place.cube) > 1) {
      if (readers(place).length > 0) return null;
      replaced.add(name);
    } else if (view.maskedMeasures.has(name)) {
      rows.set(place.cube, { ...left, maskedMeasures: new Set([...left.maskedMeasures, place.member]) });
    } else {
      const ids = it.world.cubes.find((cube) => cube.name === place.cube)?.rows.map(({ id }) => id) ?? [];
      rows.set(place.cube, { ...left, masked: new Map([...left.masked, [place.member, ids]]) });
    }
  }
  // The copy joins what a masked member would read; rows by themselves are repeated by that, and groups are not.
  const isRepeated = [...names].some((other) => {
    const from = placeIn(it, block, other);
    const joining = from === null ? [] : (joiningMembers[from.member] ?? []);
    return joining.some((member) => rows.get(from?.cube ?? '')?.masked.has(member) === true);
  });
  if (isRepeated && !/MEASURE|GROUP BY/.test(`${String(block.select)} ${block.tail}`)) return null;
  // Rows without measures are those of the root of what is named; a policy has no part in that, and its condition as text would have.
  const isConditioned = view.condition !== null || partly.size > 0;
  const rootsOf = (from: Iterable<string>) => [...from].map((other) => placeIn(it, block, other)?.path[0]);
  const first = it.world.views.find((other) => other.name === relation)?.roots[0];
  const roots = new Set([...(names.size === 0 ? [first] : rootsOf(names)), ...rootsOf(view.real)]);
  const isMeasured = [...names].some((other) => {
    const place = placeIn(it, block, other);
    return place !== null && noteOf(it.world, place)?.kind === 'measure';
  });
  if (isConditioned && roots.size > 1 && !isMeasured) return null;
  // From another root two ways may be one table, where the mask of either stands for both.
  if (replaced.size + partly.size > 0 && roots.size > 1) return null;
  // Nor has it the joins that the view's filter needs where it leaves all rows: what is joined to many repeats rows that are not grouped.
  const isJoinedToMany = view.real.some((other) => isRepeating(it, placeIn(it, block, other)?.path ?? []));
  if (!isConditioned && !isMeasured && isJoinedToMany) return null;
  // The filters of the question reach into `narrow`, and those of a view do not; here these would be the question's.
  const isNarrow = [...names].some((other) => placeIn(it, block, other)?.member === 'narrow');
  if (isNarrow && isConditioned) return null;
  const extras = isForRefusal ? { real: [], masks: [] } : { real: view.real, masks: [...partly.keys()] };
  const model = copyOf({
    model: it.full,
    world: it.world,
    prefix,
    rows,
    isVisible: (of, name) => isVisible(it, of, name),
    extras: { relation, replaced, ...extras },
  });
  const name = (asked: string): string => {
    const shown = isForRefusal ? undefined : partly.get(asked);
    return shown === undefined ? asked : `(CASE WHEN ${shown} THEN ${asked} ELSE mask_${asked} END)`;
  };
  const [leading, ...others] = block.from.map((cube) => (prefix === '' ? cube : `${prefix}${cube} AS ${cube}`));
  const rendering: Rendering = {
    from: [leading ?? '', ...others].join(' CROSS JOIN '),
    star: isForRefusal ? '*' : starOf(it, block).map(name).join(', ') || '*',
    condition: isForRefusal ? null : view.condition,
    name,
  };
  const isMasked =
    view.masked.size + view.maskedMeasures.size > 0 ||
    [...rows.values()].some(({ masked, maskedMeasures }) => masked.size + maskedMeasures.size > 0);
  return {
    text: blockText(block, rendering),
    condition: rendering.condition,
    isRewritten: partly.size > 0,
    model,
    isMasked,
  };
}
