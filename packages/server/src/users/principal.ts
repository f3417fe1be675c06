/** For whom data are asked. */
import type { SecurityContextJson } from '@inlay/contract/user.ts';

/**
 * Who asks for data: ids only, and the security context of the session or request. What the user may see is not in here;
 * it is read from the store at every query, so that a change of rights counts from the next query on.
 */
export interface Principal {
  readonly accountId: number;
  readonly userId: number;
  /** The embed session that the credential belongs to; null when an API key acts for the user. */
  readonly sessionId: string | null;
  /** The API key that acts for the user; null with an embed session, which ends with the key that minted it. */
  readonly apiKeyId: number | null;
  /** The embed tenant in whose scope the principal asks: that of a creator-mode session; null is tenant-wide. */
  readonly scopeId: number | null;
  readonly securityContext: SecurityContextJson;
}
