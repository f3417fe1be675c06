/**
 * What the store holds of the things that a call names, by their names: what {@link decide} decides over. Names are unique in
 * their scope, so that ids are of interest to reading and writing only.
 */
import type { AttributeType, AttributeValue } from '@inlay/contract/user.ts';

/** A group definition, whole. */
export interface StoredGroup {
  readonly name: string;
  readonly description: string | null;
}

/** An attribute definition, whole. */
export interface StoredAttribute {
  readonly name: string;
  readonly type: AttributeType;
  readonly displayName: string | null;
  readonly defaultValue: string | null;
  readonly description: string | null;
}

/** What a call may change of an external user outside of their rights. `expiresAt` null: persistent. */
export interface UserFields {
  readonly email: string | null;
  readonly displayName: string | null;
  readonly picture: string | null;
  readonly expiresAt: Date | null;
}

/** What a user has in one scope. */
export interface StoredRights {
  /** Every membership; null when it was not read, since the call does not speak of groups. */
  readonly groups: ReadonlySet<string> | null;
  /** Of the attributes that the call names, those that have a value; null is a value. */
  readonly values: ReadonlyMap<string, AttributeValue>;
}

/** An external user, with their rights in the scope of the call. */
export interface StoredUser extends UserFields, StoredRights {
  readonly isActive: boolean;
}

/** How many external users of a kind an account has and may have. `count` is null when it was not counted. */
export interface Places {
  readonly count: number | null;
  readonly max: number;
}

/** Everything that one call names. */
export interface Stored {
  /** The account's, from its settings (service.md 4.1). */
  readonly useCreatorMode: boolean;
  readonly persistentUsers: Places;
  readonly ephemeralUsers: Places;
  /** The account has the deployment; true for a call that names none. */
  readonly hasDeployment: boolean;
  /** The account has the embed tenant; true for a call that names none. */
  readonly hasEmbedTenant: boolean;
  /** The catalogue of the call's scope, as far as the call names it. */
  readonly groups: ReadonlyMap<string, StoredGroup>;
  readonly attributes: ReadonlyMap<string, StoredAttribute>;
  /** The external user; null when there is none of that name, and for a call that means an internal user. */
  readonly user: StoredUser | null;
  /** Whether there is exactly one active internal user of that name; false for a call that means an external user. */
  readonly hasInternalUser: boolean;
}
