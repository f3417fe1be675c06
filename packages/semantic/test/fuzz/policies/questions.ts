/**
 * Random questions over a world as texts in which names stand in braces, so that they can be asked of the model and of its copy. A
 * question has blocks, each over one view, one cube, or several cubes, and may put plain SQL around them.
 */
import type { Random } from '../random.ts';
import { choicesOf, randomBlock, type Use } from './blocks.ts';
import type { MemberNote } from './members.ts';
import type { World } from './world.ts';

/** One semantic SELECT. In every text `{name}` is a member; `@1` in `where` and `tail` is the second block. */
export interface Block {
  /** A view or cube, or several cubes. */
  readonly from: readonly [string, ...string[]];
  readonly isDistinct: boolean;
  /** Without names: every dimension. */
  readonly select: readonly string[] | '*';
  readonly where: string | null;
  /** What follows WHERE. */
  readonly tail: string;
}

/** A statement: blocks and what stands around them, in which `@0` is the first block. */
export interface Question {
  readonly blocks: readonly [Block, ...Block[]];
  readonly around: string;
  readonly timezone: string;
}

/** Zones with clocks put forward within the rows' times, with half hours, and a day ahead; mostly UTC. */
export const zones = ['UTC', 'UTC', 'UTC', 'America/New_York', 'Asia/Kolkata', 'Pacific/Auckland'] as const;

/** A member that a question may name. */
export interface Choice {
  readonly name: string;
  readonly type: string;
  readonly kind: string;
  readonly use: MemberNote['use'];
  /** The names of the time and of the choice of its cube, reached in the same way; null: the question may not name them. */
  readonly time: string | null;
  readonly choice: string | null;
}

const chance = (random: Random, percent: number): boolean => random.below(100) < percent;
const oneOf = <T>(random: Random, items: readonly T[]): T | undefined => items[random.below(items.length)];

/** The names that a block takes. */
export const namesIn = ({ select, where, tail }: Block): ReadonlySet<string> =>
  new Set(
    [...(select === '*' ? [] : select), where ?? '', tail].flatMap((text) =>
      [...text.matchAll(/\{([\w.]+)\}/g)].map(([, name = '']) => name),
    ),
  );

/** How a block's text is written: what stands for its relations and names, and a condition on its rows beside its own. */
export interface Rendering {
  readonly from: string;
  readonly star: string;
  readonly condition: string | null;
  name(name: string): string;
}

/** The text of a block. */
export function blockText(block: Block, { from, star, condition, name }: Rendering): string {
  const written = (text: string) => text.replaceAll(/\{([\w.]+)\}/g, (_, member: string) => name(member));
  const items = block.select === '*' ? star : block.select.map(written).join(', ');
  const conditions = [
    ...(block.where === null ? [] : [`(${written(block.where)})`]),
    ...(condition === null ? [] : [`(${condition})`]),
  ];
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  return `SELECT ${block.isDistinct ? 'DISTINCT ' : ''}${items} FROM ${from}${where}${written(block.tail)}`;
}

/** The text of a question with its blocks written. */
export const questionText = (around: string, blocks: readonly string[]): string => {
  const [first = '', second = ''] = blocks;
  return around.replaceAll('@0', () => first).replaceAll('@1', () => second);
};

const arounds: readonly (readonly [around: string, ...Use[]])[] = [
  ['SELECT z.k0, COUNT(*), SUM(z.m0), MIN(z.m0) FROM (@0) AS z GROUP BY z.k0', 'text and figure'],
  ['WITH z AS (@0) SELECT * FROM z WHERE z.k0 IS NOT NULL ORDER BY 1, 2', 'text and figure'],
  ['SELECT z.k0, RANK() OVER (ORDER BY z.m0 DESC) FROM (@0) AS z', 'text and figure'],
  ['SELECT AVG(z.m0) FROM (@0) AS z', 'text and figure'],
  ['@0 UNION ALL @1', 'text', 'text'],
  ['@0 UNION @1', 'text', 'text'],
  ['@0 EXCEPT @1', 'text', 'text'],
  ['SELECT a.k0, a.m0, b.m0 FROM (@0) AS a LEFT JOIN (@1) AS b ON a.k0 = b.k0', 'text and figure', 'text and figure'],
  ['SELECT a.k0 FROM (@0) AS a WHERE a.k0 IN (@1)', 'text and figure', 'text'],
  ['SELECT a.k0 FROM (@0) AS a WHERE a.m0 >= (@1)', 'text and figure', 'figure'],
];

/** A member of one of several cubes, as a question names it. */
export const inCube = (cube: string, it: Choice): Choice => {
  const named = (name: string | null) => (name === null ? null : `${cube}.${name}`);
  return { ...it, name: `${cube}.${it.name}`, time: named(it.time), choice: named(it.choice) };
};

/**
 * A question over a world.
 * @param membersOf those of a relation that the question may name, of cubes by themselves under their own names
 */
export function randomQuestion(
  world: World,
  random: Random,
  membersOf: (relation: string) => readonly Choice[],
): Question {
  const timezone = random.pick(zones);
  const block = (use: Use): Block => {
    const kind = random.below(10);
    if (kind === 0) {
      const first = world.cubes[random.below(world.cubes.length)];
      const target = first?.edges[0]?.target;
      if (first !== undefined && target !== undefined) {
        const named = [first.name, target].flatMap((cube) => membersOf(cube).map((it) => inCube(cube, it)));
        return randomBlock([first.name, target], named, random, use);
      }
    }
    const relations = kind < 8 ? world.views : world.cubes;
    const seen = relations.filter((it) => membersOf(it.name).length > 0);
    // What has no members for the user is not there: asked now and then only.
    const name = oneOf(random, seen.length > 0 && random.below(20) > 0 ? seen : relations)?.name ?? 'v0';
    return randomBlock([name], membersOf(name), random, use);
  };
  if (chance(random, 8)) {
    const inner = block('text');
    const outer = block('text and figure');
    const text = choicesOf(membersOf(outer.from[0]), random).text();
    // Only a relation that is asked by itself: its members have bare names.
    if (outer.from.length === 1) {
      const where = `${outer.where === null ? '' : `${outer.where} AND `}${text} IN (@1)`;
      return { blocks: [{ ...outer, where }, inner], around: '@0', timezone };
    }
  }
  const [around, first, second] = chance(random, 30) ? (oneOf(random, arounds) ?? ['@0']) : ['@0'];
  const blocks: [Block, ...Block[]] = [block(first ?? 'alone')];
  if (second !== undefined) blocks.push(block(second));
  return { blocks, around, timezone };
}
