/** Ids that stand in addresses, such as those of deployments and agents. */

/** The largest id: PostgreSQL's `integer`. */
export const idMax = 2_147_483_647;

/** The id that `text` writes out, 1 to {@link idMax} in decimal without leading zeros; null for any other text. */
export function parseId(text: string): number | null {
  const id = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : Number.NaN;
  return id <= idMax ? id : null;
}
