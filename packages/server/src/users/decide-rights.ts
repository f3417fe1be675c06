/** The groups and values that a call names, against the catalogue of its scope (service.md 4.1 rules 3–6). Pure; a part of decide.ts. */
import type { Issue } from '@inlay/contract/error.ts';
import type { AttributeValue } from '@inlay/contract/user.ts';
import { InlayError } from '../errors.ts';
import { isValueOfType } from './attribute-values.ts';
import type { Catalogue } from './decide-definitions.ts';
import type { NamedRights } from './user-call.ts';

/**
 * Refuses names that the catalogue does not have, and values of another type.
 * @throws InlayError USER_ATTRIBUTES_NOT_FOUND, GROUPS_NOT_FOUND or ATTRIBUTE_TYPE_MISMATCH, in this order.
 */
export function refuseRights({ userAttributes = [], groups = [] }: NamedRights, catalogue: Catalogue): void {
  const unknown: Issue[] = [];
  const mistyped: Issue[] = [];
  for (const [index, { name, value }] of userAttributes.entries()) {
    const attribute = catalogue.attributes.get(name);
    if (attribute === undefined) unknown.push({ path: `userAttributes.${index}.name`, message: `${name} not found` });
    else if (!isValueOfType(attribute.type, value)) {
      mistyped.push({ path: `userAttributes.${index}.value`, message: `${name} takes a ${attribute.type} or null` });
    }
  }
  if (unknown.length > 0) {
    throw new InlayError('USER_ATTRIBUTES_NOT_FOUND', 'User attributes not found', { issues: unknown });
  }
  const missing = groups.filter((name) => !catalogue.groups.has(name));
  if (missing.length > 0) {
    throw new InlayError('GROUPS_NOT_FOUND', `Groups with names ${missing.join(', ')} not found`);
  }
  if (mistyped.length > 0) {
    throw new InlayError('ATTRIBUTE_TYPE_MISMATCH', 'User attributes do not have the type of their definition', {
      issues: mistyped,
    });
  }
}

/** The values that a call names and that are not stored like that, by name. */
export function namedValues(
  { userAttributes = [] }: NamedRights,
  stored: ReadonlyMap<string, AttributeValue>,
): ReadonlyMap<string, AttributeValue> {
  const differing = userAttributes.filter(({ name, value }) => {
    const present = stored.get(name);
    return present === undefined || !isSameValue(present, value);
  });
  return new Map(differing.map(({ name, value }) => [name, value]));
}

/** Lists are equal item by item, in their order. */
function isSameValue(one: AttributeValue, other: AttributeValue): boolean {
  if (!Array.isArray(one) || !Array.isArray(other)) return one === other;
  return one.length === other.length && one.every((item, index) => item === other[index]);
}
