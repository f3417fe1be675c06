/** The joins that a data model declares, as a graph of cubes in which one walks along joins. */
import type { DataModel } from '../model/data-model.ts';

/** A way along declared joins, or why there is not one: no join leads there, or several ways of the same length do. */
export type Way = { readonly cubes: readonly string[] } | { readonly cubes: null; readonly why: 'none' | 'several' };

/** Finds the shortest way from one cube to another. */
export type FindWay = (from: string, to: string) => Way;

/** Joins to be walked along at most. */
const stepsMax = 8;

/** The ways of a model; each is looked for once. */
export function findWays(model: DataModel): FindWay {
  const known = new Map<string, Way>();
  return (from, to) => {
    const key = `${from} ${to}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    const way = shortestWay(model, from, to);
    known.set(key, way);
    return way;
  };
}

function shortestWay(model: DataModel, from: string, to: string): Way {
  /** Of each cube that was reached: one shortest way, and whether there is another as short. */
  const reached = new Map([[from, { cubes: [from], isOnly: true }]]);
  let edge = [from];
  for (let step = 0; step < stepsMax && edge.length > 0; step += 1) {
    const found = new Map<string, { cubes: string[]; isOnly: boolean }>();
    for (const name of edge) {
      const here = reached.get(name);
      for (const target of model.cubes.get(name)?.joins.keys() ?? []) {
        if (here === undefined || reached.has(target)) continue;
        const isFirst = !found.has(target);
        found.set(target, { cubes: [...here.cubes, target], isOnly: isFirst && here.isOnly });
      }
    }
    const way = found.get(to);
    if (way !== undefined) return way.isOnly ? { cubes: way.cubes } : { cubes: null, why: 'several' };
    for (const [name, it] of found) reached.set(name, it);
    edge = [...found.keys()];
  }
  return from === to ? { cubes: [from] } : { cubes: null, why: 'none' };
}
