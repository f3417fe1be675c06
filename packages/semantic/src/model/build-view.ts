/** Builds the relations that queries name: views from their YAML, and each cube as a relation of its own. */

import { titleFromName } from './build-cube.ts';
import { buildPolicy } from './build-policy.ts';
import type { Cube, MemberType, Relation, RelationMember } from './data-model.ts';
import { type CubeFile, nameCharactersMax, type ViewFile } from './model-file.ts';
import { type Report, reportUnder } from './report.ts';

/** A cube as a relation: its own members, the cube as root. */
export function cubeRelation(file: CubeFile, cube: Cube): Relation {
  return {
    name: cube.name,
    type: 'cube',
    title: file.title ?? titleFromName(cube.name),
    description: file.description ?? '',
    synonyms: file.meta?.synonyms ?? [],
    isPublic: file.public ?? true,
    rootCube: cube.name,
    paths: [[cube.name]],
    members: new Map(
      [...cube.members.values()].map((member) => [
        member.name,
        {
          name: member.name,
          title: member.title,
          description: member.description,
          format: member.format,
          isPublic: member.isPublic,
          path: [cube.name],
          member,
        },
      ]),
    ),
    policy: cube.policy,
  };
}

/** Builds a view. What is wrong goes to `report`; the view returned is then incomplete and must not be used. */
export function buildView(file: ViewFile, cubes: ReadonlyMap<string, Cube>, report: Report): Relation {
  const members = new Map<string, RelationMember>();
  const paths = file.cubes.map((entry) => entry.join_path.split('.'));
  const rootCube = paths[0]?.[0] ?? '';
  for (const [index, entry] of file.cubes.entries()) {
    const path = paths[index] ?? [];
    const reportHere = reportUnder(report, 'cubes', index);
    const cube = resolvePath(path, rootCube, cubes, (message) => reportHere(['join_path'], message));
    if (cube !== null) addMembers(entry, path, cube, members, reportHere);
  }
  const types = new Map<string, MemberType>();
  for (const it of members.values()) if (it.member.kind === 'dimension') types.set(it.name, it.member.type);
  return {
    name: file.name,
    type: 'view',
    title: file.title ?? titleFromName(file.name),
    description: file.description ?? '',
    synonyms: file.meta?.synonyms ?? [],
    isPublic: file.public ?? true,
    rootCube,
    paths,
    members,
    policy: buildPolicy(file.name, file.access_policy, types, members.keys(), report),
  };
}

/** The cube at the end of a join path, when every step of the path is a declared join. */
function resolvePath(
  path: readonly string[],
  rootCube: string,
  cubes: ReadonlyMap<string, Cube>,
  report: (message: string) => void,
): Cube | null {
  const [first = ''] = path;
  if (first !== rootCube) {
    report(`all join paths of a view begin at the same cube, here ${rootCube}`);
    return null;
  }
  let cube = cubes.get(first);
  if (cube === undefined) report(`no cube "${first}"`);
  for (const step of path.slice(1)) {
    const next = cube?.joins.has(step) === true ? cubes.get(step) : undefined;
    if (cube !== undefined && next === undefined) report(`cube ${cube.name} declares no join to "${step}"`);
    cube = next;
  }
  return cube ?? null;
}

type IncludedMember = Exclude<Exclude<ViewFile['cubes'][number]['includes'], '*'>[number], string>;

function addMembers(
  entry: ViewFile['cubes'][number],
  path: readonly string[],
  cube: Cube,
  members: Map<string, RelationMember>,
  report: Report,
) {
  const included: readonly IncludedMember[] =
    entry.includes === '*'
      ? [...cube.members.values()].filter((member) => member.isPublic).map(({ name }) => ({ name }))
      : entry.includes.map((item) => (typeof item === 'string' ? { name: item } : item));
  for (const [index, name] of (entry.excludes ?? []).entries()) {
    if (!cube.members.has(name)) report(['excludes', index], `no member "${name}" in cube ${cube.name}`);
  }
  for (const [index, item] of included.entries()) {
    if (entry.excludes?.includes(item.name) === true) continue;
    const place = entry.includes === '*' ? ['includes'] : ['includes', index];
    const member = cube.members.get(item.name);
    if (member === undefined) {
      report(place, `no member "${item.name}" in cube ${cube.name}`);
      continue;
    }
    const alias = item.alias ?? item.name;
    const name = entry.prefix === true ? `${entry.alias ?? cube.name}_${alias}` : alias;
    if (name.length > nameCharactersMax)
      report(place, `the name ${name} is longer than ${nameCharactersMax} characters`);
    if (members.has(name)) report(place, `the view has two members named ${name}; give one an alias or a prefix`);
    members.set(name, {
      name,
      title: item.title ?? member.title,
      description: item.description ?? member.description,
      format: item.format ?? member.format,
      isPublic: true,
      path,
      member,
    });
  }
}
