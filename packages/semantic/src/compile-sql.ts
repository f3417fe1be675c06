/** The whole way: semantic SQL, a data model and a subject in; SQL of the warehouse with the policies in it out. */
import type { Dialect } from './dialects/dialect.ts';
import type { DataModel } from './model/data-model.ts';
import { createBinder, type Parameter, type Slot } from './plan/binder.ts';
import { compileStatement } from './plan/compile-statement.ts';
import { type Rights, rightsOf } from './policy/rights.ts';
import type { Subject } from './policy/subject.ts';
import { resolveStatement } from './query/resolve-statement.ts';
import type { ResolvedStatement } from './query/resolved-statement.ts';
import type { Statement } from './query/statement.ts';
import { zoneNamed } from './query/zoned-time.ts';
import { parseSql } from './sql/parse-sql.ts';
import { placed } from './sql/refusal.ts';
import type { SqlLimits } from './sql/sql-size.ts';

/** A compiled query: SQL with numbered parameters, and the names of its columns. */
export interface CompiledQuery {
  readonly sql: string;
  /** The values of `slots`. */
  readonly parameters: readonly Parameter[];
  /** The names of its columns as the query gives them, which need not be unique; those in `sql` may differ. */
  readonly columns: readonly string[];
  /** What is bound, and where each value comes from, in the order of the parameters' numbers. */
  readonly slots: readonly Slot[];
  /** The names of all cubes whose rows it reads. */
  readonly cubes: ReadonlySet<string>;
}

/** How a text is compiled. */
export interface CompileOptions {
  /** A name of the zone database, in any case of letters; `UTC` when left out. */
  readonly timezone?: string;
  /** What `now()` is; left out: the present. */
  readonly now?: Date;
  /** Left out: the largest. */
  readonly limits?: SqlLimits;
  /** Of the same subject in the same model; left out: made for it. */
  readonly rights?: Rights;
}

/**
 * Compiles one statement as this subject may ask it.
 * @throws SemanticError with what is wrong and a hint
 */
export function compileSql(
  sql: string,
  model: DataModel,
  subject: Subject,
  dialect: Dialect,
  options: CompileOptions = {},
): CompiledQuery {
  const statement = parseSql(sql, options.limits);
  return placed(sql, () => compileParsed(statement, model, subject, dialect, options));
}

/** The same for a text that is parsed. Errors know where in bytes they stand, and not the text. */
export function compileParsed(
  statement: Statement,
  model: DataModel,
  subject: Subject,
  dialect: Dialect,
  options: Omit<CompileOptions, 'limits'> = {},
): CompiledQuery {
  const timezone = zoneNamed(options.timezone);
  const rights = options.rights ?? rightsOf(model, subject);
  const resolved = resolveStatement(statement, { model, rights, timezone, now: options.now ?? new Date() });
  return compileResolved(resolved, { model, rights, dialect, timezone });
}

/** The same for a statement that is resolved, with the rights and in the zone that it was resolved for. */
export function compileResolved(
  statement: ResolvedStatement,
  context: {
    readonly model: DataModel;
    readonly rights: Rights;
    readonly dialect: Dialect;
    readonly timezone: string;
  },
): CompiledQuery {
  const binder = createBinder(context.dialect);
  const compiled = compileStatement(statement, { ...context, binder });
  return { ...compiled, parameters: binder.slots.map(({ value }) => value), slots: binder.slots };
}
