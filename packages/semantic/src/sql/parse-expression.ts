/** PostgreSQL's expression nodes → expressions of ours, by an allow-list of nodes, fields, operators and functions. */
import type { A_Expr, CaseExpr, Node, SelectStmt, SQLValueFunction, SubLink, TypeCast, WindowDef } from 'libpg-query';
import type { Interval } from '../model/data-model.ts';
import type { ArithmeticOperator, ComparisonOperator, NamedExpression } from '../query/semantic-query.ts';
import type { Statement } from '../query/statement.ts';
import { readCall } from './parse-call.ts';
import { readConstant, readInterval, readType, wholeNumber } from './parse-literal.ts';
import { asNode, identifier, only, refuse } from './refusal.ts';

/** What the expressions of one SELECT are read with. */
export interface Reader {
  /** Reads a query that stands in an expression. */
  readonly statement: (select: SelectStmt, location: number) => Statement;
  /** The windows that WINDOW names. */
  readonly windows: ReadonlyMap<string, WindowDef>;
}

const comparisons: Readonly<Record<string, ComparisonOperator>> = {
  '=': '=',
  '<>': '<>',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
};
const arithmetics: Readonly<Record<string, ArithmeticOperator>> = { '+': '+', '-': '-', '*': '*', '/': '/' };
const functionOperators: Readonly<Record<string, 'mod' | 'power' | '||'>> = { '%': 'mod', '^': 'power', '||': '||' };

/** Reads one expression. @throws SemanticError SQL_NOT_SUPPORTED for whatever is not on the list. */
export function parseExpression(node: Node, reader: Reader): NamedExpression {
  const parse = (it: Node | undefined) => parseExpression(asNode(it), reader);
  if ('ColumnRef' in node) {
    const { fields = [], location = 0 } = node.ColumnRef;
    const names = fields.map(identifier);
    const name = names.at(-1);
    if (name === undefined || names.length > 2) return refuse('a name of more than two parts', location);
    return { kind: 'column', qualifier: names.length === 2 ? (names[0] ?? null) : null, name, location };
  }
  if ('A_Const' in node) return readConstant(node.A_Const);
  if ('A_Expr' in node) return readOperator(node.A_Expr, reader);
  if ('FuncCall' in node) return readCall(node.FuncCall, reader, parse);
  if ('BoolExpr' in node) {
    const { boolop, args = [], location = 0 } = node.BoolExpr;
    const [first] = args;
    if (boolop !== 'NOT_EXPR')
      return { kind: boolop === 'AND_EXPR' ? 'and' : 'or', operands: args.map(parse), location };
    const operand = parse(first);
    // NOT IN (SELECT …) is one thing to us: its nulls are left out.
    const isIn = operand.kind === 'in-subquery' && !operand.isNegated;
    return isIn ? { ...operand, isNegated: true } : { kind: 'not', operand, location };
  }
  if ('NullTest' in node) {
    const { arg, nulltesttype, location = 0 } = node.NullTest;
    return { kind: 'is-null', operand: parse(arg), isNegated: nulltesttype === 'IS_NOT_NULL', location };
  }
  if ('BooleanTest' in node) {
    const { arg, booltesttype, location = 0 } = node.BooleanTest;
    const operand = parse(arg);
    if (booltesttype === 'IS_UNKNOWN' || booltesttype === 'IS_NOT_UNKNOWN') {
      return refuse('IS UNKNOWN', location, 'Write IS NULL.');
    }
    const isNegated = booltesttype === 'IS_NOT_TRUE' || booltesttype === 'IS_NOT_FALSE';
    return {
      kind: 'is-truth',
      operand,
      value: booltesttype === 'IS_TRUE' || booltesttype === 'IS_NOT_TRUE',
      isNegated,
      location,
    };
  }
  if ('CaseExpr' in node) return readCase(node.CaseExpr, reader);
  if ('CoalesceExpr' in node) {
    const { args = [], location = 0 } = node.CoalesceExpr;
    if (args.length > 10) refuse('coalesce with more than 10 arguments', location);
    return { kind: 'call', name: 'coalesce', args: args.map(parse), location };
  }
  if ('MinMaxExpr' in node) {
    const { op, args = [], location = 0 } = node.MinMaxExpr;
    const name = op === 'IS_GREATEST' ? 'greatest' : 'least';
    if (args.length > 10) refuse(`${name} with more than 10 arguments`, location);
    return { kind: 'call', name, args: args.map(parse), location };
  }
  if ('TypeCast' in node) return readCast(node.TypeCast, reader);
  if ('SQLValueFunction' in node) return readSystemValue(node.SQLValueFunction);
  if ('SubLink' in node) return readSubquery(node.SubLink, reader);
  const names: Readonly<Record<string, string>> = {
    ParamRef: 'a parameter',
    A_Indirection: 'field or array access',
    A_ArrayExpr: 'an array',
    RowExpr: 'a row',
    CollateClause: 'COLLATE',
    GroupingSet: 'GROUPING SETS, ROLLUP or CUBE',
    GroupingFunc: 'GROUPING',
    SetToDefault: 'DEFAULT',
  };
  const kind = Object.keys(node)[0] ?? 'this';
  const inside: unknown = Object.values(node)[0];
  const location = typeof inside === 'object' && inside !== null && 'location' in inside ? inside.location : 0;
  return refuse(names[kind] ?? kind, typeof location === 'number' ? location : 0);
}

function readOperator(expression: A_Expr, reader: Reader): NamedExpression {
  const parse = (it: Node | undefined) => parseExpression(asNode(it), reader);
  const { kind, name = [], lexpr, rexpr, location = 0 } = expression;
  const operator = name.map(identifier).join('.');
  switch (kind) {
    case 'AEXPR_OP': {
      if (lexpr === undefined) {
        if (operator === '+') return parse(rexpr);
        if (operator !== '-') refuse(`the operator ${operator}`, location);
        return { kind: 'negate', operand: parse(rexpr), location };
      }
      const shifted = readShift(operator, lexpr, asNode(rexpr), reader, location);
      if (shifted !== null) return shifted;
      const [left, right] = [parse(lexpr), parse(rexpr)];
      const comparison = comparisons[operator];
      if (comparison !== undefined) return { kind: 'compare', operator: comparison, left, right, location };
      const arithmetic = arithmetics[operator];
      if (arithmetic !== undefined) return { kind: 'arithmetic', operator: arithmetic, left, right, location };
      const call = functionOperators[operator];
      if (call !== undefined) return { kind: 'call', name: call, args: [left, right], location };
      if (/^!?~~\*?$/.test(operator)) return like(left, right, operator, location);
      return refuse(`the operator ${operator}`, location);
    }
    case 'AEXPR_IN': {
      const list = asNode(rexpr);
      if (!('List' in list)) return refuse('this IN', location);
      const items = (list.List.items ?? []).map(parse);
      return { kind: 'in', operand: parse(lexpr), items, isNegated: operator === '<>', location };
    }
    case 'AEXPR_BETWEEN':
    case 'AEXPR_NOT_BETWEEN': {
      const list = asNode(rexpr);
      const [low, high] = 'List' in list ? (list.List.items ?? []).map(parse) : [];
      if (low === undefined || high === undefined) return refuse('this BETWEEN', location);
      return { kind: 'between', operand: parse(lexpr), low, high, isNegated: kind === 'AEXPR_NOT_BETWEEN', location };
    }
    case 'AEXPR_LIKE':
    case 'AEXPR_ILIKE':
      return like(parse(lexpr), parseEscape(asNode(rexpr), parse), operator, location);
    case 'AEXPR_NULLIF':
      return { kind: 'call', name: 'nullif', args: [parse(lexpr), parse(rexpr)], location };
    default: {
      const names: Readonly<Record<string, string>> = {
        AEXPR_DISTINCT: 'IS DISTINCT FROM',
        AEXPR_NOT_DISTINCT: 'IS NOT DISTINCT FROM',
        AEXPR_OP_ANY: 'ANY',
        AEXPR_OP_ALL: 'ALL',
        AEXPR_SIMILAR: 'SIMILAR TO',
        AEXPR_BETWEEN_SYM: 'BETWEEN SYMMETRIC',
        AEXPR_NOT_BETWEEN_SYM: 'BETWEEN SYMMETRIC',
      };
      return refuse(names[kind ?? ''] ?? 'this operator', location);
    }
  }
}

function like(operand: NamedExpression, pattern: NamedExpression, operator: string, location: number): NamedExpression {
  if (pattern.kind !== 'literal' || typeof pattern.value !== 'string') {
    return refuse('LIKE with anything but a text in quotes', location);
  }
  // An odd backslash at the end escapes nothing: PostgreSQL and DuckDB fail on it only when they meet a value.
  if (/(?<!\\)(\\\\)*\\$/.test(pattern.value)) refuse('a LIKE pattern that ends with a backslash', location);
  return {
    kind: 'like',
    operand,
    pattern: pattern.value,
    isCaseSensitive: !operator.endsWith('*'),
    isNegated: operator.startsWith('!'),
    location,
  };
}

/** `'10!%' ESCAPE '!'` → the same pattern, escaped by backslashes. */
function parseEscape(node: Node, parse: (node: Node | undefined) => NamedExpression): NamedExpression {
  const call = 'FuncCall' in node ? node.FuncCall : undefined;
  if (call === undefined || (call.funcname ?? []).map(identifier).join('.') !== 'pg_catalog.like_escape')
    return parse(node);
  const [pattern, mark] = (call.args ?? []).map(parse);
  const location = call.location ?? 0;
  if (pattern?.kind !== 'literal' || typeof pattern.value !== 'string') {
    return refuse('LIKE with anything but a text in quotes', location);
  }
  if (mark?.kind !== 'literal' || typeof mark.value !== 'string' || [...mark.value].length > 1) {
    return refuse('ESCAPE with anything but one character', location);
  }
  const characters = [...pattern.value];
  let value = '';
  for (let at = 0; at < characters.length; at += 1) {
    let character = characters[at] ?? '';
    const isEscaped = character === mark.value;
    if (isEscaped) {
      at += 1;
      character = characters[at] ?? refuse('a LIKE pattern that ends with its escape character', location);
    }
    value += isEscaped || character === '\\' ? `\\${character}` : character;
  }
  return { ...pattern, value };
}

/** A time and an INTERVAL, or a day and a number of days; null when it is neither. */
function readShift(
  operator: string,
  left: Node,
  right: Node,
  reader: Reader,
  location: number,
): NamedExpression | null {
  if (operator !== '+' && operator !== '-') return null;
  const [before, behind] = [intervalOf(left), intervalOf(right)];
  const sign = operator === '-' ? -1 : 1;
  if (behind !== null)
    return { kind: 'shift-time', operand: parseExpression(left, reader), interval: times(behind, sign), location };
  if (before !== null && sign === 1) {
    return { kind: 'shift-time', operand: parseExpression(right, reader), interval: before, location };
  }
  const days = wholeNumber(right);
  if (days === null || Math.abs(days) > 4_000_000 || !isDay(left)) return null;
  const operand = parseExpression(left, reader);
  return { kind: 'shift-time', operand, interval: { months: 0, days: sign * days, seconds: 0 }, location };
}

const times = ({ months, days, seconds }: Interval, factor: number): Interval => ({
  months: months * factor,
  days: days * factor,
  seconds: seconds * factor,
});

/** Whether PostgreSQL would say that it is a `date`, which a number of days may be added to. */
function isDay(node: Node): boolean {
  if ('SQLValueFunction' in node) return node.SQLValueFunction.op === 'SVFOP_CURRENT_DATE';
  return 'TypeCast' in node && (node.TypeCast.typeName?.names ?? []).map(identifier).join('.') === 'date';
}

function intervalOf(node: Node): Interval | null {
  const cast = 'TypeCast' in node ? node.TypeCast : undefined;
  if (cast?.typeName === undefined || !(cast.typeName.names ?? []).some((it) => identifier(it) === 'interval'))
    return null;
  const { location = 0 } = cast.typeName;
  const type = readType(cast.typeName, location);
  const text = cast.arg !== undefined && 'A_Const' in cast.arg ? cast.arg.A_Const.sval?.sval : undefined;
  if (type.kind !== 'interval' || text === undefined)
    return refuse('an interval that is not a text in quotes', location);
  return readInterval(text, type.unit, location);
}

function readCast(cast: TypeCast, reader: Reader): NamedExpression {
  const location = cast.typeName?.location ?? 0;
  const type = readType(cast.typeName, location);
  if (type.kind === 'interval') {
    return refuse('an interval that is not added to a time', location, "Write member + INTERVAL '1 day'.");
  }
  const operand = parseExpression(asNode(cast.arg), reader);
  return { kind: 'cast', operand, type: type.type, places: type.places, location };
}

function readSystemValue({ op, typmod, location = 0 }: SQLValueFunction): NamedExpression {
  if (typmod !== undefined && typmod !== -1) refuse('a present time with a precision', location);
  switch (op) {
    case 'SVFOP_CURRENT_DATE':
      return { kind: 'now', isDate: true, location };
    case 'SVFOP_CURRENT_TIMESTAMP':
    case 'SVFOP_LOCALTIMESTAMP':
      return { kind: 'now', isDate: false, location };
    default:
      return refuse('a system value', location, 'A member of such a name is written in quotes, as in "user".');
  }
}

function readSubquery(link: SubLink, reader: Reader): NamedExpression {
  const { location = 0 } = link;
  only(link, 'a subquery', ['subLinkType', 'testexpr', 'operName', 'subselect', 'location'], location);
  const select = link.subselect !== undefined && 'SelectStmt' in link.subselect ? link.subselect.SelectStmt : undefined;
  if (select === undefined) return refuse('this subquery', location);
  const statement = reader.statement(select, location);
  switch (link.subLinkType) {
    case 'EXPR_SUBLINK':
      return { kind: 'subquery', form: 'scalar', statement, location };
    case 'EXISTS_SUBLINK':
      return { kind: 'subquery', form: 'exists', statement, location };
    case 'ANY_SUBLINK': {
      if (link.operName !== undefined) return refuse('ANY', location, 'Write IN (SELECT …).');
      const operand = parseExpression(asNode(link.testexpr), reader);
      return { kind: 'in-subquery', operand, statement, isNegated: false, location };
    }
    case 'ALL_SUBLINK':
      return refuse('ALL', location);
    default:
      return refuse('an array', location);
  }
}

/** Nodes that may stand in the operand of `CASE operand WHEN`: it is compared, and so written, once for each WHEN. */
const caseOperandMax = 20;

function readCase({ arg, args = [], defresult, location = 0 }: CaseExpr, reader: Reader): NamedExpression {
  const parse = (it: Node | undefined) => parseExpression(asNode(it), reader);
  const operand = arg === undefined ? null : parse(arg);
  if (arg !== undefined && (JSON.stringify(arg).match(/"location"/g)?.length ?? 0) > caseOperandMax) {
    refuse('CASE with a long operand', location, 'Write CASE WHEN … THEN.');
  }
  const branches = args.map((branch) => {
    if (!('CaseWhen' in branch)) return refuse('this CASE', location);
    const { expr, result, location: at = 0 } = branch.CaseWhen;
    const value = parse(expr);
    const when: NamedExpression =
      operand === null ? value : { kind: 'compare', operator: '=', left: operand, right: value, location: at };
    return { when, result: parse(result) };
  });
  return { kind: 'case', branches, otherwise: defresult === undefined ? null : parse(defresult), location };
}
