/**
 * How a query is answered for one user: the policies that it consults and what each entry of them came to, the plan in words, and the SQL
 * that it becomes. For operators and authors of models: it names what the user may not see.
 */
import { type CompiledQuery, type CompileOptions, compileResolved } from './compile-sql.ts';
import type { Dialect } from './dialects/dialect.ts';
import type { DataModel } from './model/data-model.ts';
import { describePlan } from './plan/describe-plan.ts';
import { explainRights, type PolicyExplanation } from './policy/explain.ts';
import { observedRights } from './policy/observed-rights.ts';
import { type Rights, rightsOf } from './policy/rights.ts';
import type { Subject } from './policy/subject.ts';
import { parseLoadQuery } from './query/load-query.ts';
import { planLoad } from './query/load-statement.ts';
import type { ResolveContext } from './query/resolve-query.ts';
import { resolveStatement } from './query/resolve-statement.ts';
import type { Statement } from './query/statement.ts';
import { zoneNamed } from './query/zoned-time.ts';
import { SemanticError } from './semantic-error.ts';
import { parseSql } from './sql/parse-sql.ts';
import { placed } from './sql/refusal.ts';

/** What became of a query. */
export type QueryOutcome =
  | { readonly kind: 'compiled'; readonly compiled: CompiledQuery; readonly plan: readonly string[] }
  /** What the user is told. */
  | { readonly kind: 'refused'; readonly code: string; readonly message: string; readonly hint: string };

/** A query, explained. */
export interface QueryExplanation {
  readonly outcome: QueryOutcome;
  /**
   * The policies that were consulted, in the order in which that happened; of a refused query, those of what it names. One that was
   * consulted for several sets of members stands there for each.
   */
  readonly policies: readonly PolicyExplanation[];
  /** What else keeps the user from what the query names. */
  readonly notes: readonly string[];
}

/** Explains one statement as this subject may ask it. Never throws for what is wrong with the statement. */
export function explainSql(
  sql: string,
  model: DataModel,
  subject: Subject,
  dialect: Dialect,
  options: Omit<CompileOptions, 'rights'> = {},
): QueryExplanation {
  return explain(sql, model, subject, dialect, ({ rights, explainStatement }) => {
    const timezone = zoneNamed(options.timezone);
    const statement = parseSql(sql, options.limits);
    const context = { model, rights, timezone, now: options.now ?? new Date() };
    return placed(sql, () => explainStatement(statement, context));
  });
}

/**
 * Explains a JSON query in the same way; one that compares ranges of time by its first.
 * @param json as it was parsed
 */
export function explainLoad(
  json: unknown,
  model: DataModel,
  subject: Subject,
  dialect: Dialect,
  options: Omit<CompileOptions, 'rights' | 'limits'> = {},
): QueryExplanation {
  return explain(JSON.stringify(json) ?? '', model, subject, dialect, ({ rights, explainStatement }) => {
    const now = options.now ?? new Date();
    const [query] = parseLoadQuery(json, { now, timezone: options.timezone });
    if (query === undefined) throw new Error('a JSON query without a query');
    const { statement } = planLoad(query, model, rights);
    return explainStatement(statement, { model, rights, timezone: query.timezone, now });
  });
}

type Explained = Pick<QueryOutcome & { kind: 'compiled' }, 'compiled' | 'plan'>;

function explain(
  text: string,
  model: DataModel,
  subject: Subject,
  dialect: Dialect,
  read: (tools: {
    readonly rights: Rights;
    readonly explainStatement: (
      statement: Statement,
      context: ResolveContext & { readonly rights: Rights },
    ) => Explained;
  }) => Explained,
): QueryExplanation {
  const consulted = new Map<string, readonly [name: string, taken: ReadonlySet<string>]>();
  const rights = observedRights(rightsOf(model, subject), ({ name }, taken) => {
    consulted.set(JSON.stringify([name, ...[...taken].sort()]), [name, taken]);
  });
  try {
    const { compiled, plan } = read({
      rights,
      explainStatement: (statement, context) => {
        const resolved = resolveStatement(statement, context);
        return { compiled: compileResolved(resolved, { ...context, dialect }), plan: describePlan(resolved, model) };
      },
    });
    const policies = [...consulted.values()].flatMap((one) => explainRights(model, subject, new Map([one])));
    return { outcome: { kind: 'compiled', compiled, plan }, policies, notes: [] };
  } catch (error) {
    if (!(error instanceof SemanticError)) throw error;
    const { code, message, hint } = error;
    return { outcome: { kind: 'refused', code, message, hint }, ...explainNames(text, model, subject) };
  }
}

/** The policies of the views, cubes and members whose names stand in a text, whether or not the user may see them. */
function explainNames(sql: string, model: DataModel, subject: Subject): Pick<QueryExplanation, 'policies' | 'notes'> {
  const words = new Set(sql.match(/[\p{L}_][\p{L}\p{N}_]*/gu) ?? []);
  const taken = new Map<string, Set<string>>();
  const notes: string[] = [];
  const take = (owner: string, member?: string) => {
    const names = taken.get(owner) ?? new Set();
    taken.set(owner, names);
    if (member !== undefined) names.add(member);
  };
  for (const relation of model.relations.values()) {
    if (!words.has(relation.name)) continue;
    take(relation.name);
    if (!relation.isPublic) notes.push(`${relation.type} ${relation.name} is not public: nobody can ask it by name`);
    for (const shown of relation.members.values()) {
      if (!words.has(shown.name)) continue;
      const { member } = shown;
      take(relation.name, shown.name);
      take(member.cube, member.name);
      if (!shown.isPublic) notes.push(`${relation.name}.${shown.name} is not public: nobody can ask for it`);
      const isBare = relation.type === 'cube' || relation.policy === null;
      if (isBare && (model.cubes.get(member.cube)?.policy ?? null) === null && !subject.seesUnprotected) {
        notes.push(`${relation.name}.${shown.name} is protected by no policy: external users do not see it`);
      }
    }
  }
  return { policies: explainRights(model, subject, taken), notes };
}
