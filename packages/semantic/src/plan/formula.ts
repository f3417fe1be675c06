/**
 * Calculated measures: expressions over measures, as the model's author wrote them. One that semantic SQL could say itself is read as
 * such, so that it means the same on every warehouse (`{a} / {b}` is no division of whole numbers, and null where b is zero); any other
 * stays the text that it is.
 */
import type { DataModel, Measure, MemberType, SqlTemplate } from '../model/data-model.ts';
import { relationMember } from '../model/relation-member.ts';
import { checkExpression } from '../query/check-expression.ts';
import { mapParts, partsOf, type ResolvedExpression } from '../query/resolved-expression.ts';
import type { NamedExpression } from '../query/semantic-query.ts';
import { SemanticError } from '../semantic-error.ts';
import { parseExpressionText } from '../sql/parse-sql.ts';
import { emitExpression } from './emit-expression.ts';
import type { CompileContext } from './group-scope.ts';
import { asType } from './typed-value.ts';

/** A reference of a formula to a measure, and the SQL of its value. */
export type EmitReference = (cube: string, member: string) => string;

/** A model never changes: each formula is read once. Null: it is not of our language. */
const known = new WeakMap<SqlTemplate, ResolvedExpression | null>();

/**
 * The SQL of a formula.
 * @param emitReference gives the SQL of the measure that a reference stands for
 */
export function emitFormula(
  sql: SqlTemplate,
  type: MemberType,
  context: CompileContext,
  emitReference: EmitReference,
): string {
  const { dialect, model } = context;
  let expression = known.get(sql);
  if (expression === undefined) {
    expression = readFormula(sql, model);
    known.set(sql, expression);
  }
  if (expression !== null) {
    const value = emitExpression(expression, context, (it) =>
      it.kind === 'measure' ? emitReference(it.member.member.cube, it.member.member.name) : null,
    );
    return asType(value, type, dialect);
  }
  const text = sql.map((part) => {
    if (part.kind === 'text') return part.text;
    if (part.kind === 'literal') return dialect.literal(part.value);
    if (part.kind === 'cube') throw new Error('a calculated measure reads a column');
    return emitReference(part.cube, part.member);
  });
  return asType(text.join(''), type, dialect);
}

function readFormula(sql: SqlTemplate, model: DataModel): ResolvedExpression | null {
  const measures: Measure[] = [];
  let text = '';
  for (const part of sql) {
    if (part.kind === 'text') text += part.text;
    else if (part.kind === 'member') {
      const member = model.cubes.get(part.cube)?.members.get(part.member);
      if (member?.kind !== 'measure') return null;
      text += `"${measures.length}"`;
      measures.push(member);
    } else return null;
  }
  const named = parseExpressionText(text);
  if (named === null) return null;
  try {
    const expression = resolve(named, measures);
    return isSame(expression) ? expression : null;
  } catch (error) {
    if (error instanceof SemanticError) return null;
    throw error;
  }
}

/** The expression with measures in place of the numbers that stand for them. */
function resolve(expression: NamedExpression, measures: readonly Measure[]): ResolvedExpression {
  switch (expression.kind) {
    case 'column': {
      const measure = measures[Number(expression.name)];
      if (measure === undefined || expression.qualifier !== null) break;
      return { kind: 'measure', member: relationMember(measure, [measure.cube]), location: 0 };
    }
    case 'aggregate':
    case 'window':
    case 'now':
    case 'subquery':
    case 'in-subquery':
      break;
    default:
      return checkExpression(
        mapParts(expression, (part) => resolve(part, measures)),
        'UTC',
      );
  }
  throw new SemanticError('SQL_NOT_SUPPORTED', 'This stands for no measure.');
}

/**
 * Whether a formula is the same for every query: units of time depend on the zone; and texts of the model would be bound as if the query
 * had said them.
 */
function isSame(expression: ResolvedExpression): boolean {
  switch (expression.kind) {
    case 'literal':
      return expression.value === null;
    case 'time':
    case 'like':
    case 'date-trunc':
    case 'date-part':
    case 'shift-time':
    case 'local-time':
      return false;
    default:
      return partsOf(expression).every(isSame);
  }
}
