/**
 * The calls of generate-session that the kill suites make. All that one call writes carries one number, so that whoever looks
 * later sees which call it was, and whether half of it is another's.
 */

/** What a call writes, in parts that are replaced as a whole. */
export interface KillCall {
  /** Carried by everything that the call writes; unique, except for calls that repeat one. */
  readonly mark: number;
  readonly body: Readonly<Record<string, unknown>>;
  /** The parts that it writes, by name: see {@link partsOf}. */
  readonly parts: readonly string[];
}

/** Tenant-wide groups come in sets of three; so many sets are made beforehand. */
export const groupSets = 40;
/** Tenant-wide attributes, all of them numbers. */
export const attributeNames = ['v1', 'v2', 'v3', 'v4', 'v5'] as const;
const scopedNames = ['w1', 'w2', 'w3'] as const;
const scopedGroups = ['ta', 'tb', 'tc'] as const;

/** Every external user of the suites begins so. */
export const userPrefix = 'k-';
const sharedUsers = 20;
const stillUsers = 20;
const makers = 10;
const sharedTenants = 5;

/** The groups of the set that a number names. */
export const groupsOf = (mark: number): readonly string[] => ['a', 'b', 'c'].map((end) => `g${mark % groupSets}${end}`);

const profileOf = (mark: number) => ({ email: `m${mark}@example.com`, userProfile: { displayName: `m${mark}` } });
const valuesOfMark = (names: readonly string[], mark: number) => names.map((name) => ({ name, value: mark }));

/** The parts of a user: `user` is the profile, `rights` the groups and values of a scope (`` is tenant-wide). */
export const partsOf = {
  user: (externalId: string): string => `user ${externalId}`,
  rights: (externalId: string, tenant: string): string => `rights ${externalId} ${tenant}`,
  definitions: (tenant: string): string => `definitions ${tenant}`,
};

function tenantWide(externalId: string, mark: number): KillCall {
  return {
    mark,
    body: {
      deploymentId: 1,
      externalId,
      ...profileOf(mark),
      groups: groupsOf(mark),
      userAttributes: valuesOfMark(attributeNames, mark),
    },
    parts: [partsOf.user(externalId), partsOf.rights(externalId, '')],
  };
}

function defining(externalId: string, tenant: string, mark: number): KillCall {
  const description = `m${mark}`;
  return {
    mark,
    body: {
      deploymentId: 1,
      externalId,
      ...profileOf(mark),
      creatorMode: true,
      embedTenantName: tenant,
      groupDefinitions: scopedGroups.map((name) => ({ name, description })),
      userAttributeDefinitions: scopedNames.map((name) => ({ name, type: 'number', description })),
      groups: scopedGroups,
      userAttributes: valuesOfMark(scopedNames, mark),
    },
    parts: [partsOf.user(externalId), partsOf.rights(externalId, tenant), partsOf.definitions(tenant)],
  };
}

/** The next call, of a kind and for a user by chance. @param mark not used before. @param random 0 to below 1. */
export function nextCall(mark: number, random: () => number): KillCall {
  const pick = (count: number): number => Math.floor(random() * count);
  const kind = random();
  if (kind < 0.15) {
    const still = pick(stillUsers);
    return tenantWide(`${userPrefix}still-${still}`, still);
  }
  if (kind < 0.45) return tenantWide(`${userPrefix}new-${mark}`, mark);
  if (kind < 0.75) return tenantWide(`${userPrefix}shared-${pick(sharedUsers)}`, mark);
  if (kind < 0.9) return defining(`${userPrefix}maker-${pick(makers)}`, `kill-tenant-${pick(sharedTenants)}`, mark);
  return defining(`${userPrefix}fresh-${mark}`, `fresh-tenant-${mark}`, mark);
}

/** Marks below this belong to users who stay as they are. */
export const firstMark = 1000;

/** What the store holds of the parts, by name: the marks that its pieces carry. */
export type StoredParts = ReadonlyMap<string, readonly number[]>;

/** A table of the store, as far as it is read. */
export interface StoredRows {
  readonly users: readonly {
    readonly externalId: string;
    readonly email: string | null;
    readonly displayName: string | null;
  }[];
  readonly memberships: readonly { readonly externalId: string; readonly tenant: string; readonly name: string }[];
  readonly values: readonly {
    readonly externalId: string;
    readonly tenant: string;
    readonly name: string;
    readonly value: unknown;
  }[];
  readonly definitions: readonly {
    readonly tenant: string;
    readonly name: string;
    readonly description: string | null;
  }[];
}

/** The mark of something that no call writes so. */
const noMark = -1;

/**
 * The marks that the pieces of each part carry. A part is whole when they are all the same and none is missing: what is missing
 * stands as -1. A set of groups carries one of several marks, and so is compared with that of the values beside it.
 */
export function readParts({ users, memberships, values, definitions }: StoredRows): StoredParts {
  const parts = new Map<string, number[]>();
  const add = (part: string, mark: number): void => {
    parts.set(part, [...(parts.get(part) ?? []), mark]);
  };
  const markIn = (text: string | null): number => Number(/^m(\d+)(?:@example\.com)?$/.exec(text ?? '')?.[1] ?? noMark);
  for (const { externalId, email, displayName } of users) {
    add(partsOf.user(externalId), markIn(email));
    add(partsOf.user(externalId), markIn(displayName));
  }
  const byRights = Map.groupBy(values, ({ externalId, tenant }) => partsOf.rights(externalId, tenant));
  const groupsByRights = Map.groupBy(memberships, ({ externalId, tenant }) => partsOf.rights(externalId, tenant));
  for (const part of new Set([...byRights.keys(), ...groupsByRights.keys()])) {
    const isTenantWide = part.endsWith(' ');
    const own = byRights.get(part) ?? [];
    const names: readonly string[] = isTenantWide ? attributeNames : scopedNames;
    for (const name of names) add(part, Number(own.find((value) => value.name === name)?.value ?? noMark));
    const expected = isTenantWide ? groupsOf(Number(own[0]?.value ?? noMark)) : scopedGroups;
    const found = (groupsByRights.get(part) ?? []).map(({ name }) => name).toSorted();
    if (found.join() !== expected.toSorted().join()) add(part, noMark);
  }
  for (const [tenant, own] of Map.groupBy(definitions, (definition) => definition.tenant)) {
    for (const { description } of own) add(partsOf.definitions(tenant), markIn(description));
    if (own.length !== scopedGroups.length + scopedNames.length) add(partsOf.definitions(tenant), noMark);
  }
  return parts;
}
