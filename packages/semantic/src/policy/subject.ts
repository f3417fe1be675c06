/** Who asks, as access policies see it. */

/** A JSON value. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** The value of a user attribute as a policy sees it. */
export type AttributeValue = string | number | boolean | readonly string[] | readonly number[] | null;

/**
 * Everything about the asking user that access policies may read. Built afresh from the store for every query.
 * - `groups`: names, in the scope of the session.
 * - `isEmbedTenantScope`: true when those groups are an embed tenant's own and so customer-chosen; entries that grant all
 *   rows then do not match, unless they say `embed_tenants: true`.
 * - `seesUnprotected`: whether relations that no policy protects are there for this user: internal users, and everybody where
 *   the installation says so.
 */
export interface Subject {
  readonly groups: readonly string[];
  readonly userAttributes: Readonly<Record<string, AttributeValue>>;
  readonly securityContext: { readonly [key: string]: Json };
  readonly embedTenantName: string | null;
  readonly isEmbedTenantScope: boolean;
  readonly seesUnprotected: boolean;
}
