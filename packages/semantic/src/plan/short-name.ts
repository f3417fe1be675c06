/** Names in SQL that engines do not cut, and that are not there already. */

/** PostgreSQL cuts a name behind 63 bytes, and two might become one. */
const charactersMax = 60;

/** A name as it is; of a long one the beginning and a number made of all of it, the same for the same name. */
export function shortName(name: string): string {
  if (name.length <= charactersMax) return name;
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at += 1) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  return `${name.slice(0, 48)} ${(hash >>> 0).toString(16)}`;
}

/**
 * What no name of a list begins with: `n`, `nn` … Names within names: what a stage asks for has the names of columns that the one around it
 * made up.
 */
export function prefixBeside(letter: string, names: readonly string[]): string {
  let prefix = letter;
  while (names.some((name) => name.startsWith(prefix))) prefix += letter;
  return prefix;
}
