/** Refuses SQL that is too large before the grammar sees it. */
import { scanSync } from 'libpg-query';
import { SemanticError } from '../semantic-error.ts';

/** What a text may have at most. Above {@link largestSql} the grammar is not safe. */
export interface SqlLimits {
  /** Bytes of one semantic SQL text, in UTF-8. */
  readonly sqlBytesMax: number;
  /** Open parentheses and brackets within each other. */
  readonly sqlDepthMax: number;
}

/** The largest limits: what holds where nothing smaller is asked for. */
const largestSql: SqlLimits = { sqlBytesMax: 65_536, sqlDepthMax: 64 };

/**
 * Tokens of one text, not counting plain lists such as `IN (1, 2, 3)`. A tree is at most as deep as its text has tokens; one
 * that is some thousands of levels deep overflows the stack of the grammar's module, which may then hang for good. So the
 * tokens are bounded before the grammar sees them, far below that.
 */
const sqlTokensMax = 2000;
/** Tokens of one text, plain lists included: some 8,000 items. */
const listedTokensMax = 16_000;
/**
 * Levels of the grammar's tree: `NOT` takes three, an operator two. What reads, resolves and writes an expression follows it by calling
 * itself, several calls to a level: a chain of 900 operators has been seen to overflow the stack.
 */
const treeDepthMax = 700;
/** SELECTs of one text. */
export const selectsMax = 64;
/** Tables beside each other in one FROM. */
export const tablesMax = 32;

/**
 * Lets a text pass that the grammar can read without harm.
 * @throws SemanticError SQL_TOO_LARGE, SQL_TOO_DEEP, or SQL_INVALID for a text with NUL or half of a pair, or a long one that cannot
 * be split
 */
export function guardSqlSize(sql: string, limits: SqlLimits = largestSql): void {
  const sqlBytesMax = Math.min(limits.sqlBytesMax, largestSql.sqlBytesMax);
  const sqlDepthMax = Math.min(limits.sqlDepthMax, largestSql.sqlDepthMax);
  if (sql.length > sqlBytesMax || new TextEncoder().encode(sql).length > sqlBytesMax) {
    throw new SemanticError('SQL_TOO_LARGE', `The SQL has more than ${sqlBytesMax} bytes.`);
  }
  // The grammar reads up to a NUL only: what stands behind it would be ignored.
  if (sql.includes('\0')) throw new SemanticError('SQL_INVALID', 'The SQL holds a NUL character.');
  // Written as UTF-8 it would become another character, and equal that one.
  if (!sql.isWellFormed()) throw new SemanticError('SQL_INVALID', 'The SQL holds half of a pair of UTF-16.');
  // A text has no more tokens than characters, and is no deeper than it opens: short ones need not be split to know it.
  if (sql.length <= sqlTokensMax && (sql.match(/[([]/g)?.length ?? 0) <= sqlDepthMax) return;
  let depth = 0;
  let counted = 0;
  let before = '';
  let beforeThat = '';
  const tokens = scan(sql);
  if (tokens.length > listedTokensMax) {
    throw new SemanticError('SQL_TOO_LARGE', `The SQL has more than ${listedTokensMax} tokens.`);
  }
  for (const { text } of tokens) {
    if (text === '(' || text === '[') depth += 1;
    if (text === ')' || text === ']') depth -= 1;
    if (depth > sqlDepthMax) {
      throw new SemanticError('SQL_TOO_DEEP', `The SQL is nested deeper than ${sqlDepthMax} levels.`);
    }
    // `, literal` followed by `,` or `)` is an item of a flat list: take both tokens back.
    if (text === ',' || text === ')') counted += /^['\w.]/.test(before) && beforeThat === ',' ? -1 : 0;
    if (text !== ',') counted += 1;
    if (counted > sqlTokensMax) {
      throw new SemanticError('SQL_TOO_LARGE', `The SQL has more than ${sqlTokensMax} tokens.`);
    }
    beforeThat = before;
    before = text;
  }
}

/** @throws SemanticError SQL_TOO_DEEP when a tree is too deep to be read by functions that call themselves */
export function guardTreeDepth(tree: unknown): void {
  let level: readonly unknown[] = [tree];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > treeDepthMax) throw new SemanticError('SQL_TOO_DEEP', 'The SQL is nested too deeply.');
    level = level.flatMap((node) => (typeof node === 'object' && node !== null ? Object.values(node) : []));
  }
}

/** Text that the scanner cannot split: short enough to be safe, the grammar says what is wrong with it. */
const unscannedCharactersMax = 2000;

function scan(sql: string) {
  try {
    return scanSync(sql).tokens;
  } catch {
    if (sql.length <= unscannedCharactersMax) return [];
    throw new SemanticError(
      'SQL_INVALID',
      'The SQL does not parse: it cannot be split into words.',
      'Are all quotes closed?',
    );
  }
}
