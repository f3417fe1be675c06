/** How a text is refused: by the name of the construct, and where it stands. */
import type { Node } from 'libpg-query';
import { type Place, SemanticError } from '../semantic-error.ts';

/** Refuses a construct by its name. `location` as the grammar says it; 0: not known. @throws SemanticError SQL_NOT_SUPPORTED */
export function refuse(construct: string, location: number, hint = ''): never {
  throw new SemanticError('SQL_NOT_SUPPORTED', `Semantic SQL does not allow ${construct}.`, hint, location);
}

/** Refuses a node that carries a field which is not in the list: it would otherwise be silently ignored. */
export function only(node: object, what: string, fields: readonly string[], location = 0): void {
  for (const field of Object.keys(node)) {
    if (!fields.includes(field)) refuse(`${what} with ${field.replaceAll('_', ' ')}`, location);
  }
}

/** A node that has to be there. */
export function asNode(node: Node | undefined): Node {
  return node ?? refuse('an empty expression', 0);
}

/** A name's text. */
export function identifier(node: Node): string {
  if ('String' in node) return node.String.sval ?? '';
  return refuse('* here', 0);
}

/**
 * Does something with a text; an error that says where in bytes comes out saying it for people, in `place`, and in the message too
 * where a construct was refused.
 */
export function placed<T>(sql: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof SemanticError) || error.place !== null || error.location === null || error.location <= 0) {
      throw error;
    }
    const { code, message, hint, location } = error;
    const place = placeOf(sql, location);
    const lines = sql.trimEnd().includes('\n') ? ` (line ${place.line}, column ${place.column})` : '';
    const told =
      code === 'SQL_NOT_SUPPORTED' ? `${message.replace(/\.$/, '')} at character ${place.character}${lines}.` : message;
    throw new SemanticError(code, told, hint, location, place);
  }
}

function placeOf(sql: string, bytes: number): Place {
  const before = new TextDecoder().decode(new TextEncoder().encode(sql).subarray(0, bytes));
  const lines = before.split('\n');
  return { character: before.length + 1, line: lines.length, column: (lines.at(-1) ?? '').length + 1 };
}
