/** PostgreSQL's expression nodes → expressions of ours, by an allow-list of nodes, fields, operators and functions. */
import type { A_Const, A_Expr, FuncCall, Node } from 'libpg-query';
import {
  type AggregateFunction,
  type ArithmeticOperator,
  aggregateFunctions,
  type ComparisonOperator,
  type Granularity,
  granularities,
  type NamedExpression,
  type ScalarFunction,
  scalarFunctions,
} from '../query/semantic-query.ts';
import { SemanticError } from '../semantic-error.ts';

/** Refuses a construct by its name. @throws SemanticError SQL_NOT_SUPPORTED */
export function refuse(construct: string, location: number, hint = ''): never {
  const place = location > 0 ? ` at character ${location + 1}` : '';
  throw new SemanticError('SQL_NOT_SUPPORTED', `Semantic SQL does not allow ${construct}${place}.`, hint);
}

/** Refuses a node that carries a field which is not in the list: it would otherwise be silently ignored. */
export function only(node: object, what: string, fields: readonly string[]): void {
  for (const field of Object.keys(node)) {
    if (!fields.includes(field)) refuse(`${what} with ${field.replaceAll('_', ' ')}`, 0);
  }
}

/** A node that has to be there. */
export function asNode(node: Node | undefined): Node {
  return node ?? refuse('an empty expression', 0);
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
const isScalarFunction = (name: string): name is ScalarFunction => Object.hasOwn(scalarFunctions, name);
const isAggregate = (name: string): name is AggregateFunction => aggregateFunctions.some((it) => it === name);
const isGranularity = (name: string): name is Granularity => granularities.some((it) => it === name);

/** Reads one expression. @throws SemanticError SQL_NOT_SUPPORTED for whatever is not on the list. */
export function parseExpression(node: Node): NamedExpression {
  if ('ColumnRef' in node) {
    const { fields = [], location = 0 } = node.ColumnRef;
    const names = fields.map(identifier);
    const name = names.at(-1);
    if (name === undefined || names.length > 2) return refuse('a name of more than two parts', location);
    return { kind: 'column', qualifier: names.length === 2 ? (names[0] ?? null) : null, name, location };
  }
  if ('A_Const' in node) return readConstant(node.A_Const);
  if ('A_Expr' in node) return readOperator(node.A_Expr);
  if ('FuncCall' in node) return readCall(node.FuncCall);
  if ('BoolExpr' in node) {
    const { boolop, args = [], location = 0 } = node.BoolExpr;
    const operands = args.map(parseExpression);
    const [operand] = operands;
    if (boolop === 'NOT_EXPR' && operand !== undefined) return { kind: 'not', operand, location };
    return { kind: boolop === 'AND_EXPR' ? 'and' : 'or', operands, location };
  }
  if ('NullTest' in node) {
    const { arg, nulltesttype, location = 0 } = node.NullTest;
    return {
      kind: 'is-null',
      operand: parseExpression(asNode(arg)),
      isNegated: nulltesttype === 'IS_NOT_NULL',
      location,
    };
  }
  if ('CaseExpr' in node) {
    const { arg, args = [], defresult, location = 0 } = node.CaseExpr;
    if (arg !== undefined) refuse('CASE with an operand', location, 'Write CASE WHEN … THEN.');
    const branches = args.map((branch) => {
      if (!('CaseWhen' in branch)) return refuse('this CASE', location);
      const { expr, result: value } = branch.CaseWhen;
      return { when: parseExpression(asNode(expr)), result: parseExpression(asNode(value)) };
    });
    return { kind: 'case', branches, otherwise: defresult === undefined ? null : parseExpression(defresult), location };
  }
  if ('CoalesceExpr' in node) {
    const { args = [], location = 0 } = node.CoalesceExpr;
    return { kind: 'call', name: 'coalesce', args: args.map(parseExpression), location };
  }
  const names: Readonly<Record<string, string>> = {
    SubLink: 'a subquery',
    TypeCast: 'a cast',
    ParamRef: 'a parameter',
    A_Indirection: 'field or array access',
    A_ArrayExpr: 'an array',
    RowExpr: 'a row',
    SQLValueFunction: 'a system value',
    MinMaxExpr: 'GREATEST or LEAST',
    CollateClause: 'COLLATE',
    BooleanTest: 'IS TRUE or IS FALSE',
    GroupingSet: 'GROUPING SETS, ROLLUP or CUBE',
    SetToDefault: 'DEFAULT',
  };
  const kind = Object.keys(node)[0] ?? 'this';
  return refuse(names[kind] ?? kind, 0);
}

/** A name's text. */
export function identifier(node: Node): string {
  if ('String' in node) return node.String.sval ?? '';
  return refuse('* here', 0);
}

function readConstant(constant: A_Const): NamedExpression {
  const { location = 0 } = constant;
  if (constant.isnull === true) return { kind: 'literal', value: null, location };
  if (constant.sval !== undefined) return { kind: 'literal', value: constant.sval.sval ?? '', location };
  if (constant.boolval !== undefined) return { kind: 'literal', value: constant.boolval.boolval ?? false, location };
  if (constant.ival !== undefined) return { kind: 'number', text: String(constant.ival.ival ?? 0), location };
  if (constant.fval === undefined) return refuse('a bit string', location);
  const written = constant.fval.fval ?? '';
  const text = written.replace(/^(-?)\./, '$10.').replace(/\.$/, '');
  // Hexadecimal, octal and 1_000 are PostgreSQL's; plain decimals are everybody's. 38 digits is what a DECIMAL holds.
  if (!/^-?\d+(\.\d+)?$/.test(text) || text.replace(/\D/g, '').length > 38)
    return refuse(`the number ${written.slice(0, 20)}`, location);
  return { kind: 'number', text, location };
}

function readOperator(expression: A_Expr): NamedExpression {
  const { kind, name = [], lexpr, rexpr, location = 0 } = expression;
  const operator = name.map(identifier).join('.');
  switch (kind) {
    case 'AEXPR_OP': {
      const right = parseExpression(asNode(rexpr));
      if (lexpr === undefined) {
        if (operator === '+') return right;
        return operator === '-'
          ? { kind: 'negate', operand: right, location }
          : refuse(`the operator ${operator}`, location);
      }
      const left = parseExpression(lexpr);
      const comparison = comparisons[operator];
      if (comparison !== undefined) return { kind: 'compare', operator: comparison, left, right, location };
      const arithmetic = arithmetics[operator];
      if (arithmetic !== undefined) return { kind: 'arithmetic', operator: arithmetic, left, right, location };
      return refuse(`the operator ${operator}`, location);
    }
    case 'AEXPR_IN': {
      const list = asNode(rexpr);
      if (!('List' in list)) return refuse('this IN', location);
      const items = (list.List.items ?? []).map(parseExpression);
      return { kind: 'in', operand: parseExpression(asNode(lexpr)), items, isNegated: operator === '<>', location };
    }
    case 'AEXPR_BETWEEN':
    case 'AEXPR_NOT_BETWEEN': {
      const list = asNode(rexpr);
      const [low, high] = 'List' in list ? (list.List.items ?? []).map(parseExpression) : [];
      if (low === undefined || high === undefined) return refuse('this BETWEEN', location);
      const operand = parseExpression(asNode(lexpr));
      return { kind: 'between', operand, low, high, isNegated: kind === 'AEXPR_NOT_BETWEEN', location };
    }
    case 'AEXPR_LIKE':
    case 'AEXPR_ILIKE': {
      const pattern = parseExpression(asNode(rexpr));
      if (pattern.kind !== 'literal' || typeof pattern.value !== 'string') {
        return refuse('LIKE with anything but a text in quotes', location);
      }
      // An odd backslash at the end escapes nothing: PostgreSQL and DuckDB fail on it only when they meet a value.
      if (/(?<!\\)(\\\\)*\\$/.test(pattern.value)) refuse('a LIKE pattern that ends with a backslash', location);
      return {
        kind: 'like',
        operand: parseExpression(asNode(lexpr)),
        pattern: pattern.value,
        isCaseSensitive: kind === 'AEXPR_LIKE',
        isNegated: operator.startsWith('!'),
        location,
      };
    }
    case 'AEXPR_NULLIF':
      return {
        kind: 'call',
        name: 'nullif',
        args: [parseExpression(asNode(lexpr)), parseExpression(asNode(rexpr))],
        location,
      };
    default:
      return refuse(`${kind?.replace('AEXPR_', '').replaceAll('_', ' ') ?? 'this operator'}`, location);
  }
}

function readCall(call: FuncCall): NamedExpression {
  const { location = 0, args = [] } = call;
  const name = (call.funcname ?? []).map(identifier).join('.');
  if (call.over !== undefined) refuse('a window function', location);
  if (call.agg_filter !== undefined) refuse('FILTER', location, 'Use a filtered measure of the data model.');
  only(call, `the function ${name}`, ['funcname', 'args', 'agg_star', 'agg_distinct', 'funcformat', 'location']);
  if (isAggregate(name)) return readAggregate(name, call);
  if (call.agg_distinct === true || call.agg_star === true) refuse(`${name} like this`, location);
  if (name === 'date_trunc') {
    const [unit, operand, zone] = args.map(parseExpression);
    if (unit?.kind !== 'literal' || typeof unit.value !== 'string' || operand === undefined || zone !== undefined) {
      return refuse('date_trunc like this', location, "Write date_trunc('month', member).");
    }
    const granularity = unit.value.toLowerCase();
    if (!isGranularity(granularity)) {
      return refuse(`date_trunc to "${granularity.slice(0, 40)}"`, location, `Known: ${granularities.join(', ')}.`);
    }
    return { kind: 'date-trunc', granularity, operand, location };
  }
  if (!isScalarFunction(name)) return refuse(`the function ${name.slice(0, 60)}`, location);
  const [min, max] = scalarFunctions[name];
  if (args.length < min || args.length > max) refuse(`${name} with ${args.length} arguments`, location);
  return { kind: 'call', name, args: args.map(parseExpression), location };
}

function readAggregate(name: AggregateFunction, call: FuncCall): NamedExpression {
  const { location = 0, args = [] } = call;
  const isDistinct = call.agg_distinct === true;
  if (call.agg_star === true) {
    if (name !== 'count') refuse(`${name}(*)`, location);
    return { kind: 'aggregate', function: name, isDistinct, column: null, location };
  }
  const [argument, second] = args.map(parseExpression);
  if (argument?.kind !== 'column' || second !== undefined) {
    const what =
      argument?.kind === 'aggregate' ? 'one aggregate inside another' : `${name.toUpperCase()} of an expression`;
    throw new SemanticError(
      'MEASURE_MISUSED',
      `${what.charAt(0).toUpperCase()}${what.slice(1)} is not allowed at character ${location + 1}.`,
      'Write MEASURE(name) with the name of a measure.',
    );
  }
  const { qualifier, name: column } = argument;
  return { kind: 'aggregate', function: name, isDistinct, column: { qualifier, name: column }, location };
}
