/** A resolved statement in words, for people who look at how a query is answered: its parts, what each groups by, and what it joins. */
import type { DataModel } from '../model/data-model.ts';
import type { ResolvedQuery } from '../query/resolve-query.ts';
import { contains, partsOf, type ResolvedExpression } from '../query/resolved-expression.ts';
import type { PlainFrom, PlainSelect, ResolvedStatement } from '../query/resolved-statement.ts';

/** Lines, the inner parts indented by two spaces below what is made of them. */
export function describePlan(statement: ResolvedStatement, model: DataModel): readonly string[] {
  switch (statement.kind) {
    case 'block':
      return describeBlock(statement.query, model);
    case 'set':
      return [
        `${statement.operator.replace('-', ' ')} of`,
        ...statement.branches.flatMap((branch) => indented(describePlan(branch, model))),
        ...indented(ends(statement)),
      ];
    case 'plain':
      return describePlain(statement.select, model);
  }
}

const indented = (lines: readonly string[]): readonly string[] => lines.map((line) => `  ${line}`);

function describeBlock(query: ResolvedQuery, model: DataModel): readonly string[] {
  const { relation, groupBy, where, having, select, orderBy } = query;
  const outputs = [...select, ...orderBy].map(({ expression }) => expression);
  const measures = namesIn(having === null ? outputs : [...outputs, having], 'measure');
  const what = relation.type === 'joined' ? 'joined cubes' : `${relation.type} ${relation.name}`;
  return [
    groupBy === null ? `rows of ${what}, one by one` : `groups of ${what}`,
    ...indented([
      ...(groupBy === null ? [] : [groupBy.length === 0 ? 'all rows are one group' : `by ${listOf(groupBy)}`]),
      ...(measures.length === 0 ? [] : [`measures ${measures.join(', ')}`]),
      ...(where === null ? [] : [`rows are filtered by ${listOf([where])}`]),
      ...(having === null ? [] : ['groups are filtered by HAVING']),
      ...joinsOf(query, model),
      ...(query.fill ? ['units of time without rows are added'] : []),
      ...subqueriesIn([...outputs, ...[where, having].filter((it) => it !== null)], model),
      ...ends(query),
    ]),
  ];
}

/** From which cube to which the members lead, and whether a join repeats rows. */
function joinsOf({ taken, relation }: ResolvedQuery, model: DataModel): readonly string[] {
  const paths = [...taken.values()].map(({ path }) => path);
  if (paths.length === 0) paths.push([relation.rootCube]);
  const roots = [...new Set(paths.map(([root]) => root))];
  const steps = new Map<string, string>();
  for (const path of paths) {
    for (const [at, cube] of path.entries()) {
      const from = path[at - 1];
      if (from === undefined) continue;
      const relationship = model.cubes.get(from)?.joins.get(cube)?.relationship.replaceAll('_', ' ') ?? 'declared join';
      steps.set(path.slice(0, at + 1).join('.'), `${from} → ${cube} (${relationship})`);
    }
  }
  return [`from ${roots.join(' and ')}${steps.size === 0 ? '' : `, joined ${[...steps.values()].join(', ')}`}`];
}

function describePlain(select: PlainSelect, model: DataModel): readonly string[] {
  const { from, where, having, groupBy, isDistinct } = select;
  const outputs = [...select.select, ...select.orderBy].map(({ expression }) => expression);
  const hasWindows = outputs.some((expression) => contains(expression, 'window'));
  return [
    `${groupBy === null ? 'rows' : 'groups'} computed from the results of`,
    ...sourcesOf(from).flatMap((source) => indented(describePlan(source, model))),
    ...indented([
      ...(from.kind === 'join' ? [`put together by ${joinTypes(from).join(', ')} join`] : []),
      ...(where === null ? [] : ['filtered by WHERE']),
      ...(groupBy === null || groupBy.length === 0 ? [] : [`by ${groupBy.length} of their columns or expressions`]),
      ...(having === null ? [] : ['groups are filtered by HAVING']),
      ...(hasWindows ? ['with window functions'] : []),
      ...(isDistinct ? ['each row once'] : []),
      ...subqueriesIn([...outputs, ...[where, having].filter((it) => it !== null)], model),
      ...ends(select),
    ]),
  ];
}

const sourcesOf = (from: PlainFrom): readonly ResolvedStatement[] =>
  from.kind === 'source' ? [from.statement] : [...sourcesOf(from.left), ...sourcesOf(from.right)];

const joinTypes = (from: PlainFrom): readonly string[] =>
  from.kind === 'source' ? [] : [...joinTypes(from.left), from.type, ...joinTypes(from.right)];

function subqueriesIn(expressions: readonly ResolvedExpression[], model: DataModel): readonly string[] {
  return expressions.flatMap((expression): readonly string[] => {
    const inner = subqueriesIn(partsOf(expression), model);
    if (expression.kind !== 'subquery' && expression.kind !== 'in-subquery') return inner;
    return ['compared with the result of', ...indented(describePlan(expression.statement, model)), ...inner];
  });
}

function ends(of: {
  readonly orderBy: readonly unknown[];
  readonly limit: number | null;
  readonly offset: number | null;
}): readonly string[] {
  const words = [
    ...(of.orderBy.length === 0 ? [] : ['ordered']),
    ...(of.offset === null ? [] : [`without the first ${of.offset}`]),
    ...(of.limit === null ? [] : [`at most ${of.limit}`]),
  ];
  return words.length === 0 ? [] : [words.join(', ')];
}

/** The members in expressions, or what stands in their place. */
const listOf = (expressions: readonly ResolvedExpression[]): string =>
  namesIn(expressions, 'dimension').join(', ') || 'what reads no member';

function namesIn(expressions: readonly ResolvedExpression[], kind: 'dimension' | 'measure'): readonly string[] {
  const names = new Set<string>();
  const visit = (expression: ResolvedExpression): void => {
    if (expression.kind === kind) names.add(expression.member.name);
    for (const part of partsOf(expression)) visit(part);
  };
  for (const expression of expressions) visit(expression);
  return [...names];
}
