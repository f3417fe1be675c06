/** The one error of this package. */

/** The codes that this package raises; the wire's list of codes holds each of them with its HTTP status. */
export type SemanticErrorCode =
  | 'SQL_INVALID'
  | 'SQL_NOT_SUPPORTED'
  | 'SQL_TOO_LARGE'
  | 'SQL_TOO_DEEP'
  | 'RELATION_NOT_FOUND'
  | 'MEMBER_NOT_FOUND'
  | 'MEASURE_MISUSED'
  | 'TYPE_MISMATCH'
  | 'GROUP_BY_REQUIRED'
  | 'QUERY_NOT_PLANNABLE';

/**
 * A query that cannot be answered as asked. `message` says what is wrong and where, `hint` what would be right (may be
 * empty). Both speak of the data model as this user sees it only: safe to show to the user and to a language model.
 */
export class SemanticError extends Error {
  readonly code: SemanticErrorCode;
  readonly hint: string;

  constructor(code: SemanticErrorCode, message: string, hint = '') {
    super(message);
    this.name = 'SemanticError';
    this.code = code;
    this.hint = hint;
  }
}
