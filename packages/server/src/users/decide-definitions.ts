/**
 * Definitions of groups and attributes of a call against those that an embed tenant has (service.md 4.1 rules 7–9). Pure; a part
 * of decide.ts.
 */
import { InlayError } from '../errors.ts';
import type { Stored, StoredAttribute, StoredGroup } from './stored.ts';
import type { Definitions, GroupDefinition, UserAttributeDefinition } from './user-call.ts';

/** Definitions to write, whole: new ones and those that differ. */
export interface DefinitionChanges {
  readonly groups: readonly StoredGroup[];
  readonly attributes: readonly StoredAttribute[];
}

/** The catalogue of a scope, as far as a call names it. */
export type Catalogue = Pick<Stored, 'groups' | 'attributes'>;

/** What the definitions come to: changes, the catalogue with them, or why none of them may be written. */
export interface MergedDefinitions {
  readonly changes: DefinitionChanges;
  readonly catalogue: Catalogue;
  /** ATTRIBUTE_TYPE_IMMUTABLE when an attribute is there with another type; then nothing of the call is written. */
  readonly conflict: InlayError | null;
}

/** The definitions of a call, null for one that defines nothing, over the stored ones. */
export function mergeDefinitions(definitions: Definitions | null, stored: Catalogue): MergedDefinitions {
  if (definitions === null) return { changes: { groups: [], attributes: [] }, catalogue: stored, conflict: null };
  const groups = changed(definitions.groups, stored.groups, mergeGroup);
  const attributes = changed(definitions.attributes, stored.attributes, mergeAttribute);
  return {
    changes: { groups, attributes },
    catalogue: { groups: withAll(stored.groups, groups), attributes: withAll(stored.attributes, attributes) },
    conflict: typeConflict(definitions.attributes, stored.attributes),
  };
}

/** Those of `definitions` that, merged with the stored one of their name, are new or differ from it. */
function changed<Definition extends { readonly name: string }, Entry>(
  definitions: readonly Definition[],
  stored: ReadonlyMap<string, Entry>,
  merge: (definition: Definition, stored: Entry | undefined) => Entry | null,
): Entry[] {
  return definitions.flatMap((definition) => merge(definition, stored.get(definition.name)) ?? []);
}

/** Null: the stored group is as the definition says. */
function mergeGroup({ name, description }: GroupDefinition, stored: StoredGroup | undefined): StoredGroup | null {
  const merged = { name, description: describe(description, stored) };
  return stored !== undefined && merged.description === stored.description ? null : merged;
}

/** Null: the stored attribute is as the definition says. */
function mergeAttribute(
  definition: UserAttributeDefinition,
  stored: StoredAttribute | undefined,
): StoredAttribute | null {
  const merged: StoredAttribute = {
    name: definition.name,
    type: definition.type,
    displayName: definition.displayName ?? stored?.displayName ?? null,
    defaultValue: definition.defaultValue ?? stored?.defaultValue ?? null,
    description: describe(definition.description, stored),
  };
  const isUnchanged =
    stored !== undefined &&
    merged.displayName === stored.displayName &&
    merged.defaultValue === stored.defaultValue &&
    merged.description === stored.description;
  return isUnchanged ? null : merged;
}

/** A description is never cleared (service.md 2.4): an empty one keeps what is there. */
const describe = (
  description: string | undefined,
  stored: { readonly description: string | null } | undefined,
): string | null => (description === undefined || description === '' ? (stored?.description ?? null) : description);

/** The type of an attribute is immutable (service.md 4.1 rule 9). */
function typeConflict(
  definitions: readonly UserAttributeDefinition[],
  stored: ReadonlyMap<string, StoredAttribute>,
): InlayError | null {
  const issues = definitions.flatMap(({ name, type }, index) => {
    const existing = stored.get(name);
    if (existing === undefined || existing.type === type) return [];
    const message = `${name} cannot change type from ${existing.type} to ${type}`;
    return [{ path: `userAttributeDefinitions.${index}.type`, message }];
  });
  if (issues.length === 0) return null;
  const what = issues.map(({ message }) => message).join('; ');
  return new InlayError('ATTRIBUTE_TYPE_IMMUTABLE', `User attribute ${what}`, { issues });
}

const withAll = <Entry extends { readonly name: string }>(
  stored: ReadonlyMap<string, Entry>,
  entries: readonly Entry[],
): ReadonlyMap<string, Entry> =>
  entries.length === 0 ? stored : new Map([...stored, ...entries.map((entry) => [entry.name, entry] as const)]);
