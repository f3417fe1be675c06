/** Asking the planner: questions as plain values, without the SQL that people write. */
import type { Dialect } from '../../src/dialects/dialect.ts';
import type { DataModel, RelationMember } from '../../src/model/data-model.ts';
import { createBinder } from '../../src/plan/binder.ts';
import { type CompiledBlock, compileBlock } from '../../src/plan/compile-query.ts';
import { rightsOf } from '../../src/policy/rights.ts';
import type { Subject } from '../../src/policy/subject.ts';
import { joinCubes } from '../../src/query/join-cubes.ts';
import type { ResolvedQuery } from '../../src/query/resolve-query.ts';
import type { ResolvedExpression } from '../../src/query/resolved-expression.ts';
import type { ComparisonOperator } from '../../src/query/semantic-query.ts';
import { memberType, typeOf } from '../../src/query/value-type.ts';
import type { TestEngine, Value } from '../engines.ts';

/** A condition: a member compared with a value, a member that is true, or null. */
export type Condition =
  | readonly [member: string, operator: ComparisonOperator, value: string | number]
  | readonly [member: string, is: 'true' | 'null'];

/** A question over a view, or over cubes (members are then `cube.member`). */
export interface Question {
  readonly from: string | readonly string[];
  /** Members, or `month(member)`. */
  readonly keys?: readonly string[];
  readonly measures?: readonly string[];
  /** All have to hold. */
  readonly where?: readonly Condition[];
  readonly having?: readonly Condition[];
  /** Rows as they are. */
  readonly isUngrouped?: boolean;
}

/** A user without a group, who sees what no policy protects. */
export const anybody: Subject = {
  groups: [],
  userAttributes: {},
  securityContext: {},
  embedTenantName: null,
  isEmbedTenantScope: false,
  seesUnprotected: true,
};

/** The question as the planner takes it, and compiled. */
export function compileQuestion(
  question: Question,
  model: DataModel,
  dialect: Dialect,
  subject: Subject = anybody,
): CompiledBlock & { readonly parameters: readonly (string | number | bigint | boolean)[] } {
  const rights = rightsOf(model, subject);
  const binder = createBinder(dialect);
  const query = resolveQuestion(question, model, subject);
  const block = compileBlock(query, { model, rights, dialect, binder, timezone: 'UTC' }, (sql, index) => {
    const type = memberType(typeOf(query.select[index]?.expression ?? { kind: 'literal', value: null, location: 0 }));
    return `${dialect.selected(sql, type ?? 'string')} AS c${index}`;
  });
  return { ...block, parameters: binder.slots.map(({ value }) => value) };
}

/** The answer, rows in the order of their texts. */
export async function ask(
  question: Question,
  model: DataModel,
  engine: TestEngine,
  subject: Subject = anybody,
): Promise<Value[][]> {
  const { sql, parameters } = compileQuestion(question, model, engine.dialect, subject);
  try {
    return sorted(await engine.run(sql, parameters));
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : ''}\n${sql}`, { cause: error });
  }
}

/** Rows in an order that does not depend on the engine; numbers, also decimals of many digits, to nine digits. */
export const sorted = (rows: readonly (readonly Value[])[]): Value[][] =>
  rows.map((row) => row.map(rounded)).sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));

const rounded = (value: Value): Value =>
  typeof value === 'number' || (typeof value === 'string' && /^-?\d+\.\d{10,}$/.test(value))
    ? Number(Number(value).toPrecision(9))
    : value;

function resolveQuestion(question: Question, model: DataModel, subject: Subject): ResolvedQuery {
  const { from, keys = [], measures = [], where = [], having = [], isUngrouped = false } = question;
  const relation = typeof from === 'string' ? model.relations.get(from) : joinCubes(model, from);
  if (relation === undefined) throw new Error(`no relation ${from}`);
  const visible = rightsOf(model, subject).visible(relation);
  const taken = new Map<string, RelationMember>();
  const member = (name: string): ResolvedExpression => {
    const found = visible.get(name)?.member;
    if (found === undefined) throw new Error(`no member ${name}`);
    taken.set(name, found);
    return { kind: found.member.kind === 'measure' ? 'measure' : 'dimension', member: found, location: 0 };
  };
  const expression = (text: string): ResolvedExpression => {
    const month = /^month\((.+)\)$/.exec(text)?.[1];
    if (month === undefined) return member(text);
    return { kind: 'date-trunc', granularity: 'month', operand: member(month), location: 0 };
  };
  const condition = ([name, operator, value]: Condition): ResolvedExpression => {
    const left = expression(name);
    if (operator === 'true') return left;
    if (operator === 'null') return { kind: 'is-null', operand: left, isNegated: false, location: 0 };
    const right: ResolvedExpression =
      typeof value === 'number'
        ? { kind: 'number', text: String(value), location: 0 }
        : { kind: 'literal', value: value ?? null, location: 0 };
    return { kind: 'compare', operator, left, right, location: 0 };
  };
  const all = (conditions: readonly Condition[]): ResolvedExpression | null =>
    conditions.length === 0 ? null : { kind: 'and', operands: conditions.map(condition), location: 0 };
  const select = [...keys, ...measures].map((name) => ({ name, expression: expression(name) }));
  return {
    relation,
    taken,
    select,
    isDistinct: false,
    where: all(where),
    groupBy: isUngrouped ? null : select.slice(0, keys.length).map((it) => it.expression),
    having: all(having),
    fill: false,
    orderBy: [],
    limit: null,
    offset: null,
  };
}
