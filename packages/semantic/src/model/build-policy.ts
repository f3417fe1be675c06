/** Builds an access policy from its YAML. Whatever is not understood is an error: a policy is never half applied. */
import {
  type MemberType,
  type Policy,
  type PolicyEntry,
  type PolicyFilter,
  type PolicyOperator,
  type PolicyValue,
  policyOperators,
} from './data-model.ts';
import type { PolicyEntryFile, PolicyFilterFile } from './model-file.ts';
import type { Report } from './report.ts';

const isOperator = (name: string): name is PolicyOperator => Object.hasOwn(policyOperators, name);

/**
 * Builds a policy; null where there is none. What is wrong goes to `report`; the policy returned must then not be used.
 * @param relation the name of the cube or view that the policy stands on
 * @param dimensions the dimensions that filters may name, with their types
 * @param members every member that `includes` and `excludes` may name
 */
export function buildPolicy(
  relation: string,
  entries: readonly PolicyEntryFile[] | undefined,
  dimensions: ReadonlyMap<string, MemberType>,
  members: Iterable<string>,
  report: Report,
): Policy | null {
  if (entries === undefined) return null;
  const all = new Set(members);
  return {
    entries: entries.map((entry, index): PolicyEntry => {
      const path = ['access_policy', index];
      return {
        groups: entry.groups ?? (entry.group === undefined ? [] : [entry.group]),
        rowFilter:
          entry.row_level !== undefined && 'filters' in entry.row_level
            ? {
                kind: 'and',
                filters: entry.row_level.filters.map((filter, at) =>
                  buildFilter(filter, relation, dimensions, report, [...path, 'row_level', 'filters', at]),
                ),
              }
            : null,
        members: grantedMembers(entry, all, report, [...path, 'member_level']),
        matchesEmbedTenants: entry.embed_tenants ?? false,
      };
    }),
  };
}

function grantedMembers(entry: PolicyEntryFile, all: ReadonlySet<string>, report: Report, path: (string | number)[]) {
  const { includes = '*', excludes = [] } = entry.member_level ?? {};
  for (const [key, list] of Object.entries({ includes, excludes })) {
    for (const [index, name] of list === '*' ? [] : list.entries()) {
      if (!all.has(name)) report([...path, key, index], `no member "${name}" here`);
    }
  }
  const included = includes === '*' ? all : new Set(includes);
  return excludes === '*' ? new Set<string>() : included.difference(new Set(excludes));
}

function buildFilter(
  file: PolicyFilterFile,
  relation: string,
  dimensions: ReadonlyMap<string, MemberType>,
  report: Report,
  path: (string | number)[],
): PolicyFilter {
  if ('and' in file || 'or' in file) {
    const kind = 'and' in file ? 'and' : 'or';
    const filters = 'and' in file ? file.and : file.or;
    return {
      kind,
      filters: filters.map((it, at) => buildFilter(it, relation, dimensions, report, [...path, kind, at])),
    };
  }
  // A filter may be written with its own relation in front, as other tools write it; with another, it means another member.
  const [first = '', second, ...rest] = file.member.split('.');
  const isOwn = ['{CUBE}', relation, `{${relation}}`].includes(first) && rest.length === 0;
  const member = second !== undefined && isOwn ? second : file.member;
  if (!dimensions.has(member)) report([...path, 'member'], `no dimension "${file.member}" here to filter on`);
  const operator = isOperator(file.operator) ? file.operator : 'equals';
  if (!isOperator(file.operator)) report([...path, 'operator'], `operator "${file.operator}" is not supported`);
  const texts = typeof file.values === 'string' ? [file.values] : (file.values ?? []);
  const takes = policyOperators[operator];
  if (takes === 'none' ? texts.length > 0 : takes === 'one' ? texts.length !== 1 : texts.length === 0) {
    report(
      [...path, 'values'],
      `operator ${operator} takes ${takes === 'many' ? 'at least one value' : `${takes === 'none' ? 'no' : 'one'} value`}`,
    );
  }
  const values = texts.map((text, at) => {
    const value = parsePolicyValue(text);
    if (typeof value === 'string') report([...path, 'values', at], value);
    if (typeof text === 'number' && Math.abs(text) > Number.MAX_SAFE_INTEGER) {
      report([...path, 'values', at], 'a number this large loses digits: write it in quotes');
    }
    return typeof value === 'string' ? ({ kind: 'literal', value: '' } as const) : value;
  });
  return { kind: 'compare', member, operator, values };
}

/** `"{ userAttributes.x }"`, `"{ securityContext.x.y }"`, `"{ groups }"`, `"{ embedTenant.name }"`, or a literal. */
function parsePolicyValue(text: string | number | boolean): PolicyValue | string {
  if (typeof text !== 'string' || !/[{}]/.test(text)) return { kind: 'literal', value: text };
  const path = /^\{\s*([A-Za-z_][\w.]*)\s*\}$/.exec(text)?.[1]?.split('.') ?? [];
  const [root, ...rest] = path;
  const [name] = rest;
  if (root === 'userAttributes' && name !== undefined && rest.length === 1) return { kind: 'userAttribute', name };
  if (root === 'securityContext' && rest.length > 0 && !rest.includes(''))
    return { kind: 'securityContext', path: rest };
  if (root === 'groups' && rest.length === 0) return { kind: 'groups' };
  if (root === 'embedTenant' && name === 'name' && rest.length === 1) return { kind: 'embedTenantName' };
  return `"${text}" is not a value; write { userAttributes.x }, { securityContext.x }, { groups } or { embedTenant.name }`;
}
