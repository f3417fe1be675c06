/** Cubes whose measures cannot be computed in some queries, for want of a primary key. */
import type { DataModel } from './data-model.ts';
import type { Sources } from './read-sources.ts';

/**
 * Warns of each cube that has measures and no primary key, although a join may repeat its rows: such a query is refused. Minima and
 * maxima do not mind.
 */
export function warnOfKeys({ cubes }: DataModel, sources: Sources): void {
  const repeated = new Map<string, string>();
  for (const cube of cubes.values()) {
    for (const { target, relationship } of cube.joins.values()) {
      if (relationship === 'one_to_many') repeated.set(cube.name, `its join to ${target}`);
      if (relationship === 'many_to_one') repeated.set(target, `the join from ${cube.name}`);
    }
  }
  for (const [name, by] of repeated) {
    const cube = cubes.get(name);
    if (cube === undefined || cube.primaryKey.length > 0) continue;
    const minds = [...cube.members.values()].some(
      (member) => member.kind === 'measure' && !['min', 'max', 'number', 'multi_stage'].includes(member.aggregation),
    );
    if (!minds) continue;
    sources.cubes
      .get(name)
      ?.report.warn(
        ['name'],
        `cube ${name} has measures but no primary key: they cannot be computed where ${by} repeats its rows`,
      );
  }
}
