/** Joins whose SQL does not name both cubes: they join each row to all rows of the other, or mean a column that is not clear. */
import type { DataModel } from './data-model.ts';
import type { Sources } from './read-sources.ts';

/** Warns of each join whose SQL names one of its two cubes nowhere: no relationship but that to a table of one row is true of it. */
export function warnOfJoins({ cubes }: DataModel, sources: Sources): void {
  for (const [name, source] of sources.cubes) {
    for (const { file, report } of source.joins) {
      const sql = cubes.get(name)?.joins.get(file.name)?.sql ?? [];
      const named = new Set(sql.flatMap((part) => (part.kind === 'member' || part.kind === 'cube' ? [part.cube] : [])));
      const left = [name, file.name].filter((cube) => !named.has(cube));
      if (left.length === 0) continue;
      report.warn(
        ['sql'],
        `the SQL of the join to ${file.name} names nothing of ${left.join(' and ')}: write {CUBE}.column and {${file.name}}.column`,
      );
    }
  }
}
