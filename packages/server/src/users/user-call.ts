/** What a call says about a user: already checked for shape and for the rules between fields, not yet against the store. */
import type { AttributeType, AttributeValue, UserProfile } from '@inlay/contract/user.ts';

/**
 * Where the names of groups and attributes of a call are looked up, and where memberships and values go (http-api.md).
 * A tenant-wide session may still name an embed tenant: policies can read its name, and it is the session's, but nothing is
 * looked up in it. An embed tenant that does not exist comes into being with the first call that names it.
 */
export type Scope =
  | { readonly kind: 'tenant-wide'; readonly embedTenantName: string | null }
  | { readonly kind: 'embed-tenant'; readonly embedTenantName: string };

/** The scope of a call that names no embed tenant. */
export const tenantWide: Scope = { kind: 'tenant-wide', embedTenantName: null };

/** A group to make or to change; a description left out stays as it is (service.md 2.4). */
export interface GroupDefinition {
  readonly name: string;
  readonly description?: string | undefined;
}

/** An attribute to make or to change; what is left out stays (service.md 2.5). `defaultValue` stands for a value of `type`. */
export interface UserAttributeDefinition {
  readonly name: string;
  readonly type: AttributeType;
  readonly displayName?: string | undefined;
  readonly defaultValue?: string | undefined;
  readonly description?: string | undefined;
}

/** What a creator-mode call defines in its embed tenant, each name once. */
export interface Definitions {
  readonly groups: readonly GroupDefinition[];
  readonly attributes: readonly UserAttributeDefinition[];
}

/** What a call says about rights; undefined keeps what is stored (service.md 4.1 rules 4 and 5). Names occur once. */
export interface NamedRights {
  readonly groups: readonly string[] | undefined;
  readonly userAttributes: readonly { readonly name: string; readonly value: AttributeValue }[] | undefined;
}

/**
 * How long a user lives (http-api.md). `unchanged`: a new one is persistent, one that exists keeps its end.
 * `persistent`: also one that exists. `ephemeral`: a new one ends `ttlSeconds` from now; one that exists ends at the
 * earlier of its end and that; a persistent user stays persistent.
 */
export type Lifetime =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'persistent' }
  | { readonly kind: 'ephemeral'; readonly ttlSeconds: number };

/** An external user as a call describes it; what is undefined keeps its stored value. */
export interface ExternalUserSettings extends NamedRights {
  readonly kind: 'external';
  readonly externalId: string;
  readonly email: string | undefined;
  readonly userProfile: UserProfile | undefined;
  readonly lifetime: Lifetime;
}

/** An internal user, by username or email address. The user's rights stay as they are. */
export interface InternalUserSettings {
  readonly kind: 'internal';
  readonly internalId: string;
}

/** Whom a call means. */
export type UserSettings = ExternalUserSettings | InternalUserSettings;

/** How many external users an account may have: persistent ones (service.md 4.1 rule 10), and ephemeral ones. */
export interface UserLimits {
  readonly externalUsersMax: number;
  readonly ephemeralUsersMax: number;
}

/** A call that means a user. `definitions` null: it defines nothing. They occur in an embed tenant's scope only. */
export interface UserCall {
  readonly accountId: number;
  readonly scope: Scope;
  readonly definitions: Definitions | null;
  readonly settings: UserSettings;
  readonly limits: UserLimits;
}
