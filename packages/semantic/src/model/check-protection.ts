/** Which cubes and views no policy protects: what external users do not see, or see without any bounds, by a setting. */
import type { DataModel } from './data-model.ts';
import type { Sources } from './read-sources.ts';

/** Warns of each public cube without a policy, and of each public view without one that takes members from such a cube. */
export function warnOfUnprotected(model: DataModel, { cubes, views }: Sources): void {
  const told = 'so external users do not see it, unless the server is set to show what no policy protects';
  for (const { name, type, isPublic, policy, members } of model.relations.values()) {
    if (!isPublic || policy !== null) continue;
    if (type === 'cube') {
      cubes.get(name)?.report.warn(['name'], `cube ${name} has no access_policy, ${told}`);
      continue;
    }
    const open = new Set(
      [...members.values()].map(({ member }) => member.cube).filter((cube) => !model.cubes.get(cube)?.policy),
    );
    if (open.size === 0) continue;
    const list = [...open].slice(0, 5).join(', ') + (open.size > 5 ? ' …' : '');
    const which = open.size === 1 ? `cube ${list} has none` : `cubes ${list} have none`;
    views
      .get(name)
      ?.report.warn(
        ['name'],
        `view ${name} has no access_policy, and ${which}, so external users do not see those members, unless the server is set to show what no policy protects`,
      );
  }
}
