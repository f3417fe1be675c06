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
  /** `; did you mean "x"?`, or nothing. To look for it takes long where there are many names: some hundred times, then no more. */
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
 * @param lost names that files which are no YAML seem to declare
 */
export function modelNames(cubes: ReadonlyMap<string, CubeNames>, lost: ReadonlySet<string>): ModelNames {
  let suggestionsLeft = 300;
  return {
    suggest(name, candidates) {
      suggestionsLeft -= 1;
      return suggestionsLeft < 0 ? '' : didYouMean(name, candidates);
    },
    cube: (name) => (cubes.has(name) ? 'there' : lost.has(name) ? 'lost' : 'missing'),
    member(cube, name) {
      const names = cubes.get(cube);
      if (names === undefined) return lost.has(cube) ? 'lost' : 'missing';
      if (names.members.has(name)) return 'there';
      return names.hasUnknown || names.lost.has(name) ? 'lost' : 'missing';
    },
    find: (cube, name) => cubes.get(cube)?.members.get(name),
    cubes: () => cubes.keys(),
    membersOf: (cube) => cubes.get(cube)?.members.keys() ?? [],
  };
}
