/** The whole way: semantic SQL, a data model and a subject in; SQL of the warehouse with the policies in it out. */

import type { Dialect } from './dialects/dialect.ts';
import type { DataModel } from './model/data-model.ts';
import { type CompiledQuery, compileQuery } from './plan/compile-query.ts';
import type { Subject } from './policy/subject.ts';
import { resolveQuery } from './query/resolve-query.ts';
import { parseSql } from './sql/parse-sql.ts';
import type { SqlLimits } from './sql/sql-size.ts';

/**
 * Compiles one SELECT as this subject may ask it. Without `limits` the largest hold.
 * @throws SemanticError with what is wrong and a hint
 */
export function compileSql(
  sql: string,
  model: DataModel,
  subject: Subject,
  dialect: Dialect,
  limits?: SqlLimits,
): CompiledQuery {
  return compileQuery(resolveQuery(parseSql(sql, limits), model, subject), model, subject, dialect);
}
