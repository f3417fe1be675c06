/** The one error of this package. */

/** The codes that this package raises; the wire's list of codes holds each of them with its HTTP status. */
export type SemanticErrorCode =
  | 'QUERY_INVALID'
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

/** Where something stands in a text, counted from 1. `character`: from the beginning of the whole text. */
export interface Place {
  readonly character: number;
  readonly line: number;
  readonly column: number;
}

/**
 * A query that cannot be answered as asked. `message` says what is wrong and where, `hint` what would be right (may be
 * empty). Both speak of the data model as this user sees it only: safe to show to the user and to a language model.
 */
export class SemanticError extends Error {
  readonly code: SemanticErrorCode;
  readonly hint: string;
  /** Where in the text, as the grammar counts: UTF-8 bytes from 0. Null, or 0, where it is not known. */
  readonly location: number | null;
  /** The same for people, where the text was at hand. */
  readonly place: Place | null;

  constructor(
    code: SemanticErrorCode,
    message: string,
    hint = '',
    location: number | null = null,
    place: Place | null = null,
  ) {
    super(message);
    this.name = 'SemanticError';
    this.code = code;
    this.hint = hint;
    this.location = location;
    this.place = place;
  }
}
