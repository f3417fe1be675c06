/** Function calls: scalar functions, aggregates, window functions, dates. */
import type { FuncCall, Node, WindowDef } from 'libpg-query';
import {
  type AggregateFunction,
  aggregateFunctions,
  type DatePart,
  dateParts,
  type NamedExpression,
  type ScalarFunction,
  type SortItem,
  scalarFunctions,
} from '../query/semantic-query.ts';
import { type Frame, type WindowFunction, windowFunctions } from '../query/window.ts';
import type { Reader } from './parse-expression.ts';
import { wholeNumber } from './parse-literal.ts';
import { asNode, identifier, only, refuse } from './refusal.ts';

type Parse = (node: Node | undefined) => NamedExpression;

const isScalarFunction = (name: string): name is ScalarFunction => Object.hasOwn(scalarFunctions, name);
const isAggregate = (name: string): name is AggregateFunction => aggregateFunctions.some((it) => it === name);
const isWindowFunction = (name: string): name is WindowFunction => Object.hasOwn(windowFunctions, name);
const isDatePart = (name: string): name is DatePart => dateParts.some((it) => it === name);

/** Other names that PostgreSQL has for our functions. */
const otherNames: Readonly<Record<string, string>> = {
  btrim: 'trim',
  char_length: 'length',
  character_length: 'length',
  substr: 'substring',
  ceiling: 'ceil',
  pow: 'power',
};
/** What PostgreSQL's grammar makes of a syntax of its own: EXTRACT (… FROM …), POSITION (… IN …). */
const syntaxNames: Readonly<Record<string, string>> = {
  'pg_catalog.extract': 'date_part',
  'pg_catalog.position': 'strpos',
  'pg_catalog.substring': 'substring',
  'pg_catalog.btrim': 'trim',
  'pg_catalog.ltrim': 'ltrim',
  'pg_catalog.rtrim': 'rtrim',
};
const own = (names: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.hasOwn(names, name) ? names[name] : undefined;

/** Reads a function call. @throws SemanticError SQL_NOT_SUPPORTED */
export function readCall(call: FuncCall, reader: Reader, parse: Parse): NamedExpression {
  const { location = 0, args = [] } = call;
  const written = (call.funcname ?? []).map(identifier).join('.');
  const isSyntax = call.funcformat === 'COERCE_SQL_SYNTAX';
  if (isSyntax && written === 'pg_catalog.timezone') {
    refuse('AT TIME ZONE', location, 'A query has one time zone, which is given beside it.');
  }
  const name = (isSyntax ? own(syntaxNames, written) : (own(otherNames, written) ?? written)) ?? written;
  const shown = `the function ${name.slice(0, 60)}`;
  only(
    call,
    shown,
    ['funcname', 'args', 'agg_star', 'agg_distinct', 'agg_filter', 'over', 'funcformat', 'location'],
    location,
  );
  if (call.over !== undefined) return readWindow(name, call, call.over, reader, parse);
  if (isAggregate(name)) return readAggregate(name, call, parse);
  if (isWindowFunction(name)) refuse(`${name} without OVER`, location);
  if (call.agg_distinct === true || call.agg_star === true || call.agg_filter !== undefined) {
    refuse(`${name.slice(0, 60)} like this`, location);
  }
  switch (name) {
    case 'now':
      if (args.length > 0) refuse('now with arguments', location);
      return { kind: 'now', isDate: false, location };
    case 'date':
      if (args.length !== 1) refuse(`date with ${args.length} arguments`, location);
      return { kind: 'cast', operand: parse(args[0]), type: 'date', places: null, location };
    case 'date_trunc':
    case 'date_part': {
      const [unit, operand, zone] = args.map(parse);
      if (unit?.kind !== 'literal' || typeof unit.value !== 'string' || operand === undefined || zone !== undefined) {
        return refuse(`${name} like this`, location, `Write ${name}('month', member).`);
      }
      // What a time dimension may be cut to is known when its name is resolved: the model declares units of its own.
      if (name === 'date_trunc') return { kind: 'date-trunc', granularity: unit.value, operand, location };
      const part = unit.value.toLowerCase();
      if (!isDatePart(part)) {
        return refuse(`the date part "${part.slice(0, 40)}"`, location, `Known: ${dateParts.join(', ')}.`);
      }
      return { kind: 'date-part', part, operand, location };
    }
  }
  if (!isScalarFunction(name)) return refuse(shown, location);
  const [min, max] = scalarFunctions[name];
  if (args.length < min || args.length > max) refuse(`${name} with ${args.length} arguments`, location);
  return { kind: 'call', name, args: args.map(parse), location };
}

function readAggregate(name: AggregateFunction, call: FuncCall, parse: Parse): NamedExpression {
  const { location = 0, args = [] } = call;
  const isDistinct = call.agg_distinct === true;
  const filter = call.agg_filter === undefined ? null : parse(call.agg_filter);
  const isStar = call.agg_star === true;
  if (isStar && name !== 'count') refuse(`${name}(*)`, location);
  if (!isStar && args.length !== 1) refuse(`${name} with ${args.length} arguments`, location);
  const argument = isStar ? null : parse(args[0]);
  return { kind: 'aggregate', function: name, isDistinct, argument, filter, location };
}

function readWindow(name: string, call: FuncCall, over: WindowDef, reader: Reader, parse: Parse): NamedExpression {
  const { location = 0 } = call;
  if (!isWindowFunction(name)) {
    return refuse(
      `${name.slice(0, 60)} as a window function`,
      location,
      `Known: ${Object.keys(windowFunctions).join(', ')}.`,
    );
  }
  if (call.agg_distinct === true) refuse('DISTINCT in a window function', location);
  const isAggregated = isAggregate(name);
  if (call.agg_star === true && name !== 'count') refuse(`${name}(*)`, location);
  let args = (call.args ?? []).map(parse);
  const [min, max] = windowFunctions[name];
  if (args.length < min || args.length > max) refuse(`${name} with ${args.length} arguments`, location);
  if (call.agg_filter !== undefined) {
    if (!isAggregated) refuse(`FILTER beside ${name}`, location);
    const counted: NamedExpression = args[0] ?? { kind: 'number', text: '1', location };
    args = [{ kind: 'case', branches: [{ when: parse(call.agg_filter), result: counted }], otherwise: null, location }];
  }
  for (const count of name === 'ntile' ? args.slice(0, 1) : name === 'lag' || name === 'lead' ? args.slice(1, 2) : []) {
    if (count.kind !== 'number' || !/^\d{1,6}$/.test(count.text) || (name === 'ntile' && Number(count.text) === 0)) {
      refuse(`${name} with anything but a whole number`, location);
    }
  }
  const window = over.name === undefined ? over : reader.windows.get(over.name);
  if (window === undefined) return refuse(`a window ${over.name?.slice(0, 60)} that WINDOW does not name`, location);
  only(
    window,
    'a window',
    ['name', 'partitionClause', 'orderClause', 'frameOptions', 'startOffset', 'endOffset', 'location'],
    location,
  );
  const orderBy = (window.orderClause ?? []).map((it) => readSort(it, parse));
  const hasFrame = isAggregated || name === 'first_value' || name === 'last_value';
  const frame = readFrame(window, location);
  if (name === 'last_value' && frame === null) {
    refuse(
      'last_value without a frame',
      location,
      'Unless told otherwise it sees no row behind the current one. Write ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING.',
    );
  }
  return {
    kind: 'window',
    function: name,
    args,
    partitionBy: (window.partitionClause ?? []).map(parse),
    orderBy,
    frame: hasFrame ? frame : null,
    location,
  };
}

/** Reads an item of ORDER BY. @throws SemanticError SQL_NOT_SUPPORTED */
export function readSort(node: Node, parse: Parse): SortItem {
  if (!('SortBy' in node)) return refuse(Object.keys(node)[0] ?? 'this', 0);
  const sort = node.SortBy;
  only(sort, 'ORDER BY', ['node', 'sortby_dir', 'sortby_nulls', 'location']);
  if (sort.sortby_dir === 'SORTBY_USING') refuse('ORDER BY … USING', 0);
  const isDescending = sort.sortby_dir === 'SORTBY_DESC';
  // PostgreSQL's default: nulls are larger than any value. It is written out, since engines differ.
  const nullsFirst =
    sort.sortby_nulls === 'SORTBY_NULLS_FIRST' || (isDescending && sort.sortby_nulls !== 'SORTBY_NULLS_LAST');
  return { expression: parse(asNode(sort.node)), isDescending, nullsFirst };
}

/** The bits of `frameOptions`, as PostgreSQL's parsenodes.h has them. */
const frameBits = {
  range: 0x2,
  rows: 0x4,
  fromUnboundedPreceding: 0x20,
  toUnboundedFollowing: 0x100,
  fromCurrent: 0x200,
  toCurrent: 0x400,
  fromPreceding: 0x800,
  toPreceding: 0x1000,
  fromFollowing: 0x2000,
  toFollowing: 0x4000,
} as const;
/** With and without the bits that say that it was written at all, and with BETWEEN. */
const defaultFrame = frameBits.range | frameBits.fromUnboundedPreceding | frameBits.toCurrent;
const wholePartition = frameBits.range | frameBits.fromUnboundedPreceding | frameBits.toUnboundedFollowing;
const frameRowsMax = 1_000_000;

function readFrame(window: WindowDef, location: number): Frame | null {
  const options = (window.frameOptions ?? defaultFrame) & ~0x11;
  if (options === defaultFrame) return null;
  if (options === wholePartition) return { from: null, to: null };
  const has = (bit: number): boolean => (options & bit) !== 0;
  if (!has(frameBits.rows)) refuse('a frame other than ROWS', location);
  if (options >= 0x8000) refuse('EXCLUDE in a frame', location);
  const rows = (node: Node | undefined): number => {
    const count = wholeNumber(node);
    if (count === null || count < 0 || count > frameRowsMax) {
      return refuse(`a frame with anything but a whole number up to ${frameRowsMax}`, location);
    }
    return count;
  };
  const from = has(frameBits.fromUnboundedPreceding)
    ? null
    : has(frameBits.fromPreceding)
      ? -rows(window.startOffset)
      : has(frameBits.fromFollowing)
        ? rows(window.startOffset)
        : 0;
  const to = has(frameBits.toUnboundedFollowing)
    ? null
    : has(frameBits.toPreceding)
      ? -rows(window.endOffset)
      : has(frameBits.toFollowing)
        ? rows(window.endOffset)
        : 0;
  if (from !== null && to !== null && from > to) refuse('a frame that ends before it begins', location);
  // -0 is a row, too.
  return { from: from === null ? null : from + 0, to: to === null ? null : to + 0 };
}
