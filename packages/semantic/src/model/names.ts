/** The names of a model's cubes and members, known before anything is built: what refers to what is found by them. */
import { didYouMean } from './read-shape.ts';
import type { DimensionFile, MeasureFile } from './shapes.ts';

/** `lost`: it may be there, but what would say so does not load, which was reported. */
export type NameState = 'there' | 'lost' | 'missing';

/** A member as far as its own lines tell. */
export type NamedMember =
  | { readonly kind: 'dimension'; readonly file: DimensionFile }
  | { readonly kind: 'measure'; readonly file: MeasureFile }
  | { readonly kind: 'segment' };

/** The names of a model. */
export interface ModelNames {
  cube(name: string): NameState;
  member(cube: string, name: string): NameState;
  /** A member that is there. */
  find(cube: string, name: string): NamedMember | undefined;
  cubes(): Iterable<string>;
  /** Whether anything was said to be lost. It is left out then, so that a model without issues was not understood. */
  wasLost(): boolean;
  /** `: it is a view`, `; did you mean "x"?`, or nothing. To look for it takes long where there are many names: some hundred times, then no more. */
  suggest(name: string, candidates: Iterable<string>): string;
  membersOf(cube: string): Iterable<string>;
}

/** The names of one cube. */
export interface CubeNames {
  readonly members: ReadonlyMap<string, NamedMember>;
  /** Names of members that do not load. */
  readonly lost: ReadonlySet<string>;
  /** Whether there are members whose very names are not known. */
  readonly hasUnknown: boolean;
}

/**
 * The names of these cubes.
 * @param lost names that what does not load seems to declare, which was reported
 * @param views names of views: a cube cannot refer to them
 */
export function modelNames(
  cubes: ReadonlyMap<string, CubeNames>,
  lost: ReadonlySet<string>,
  views: ReadonlySet<string>,
): ModelNames {
  let suggestionsLeft = 300;
  let wasLost = false;
  const lostOr = (isLost: boolean): NameState => {
    wasLost ||= isLost;
    return isLost ? 'lost' : 'missing';
  };
  return {
    suggest(name, candidates) {
      if (views.has(name)) return ': it is a view';
      suggestionsLeft -= 1;
      return suggestionsLeft < 0 ? '' : didYouMean(name, candidates);
    },
    wasLost: () => wasLost,
    cube: (name) => (cubes.has(name) ? 'there' : lostOr(lost.has(name))),
    member(cube, name) {
      const names = cubes.get(cube);
      if (names === undefined) return lostOr(lost.has(cube));
      if (names.members.has(name)) return 'there';
      return lostOr(names.hasUnknown || names.lost.has(name));
    },
    find: (cube, name) => cubes.get(cube)?.members.get(name),
    cubes: () => cubes.keys(),
    membersOf: (cube) => cubes.get(cube)?.members.keys() ?? [],
  };
}
