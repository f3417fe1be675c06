/** The whole way: semantic SQL, a data model and a subject in; SQL of the warehouse with the policies in it out. */
import { type CompiledQuery, compileQuery } from './compile-query.ts';
import type { DataModel } from './data-model.ts';
import type { Dialect } from './dialects/dialect.ts';
import { parseSql } from './parse-sql.ts';
import { resolveQuery } from './resolve-query.ts';
import type { SqlLimits } from './sql-size.ts';
import type { Subject } from './subject.ts';

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
