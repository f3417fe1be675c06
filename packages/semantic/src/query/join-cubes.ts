/** Cubes that a query joins itself, without a view, as one relation. */
import type { DataModel, Relation } from '../model/data-model.ts';

/** Relations that are kept per model: the trees and rights made for one are found again by it. */
const keptMax = 500;
const known = new WeakMap<DataModel, Map<string, Relation>>();

/**
 * The relation of several cubes, its members named `cube.member`. Each cube is a root of its own: a measure is computed over the rows of
 * its cube, dimensions of the others are found by the declared joins, and where there is no way, or more than one, the query is refused.
 * @param cubes names of cubes of the model, in the order that the query names them
 */
export function joinCubes(model: DataModel, cubes: readonly string[]): Relation {
  const name = [...new Set(cubes)].join(', ');
  const relations = known.get(model) ?? new Map<string, Relation>();
  known.set(model, relations);
  const before = relations.get(name);
  if (before !== undefined) return before;
  if (relations.size >= keptMax) relations.clear();
  const relation = createRelation(model, name, [...new Set(cubes)]);
  relations.set(name, relation);
  return relation;
}

function createRelation(model: DataModel, name: string, cubes: readonly string[]): Relation {
  const members: Relation['members'] = new Map(
    cubes.flatMap((cube) => {
      const relation = model.relations.get(cube);
      if (relation?.type !== 'cube') throw new Error(`no cube ${cube}`);
      return [...relation.members.values()].map((member) => {
        const qualified = `${cube}.${member.name}`;
        return [qualified, { ...member, name: qualified }] as const;
      });
    }),
  );
  return {
    name,
    type: 'joined',
    title: name,
    description: '',
    synonyms: [],
    isPublic: true,
    rootCube: cubes[0] ?? '',
    paths: cubes.map((cube) => [cube]),
    members,
    hierarchies: [],
    folders: [],
    meta: {},
    policy: null,
  };
}
