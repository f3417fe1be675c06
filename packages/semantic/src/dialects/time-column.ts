/** Columns of a table behind the cast that makes every time one type. */

/** A column by its name, with that of its table or without, in any number of parentheses. */
const columnPattern = /^\(+(?:"[^"]+"|\w+)(?:\.(?:"[^"]+"|\w+))*\)+$/;

/**
 * The SQL of the column that a dialect has cast to a time; null for what is no bare column.
 * @param cast the name of the cast, and the type, as the dialect writes them
 */
export function columnOfTime(sql: string, cast: string, type: string): string | null {
  const [head, tail] = [`${cast}(`, ` AS ${type})`];
  if (!sql.startsWith(head) || !sql.endsWith(tail)) return null;
  const operand = sql.slice(head.length, -tail.length);
  return columnPattern.test(operand) ? operand : null;
}
