/** Reads the fragments and names that one member holds, each under the rule of its place. What is wrong is reported, and left out. */
import type { DimensionReference, SqlPart, SqlTemplate } from './data-model.ts';
import type { ModelNames, NamedMember } from './names.ts';
import type { Path, Reporter } from './report.ts';
import { parseMemberName, parseSqlTemplate } from './sql-template.ts';

/**
 * What a fragment may read. `rows`: columns and dimensions, of other cubes, too. `measures`: measures only. `columns`: columns of its
 * own cube only. `any`: the caller looks.
 */
export type FragmentRule = 'rows' | 'measures' | 'columns' | 'any';

/** Reads what one member holds. */
export interface Fragments {
  readonly cube: string;
  readonly names: ModelNames;
  readonly report: Reporter;
  /** A fragment; null when it is wrong, or names what does not load. */
  read(text: string, path: Path, rule: FragmentRule): SqlTemplate | null;
  /** A list of dimensions, as `status`, `users.city`. */
  dimensions(texts: readonly string[], path: Path): readonly DimensionReference[];
}

/** The reader for a member. @param what the member, for messages: `measure revenue` */
export function fragmentsOf(cube: string, what: string, names: ModelNames, report: Reporter): Fragments {
  const findPart = (part: SqlPart): NamedMember | undefined =>
    part.kind === 'member' ? names.find(part.cube, part.member) : undefined;

  const problemOf = (parts: SqlTemplate, rule: FragmentRule): string | null => {
    if (rule === 'any') return null;
    for (const part of parts) {
      if (part.kind === 'text' || part.kind === 'literal') continue;
      const found = findPart(part);
      if (found?.kind === 'segment') {
        return `${what} cannot refer to a segment: write the condition out, or make it a boolean dimension`;
      }
      if (rule === 'measures') {
        if (found?.kind !== 'measure') return `${what} may refer to measures only`;
      } else if (rule === 'columns') {
        if (part.kind !== 'cube' || part.cube !== cube)
          return `${what} may read columns of its own cube only: {CUBE}.column`;
      } else if (found?.kind === 'measure') {
        const cure = what.startsWith('measure')
          ? 'use type number'
          : 'a dimension that is computed by a measure has sub_query: true';
        return `${what} is computed row by row and cannot refer to a measure; ${cure}`;
      } else if (found?.kind === 'dimension' && found.file.type === 'switch') {
        return `${what} cannot refer to a switch dimension, which has no column; a measure can, with case: { switch: … }`;
      }
    }
    return null;
  };

  return {
    cube,
    names,
    report,
    read(text, path, rule) {
      const parsed = parseSqlTemplate(text, cube, names);
      if ('isLost' in parsed) return null;
      const problem = 'problem' in parsed ? parsed.problem : problemOf(parsed.parts, rule);
      if (problem !== null) report.error(path, problem);
      return problem === null && 'parts' in parsed ? parsed.parts : null;
    },
    dimensions(texts, path) {
      return texts.flatMap((text, index) => {
        const found = parseMemberName(text, cube, names);
        if ('isLost' in found) return [];
        if ('problem' in found) {
          report.error([...path, index], found.problem);
          return [];
        }
        if (names.find(found.cube, found.member)?.kind === 'dimension') {
          return [{ cube: found.cube, member: found.member }];
        }
        report.error([...path, index], `${found.member} is not a dimension`);
        return [];
      });
    },
  };
}
