/** The model files of a world: what they say without policies, as their author writes it, and written out in full. */

import type { WorldView } from './views.ts';
import type { Edge, World, WorldCube } from './world.ts';

const joinFile = ({ target, relationship, declaredBy }: Edge) => ({
  name: target,
  relationship,
  sql: {
    many_to_one: `{CUBE}.f_${target} = {${target}.id}`,
    one_to_many: `{CUBE}.id = {${target}}.f_${declaredBy}`,
    one_to_one: `{CUBE.id} = {${target}.id}`,
  }[relationship],
});

/** The keys of a cube; of one that extends another, only what differs, unless it is written in full. */
export function cubeFile(cube: WorldCube, { cubes }: World, isInFull: boolean): object {
  const base = isInFull ? undefined : cubes.find(({ name }) => name === cube.base);
  const edges = base === undefined ? cube.edges : cube.edges.filter(({ declaredBy }) => declaredBy === cube.name);
  const inherited = new Map(base?.definitions.map(({ name, file }) => [name, JSON.stringify(file)]));
  const own = cube.definitions.filter(({ name, file }) => inherited.get(name) !== JSON.stringify(file));
  const list = (wanted: string) => own.filter((it) => it.list === wanted).map(({ name, file }) => ({ name, ...file }));
  return {
    name: cube.name,
    ...(base === undefined ? { sql_table: cube.table } : { extends: base.name }),
    joins: edges.map(joinFile),
    dimensions: list('dimensions'),
    segments: list('segments'),
    measures: list('measures'),
  };
}

/** The keys of a view, likewise. */
export function viewFile(view: WorldView, { views }: World, isInFull: boolean): object {
  const base = views.find(({ name }) => name === view.base);
  if (base === undefined) return { name: view.name, cubes: view.cubes };
  return isInFull
    ? { name: view.name, cubes: [...base.cubes, ...view.cubes] }
    : { name: view.name, extends: base.name, cubes: view.cubes };
}
