/** What a policy reads of the asking user: attributes, the security context, groups, the embed tenant. */
import type { PolicyValue } from '../model/data-model.ts';
import type { Json, Subject } from './subject.ts';

/**
 * The value that stands in a policy, for this user; undefined: there is none. A value that is null, an empty text or an empty
 * list is none: what a policy compares with it must never hold by accident. What the model's author wrote is always there.
 */
export function subjectValue(value: PolicyValue, subject: Subject): Json | undefined {
  switch (value.kind) {
    case 'literal':
      return value.value;
    case 'userAttribute':
      return filled(own(subject.userAttributes, value.name));
    case 'securityContext': {
      let found: Json | undefined = subject.securityContext;
      for (const key of value.path) found = isObject(found) ? own(found, key) : undefined;
      return filled(found);
    }
    case 'groups':
      return filled(subject.groups);
    case 'embedTenantName':
      return filled(subject.embedTenantName);
  }
}

/** A value as the model's author wrote it: `userAttributes.merchant_id`, `'north'`. */
export function writePolicyValue(value: PolicyValue): string {
  switch (value.kind) {
    case 'literal':
      return JSON.stringify(value.value);
    case 'userAttribute':
      return `userAttributes.${value.name}`;
    case 'securityContext':
      return `securityContext.${value.path.join('.')}`;
    case 'groups':
      return 'groups';
    case 'embedTenantName':
      return 'embedTenant.name';
  }
}

const filled = (found: Json | undefined): Json | undefined =>
  found === null || found === '' || (Array.isArray(found) && found.length === 0) ? undefined : found;

const isObject = (value: Json | undefined): value is { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An own property only: `constructor` and its like are not attributes. */
const own = <T>(object: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined;
