/**
 * What of a resolved statement decides the text of its SQL, apart from the values that are only bound. Two statements of one shape are
 * compiled to the same SQL, each with its own values, so a plan that was made for one serves the other.
 */
import type { ParameterType } from '../dialects/dialect.ts';
import type { CubeMember, DataModel, SqlTemplate } from '../model/data-model.ts';
import { writtenPattern } from '../query/like-pattern.ts';
import type { ResolvedStatement } from '../query/resolved-statement.ts';

/** A value of a query, as it is bound: equal ones are one parameter. */
export interface QueryValue {
  readonly type: ParameterType;
  readonly value: string | boolean;
}

/** The shape of a statement, and the values that are no part of it, in the order of their numbers. */
export interface StatementShape {
  readonly text: string;
  readonly values: readonly QueryValue[];
  /** The values that stand in the text, as `type value`. */
  readonly written: ReadonlySet<string>;
}

/** Comparisons, and the fields of theirs that hold operands: there a value is bound, and decides nothing else. */
const comparisons: ReadonlySet<unknown> = new Set(['compare', 'in', 'between']);
const operandFields: ReadonlySet<string> = new Set(['left', 'right', 'operand', 'items', 'low', 'high']);

/**
 * Makes what tells the shapes of statements over a model. Whatever stands in a statement is part of its shape, but places in the text,
 * and the texts, truths and times that something is compared with. Where a plan may look at these values (time windows, switches, gaps
 * that are filled), none is left out.
 */
export function createShapes(model: DataModel): (statement: ResolvedStatement) => StatementShape {
  const looksAtValues = lookers(model);
  return (statement) => {
    const shape = write(statement, looksAtValues, true);
    return shape.isSafe ? shape : write(statement, looksAtValues, false);
  };
}

/** @param leavesOut whether values that are compared are left out */
function write(
  statement: ResolvedStatement,
  looksAtValues: (member: unknown) => boolean,
  leavesOut: boolean,
): StatementShape & { readonly isSafe: boolean } {
  const values: QueryValue[] = [];
  const numbers = new Map<string, number>();
  const written = new Set<string>();
  const known = new Map<object, number>();
  let isSafe = true;
  let text = '';

  const writeObject = (node: object, isOperand: boolean): void => {
    const value = boundValueOf(node);
    if (value !== null && isOperand && leavesOut) {
      const key = `${value.type} ${value.value}`;
      const number = numbers.get(key) ?? values.push(value) - 1;
      numbers.set(key, number);
      text += `?${value.type}${number}`;
      return;
    }
    if (value !== null) written.add(`${value.type} ${value.value}`);
    // Bound like a text, and one parameter with an equal one.
    if ('pattern' in node && typeof node.pattern === 'string') written.add(`string ${writtenPattern(node.pattern)}`);
    // A query that WITH names is one object, wherever it stands; that it is one is part of the shape, and it is written once.
    const before = known.get(node);
    if (before !== undefined) {
      text += `#${before}`;
      return;
    }
    if ('columns' in node) known.set(node, known.size);
    if ('fill' in node && node.fill === true) isSafe = false;
    const isComparison = 'kind' in node && comparisons.has(node.kind);
    text += '{';
    for (const [field, inner] of Object.entries(node)) {
      if (field !== 'location') writeField(field, inner, isComparison && operandFields.has(field));
    }
    text += '}';
  };
  const writeField = (field: string, value: unknown, isOperand: boolean): void => {
    text += `${field}:`;
    writeValue(field, value, isOperand);
  };
  const writeValue = (field: string, value: unknown, isOperand: boolean): void => {
    if (typeof value !== 'object' || value === null) {
      text += `${typeof value === 'string' ? JSON.stringify(value) : value},`;
    } else if (Array.isArray(value)) {
      text += '[';
      for (const item of value) writeValue(field, item, isOperand);
      text += '],';
    } else if (value instanceof Map) {
      text += `${JSON.stringify([...value.keys()])},`;
    } else if (field === 'member' && 'path' in value && 'member' in value && 'name' in value) {
      // A member of a relation: its name and place say which.
      text += `${JSON.stringify([value.name, value.path])},`;
      if (looksAtValues(value.member)) isSafe = false;
    } else if (field === 'relation' && 'paths' in value && 'name' in value) {
      text += `${JSON.stringify([value.name, value.paths])},`;
    } else {
      writeObject(value, isOperand);
      text += ',';
    }
  };
  writeObject(statement, false);
  // A value that is bound here and decides something there is one parameter: bound anew it would not decide anew.
  if ([...numbers.keys()].some((key) => written.has(key))) isSafe = false;
  return { text, values, written, isSafe };
}

/** The value of a literal or a time, as it is bound; null for everything else. */
function boundValueOf(node: object): QueryValue | null {
  if (!('kind' in node) || !('value' in node)) return null;
  const { kind, value } = node;
  if (kind === 'time' && typeof value === 'string') return { type: 'time', value };
  if (kind !== 'literal') return null;
  if (typeof value === 'string') return { type: 'string', value };
  return typeof value === 'boolean' ? { type: 'boolean', value } : null;
}

/** Tells whether the plan for a member may be another one for other values of the query; each member is looked into once. */
function lookers(model: DataModel): (member: unknown) => boolean {
  const known = new Map<unknown, boolean>();
  const refersToOne = (template: SqlTemplate, seen: Set<unknown>): boolean =>
    template.some(
      (part) => part.kind === 'member' && looks(model.cubes.get(part.cube)?.members.get(part.member), seen),
    );
  const looks = (member: unknown, seen: Set<unknown>): boolean => {
    if (!isMember(member)) return false;
    const before = known.get(member);
    if (before !== undefined || seen.has(member)) return before ?? false;
    seen.add(member);
    const found = looksItself(member) || templatesOf(member).some((it) => refersToOne(it, seen));
    known.set(member, found);
    return found;
  };
  return (member) => looks(member, new Set());
}

function looksItself(member: CubeMember): boolean {
  if (member.kind === 'dimension') return member.source.kind === 'switch' || member.source.kind === 'sub-query';
  if (member.kind === 'segment') return false;
  return member.aggregation === 'multi_stage' || ('rollingWindow' in member && member.rollingWindow !== null);
}

function templatesOf(member: CubeMember): readonly SqlTemplate[] {
  if (member.kind === 'dimension') return member.source.kind === 'sql' ? [member.source.sql] : [];
  if (member.kind === 'segment') return [member.sql];
  if (member.aggregation === 'multi_stage') return [];
  return [member.sql ?? [], ...('filters' in member ? member.filters : [])];
}

/** A member as its cube declares it; who asks has found it in a relation. */
function isMember(value: unknown): value is CubeMember {
  return typeof value === 'object' && value !== null && 'kind' in value && 'cube' in value;
}
