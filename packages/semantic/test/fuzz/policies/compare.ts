/** One question asked of a model with policies, and of the copy that its answer has to be equal to. */
import { compileParsed, compileSql } from '../../../src/compile-sql.ts';
import { rightsOf } from '../../../src/policy/rights.ts';
import type { Subject } from '../../../src/policy/subject.ts';
import { parseLoadQuery } from '../../../src/query/load-query.ts';
import { planLoad } from '../../../src/query/load-statement.ts';
import type { Statement } from '../../../src/query/statement.ts';
import { SemanticError } from '../../../src/semantic-error.ts';
import { parseSql } from '../../../src/sql/parse-sql.ts';
import type { TestEngine, Value } from '../../engines.ts';
import { type Case, cubeRows, isVisible, type ViewRows, viewRows } from './admission.ts';
import { copyOf, together } from './copy.ts';
import type { JsonQuestion } from './json-questions.ts';
import { type Block, blockText, namesIn, type Question, questionText, type Rendering } from './questions.ts';
import { type Place, placeOf, readsOf } from './world.ts';

/** How a run ended. `skipped`: the copy cannot be written for it. */
export type Outcome = 'answered' | 'empty' | 'masked' | 'refused' | 'skipped';

/** An answer, or why there is none. */
type Reply = { readonly rows: readonly string[] } | { readonly error: SemanticError };

const everybody: Subject = {
  groups: [],
  userAttributes: {},
  securityContext: {},
  embedTenantName: null,
  isEmbedTenantScope: false,
  seesUnprotected: true,
};
const now = new Date('2024-03-10T12:00:00Z');

/** What a name of a block means. */
function placeIn(it: Case, block: Block, name: string): Place | null {
  const [cube = '', member] = name.split('.');
  return member === undefined ? placeOf(it.world, block.from[0], name) : { cube, member };
}

/** The question as the user writes it. */
export function askedText(question: Question): string {
  const write = (block: Block): string =>
    blockText(block, { from: block.from.join(' CROSS JOIN '), star: '*', condition: null, name: (name) => name });
  return questionText(question.around, question.blocks.map(write));
}

/** The names that `*` means to the user. */
const starOf = (it: Case, block: Block): readonly string[] =>
  block.from.flatMap((relation) =>
    [...(it.model.relations.get(relation)?.members.values() ?? [])]
      .filter(({ member, name }) => member.kind === 'dimension' && isVisible(it, relation, name))
      .map(({ name }) => (block.from.length > 1 ? `${relation}.${name}` : name)),
  );

interface Copied {
  readonly text: string;
  /** The condition that stands for the view's own policy. */
  readonly condition: string | null;
  /** Whether masks of some joined rows are written into the text. */
  readonly isRewritten: boolean;
  readonly model: ReturnType<typeof copyOf>;
  readonly isMasked: boolean;
}

/** The copy of a block and the block's text over it; null: it cannot be written. */
function copied(it: Case, block: Block, prefix: string, isForRefusal: boolean): Copied | null {
  const names = new Set([...namesIn(block), ...(block.select === '*' ? starOf(it, block) : [])]);
  const places = [...names].flatMap((name) => placeIn(it, block, name) ?? []);
  const rows = new Map(cubeRows(it, places));
  const [relation] = block.from;
  const view: ViewRows = viewRows(it, relation, names);
  const partly = new Map<string, string>();
  // What no row shows is masked in the cube; what some joined rows show is written into the question.
  for (const [name, shown] of view.masked) {
    const place = placeOf(it.world, relation, name);
    if (place === null) continue;
    if (shown === null) {
      const left = rows.get(place.cube);
      const ids = it.world.cubes.find((cube) => cube.name === place.cube)?.rows.map(({ id }) => id) ?? [];
      if (left !== undefined) rows.set(place.cube, { ...left, masked: new Map([...left.masked, [place.member, ids]]) });
    } else {
      const isRead = [...names].some((other) => {
        const from = placeIn(it, block, other);
        return (
          from !== null &&
          readsOf(it.world, from).some((read) => read.cube === place.cube && read.member === place.member)
        );
      });
      if (isRead || place.member === 't') return null;
      partly.set(name, shown);
    }
  }
  for (const name of view.maskedMeasures) {
    const place = placeOf(it.world, relation, name);
    const left = place === null ? undefined : rows.get(place.cube);
    if (place !== null && left !== undefined)
      rows.set(place.cube, { ...left, maskedMeasures: new Set([...left.maskedMeasures, place.member]) });
  }
  // The copy joins what a masked member would read; rows by themselves are repeated by that, and groups are not.
  const isRepeated = [...names].some((other) => {
    const from = placeIn(it, block, other);
    return from?.member === 'far' && rows.get(from.cube)?.masked.has('far') === true;
  });
  if (isRepeated && !/MEASURE|GROUP BY/.test(`${String(block.select)} ${block.tail}`)) return null;
  // The filters of the question reach into `narrow`, and those of a view do not; here these would be the question's.
  const isNarrow = [...names].some((other) => placeIn(it, block, other)?.member === 'narrow');
  if (isNarrow && (view.condition !== null || partly.size > 0)) return null;
  const extras = isForRefusal ? { real: [], masks: [] } : { real: view.real, masks: [...partly.keys()] };
  const model = copyOf({
    model: it.model,
    world: it.world,
    prefix,
    rows,
    isVisible: (of, name) => isVisible(it, of, name),
    extras: { relation, ...extras },
  });
  const name = (asked: string): string => {
    const shown = isForRefusal ? undefined : partly.get(asked);
    return shown === undefined ? asked : `(CASE WHEN ${shown} THEN ${asked} ELSE mask_${asked} END)`;
  };
  const [first, ...others] = block.from.map((cube) => (prefix === '' ? cube : `${prefix}${cube} AS ${cube}`));
  const rendering: Rendering = {
    from: [first ?? '', ...others].join(' CROSS JOIN '),
    star: isForRefusal ? '*' : starOf(it, block).map(name).join(', ') || '*',
    condition: isForRefusal ? null : view.condition,
    name,
  };
  const isMasked =
    view.masked.size > 0 ||
    [...rows.values()].some(({ masked, maskedMeasures }) => masked.size + maskedMeasures.size > 0);
  return {
    text: blockText(block, rendering),
    condition: rendering.condition,
    isRewritten: partly.size > 0,
    model,
    isMasked,
  };
}

/** Rows as texts, in the order of the texts; doubles without their last digits. */
const lines = (rows: readonly (readonly Value[])[]): readonly string[] =>
  rows
    .map((row) => JSON.stringify(row.map((cell) => (typeof cell === 'number' ? Number(cell.toPrecision(12)) : cell))))
    .sort();

async function reply(engine: TestEngine, sql: string, model: Case['model'], subject: Subject): Promise<Reply> {
  try {
    const compiled = compileSql(sql, model, subject, engine.dialect, { now });
    return { rows: lines(await engine.run(compiled.sql, compiled.parameters)) };
  } catch (error) {
    if (error instanceof SemanticError) return { error };
    throw new Error(`${sql}\n${String(error)}`, { cause: error });
  }
}

/** The same for the JSON form. @param condition SQL of a further condition on rows */
async function jsonReply(
  engine: TestEngine,
  json: object,
  model: Case['model'],
  subject: Subject,
  condition: { readonly from: string; readonly sql: string | null },
): Promise<Reply> {
  try {
    const rights = rightsOf(model, subject);
    const [query] = parseLoadQuery(json, { now });
    if (query === undefined) throw new Error('no query');
    const { statement } = planLoad(query, model, rights);
    const compiled = compileParsed(restricted(statement, condition), model, subject, engine.dialect, { now, rights });
    return { rows: lines(await engine.run(compiled.sql, compiled.parameters)) };
  } catch (error) {
    if (error instanceof SemanticError) return { error };
    throw new Error(`${JSON.stringify(json)}\n${String(error)}`, { cause: error });
  }
}

/** A statement with a condition beside its own. */
function restricted(
  statement: Statement,
  { from, sql }: { readonly from: string; readonly sql: string | null },
): Statement {
  const { body } = statement;
  if (sql === null || body.kind !== 'select') return statement;
  const parsed = parseSql(`SELECT 1 FROM ${from} WHERE ${sql}`).body;
  const added = parsed.kind === 'select' ? parsed.where : null;
  if (added === null) throw new Error(`no condition: ${sql}`);
  const where = body.where === null ? added : ({ kind: 'and', operands: [body.where, added], location: 0 } as const);
  return { ...statement, body: { ...body, where } };
}

/** A difference between an answer and that of the copy. */
export class Difference extends Error {}

/** What two replies come to. `told`: what was asked, for messages. */
function verdict(
  got: Reply,
  wanted: Reply,
  it: { readonly asked: string; readonly copy: string; readonly isMasked: boolean; readonly areTextsAlike: boolean },
  subject: Subject,
): Outcome {
  const fail = (what: string) => {
    const of = (one: Reply) =>
      'error' in one ? `${one.error.code}: ${one.error.message} ${one.error.hint}` : one.rows.join(' ');
    return new Difference(
      `${what}\nasked: ${it.asked}\ngave: ${of(got)}\ncopy: ${it.copy}\ngave: ${of(wanted)}\nas ${JSON.stringify(subject)}`,
    );
  };
  if ('error' in got) {
    // A policy that reads what the question cannot reach: the copy without its condition may do.
    if (got.error.code === 'QUERY_NOT_PLANNABLE') return 'refused';
    if (!('error' in wanted)) throw fail('only the model refuses');
    const told = ({ error }: { readonly error: SemanticError }) =>
      it.areTextsAlike ? `${error.code} ${error.message} ${error.hint}` : error.code;
    if (told(got) !== told(wanted)) throw fail('refused for another reason');
    return 'refused';
  }
  if ('error' in wanted) {
    // The copy computes a masked member to show its mask; the library need not, so that what it would need may be missing.
    if ((it.isMasked || /made|narrow|far/.test(it.asked)) && wanted.error.code === 'QUERY_NOT_PLANNABLE')
      return 'skipped';
    throw fail('only the copy refuses');
  }
  if (got.rows.join('\n') !== wanted.rows.join('\n')) throw fail('other rows');
  if (got.rows.length === 0) return 'empty';
  return it.isMasked ? 'masked' : 'answered';
}

/**
 * Asks a question of the model and of its copy.
 * @throws Difference when the answers, or the reasons why there are none, are not equal
 */
export async function compare(engine: TestEngine, it: Case, question: Question): Promise<Outcome> {
  const asked = askedText(question);
  const got = await reply(engine, asked, it.model, it.subject);
  const areTextsAlike = question.blocks.length === 1;
  const copies = question.blocks.map((block, at) => copied(it, block, areTextsAlike ? '' : `q${at}_`, 'error' in got));
  const made = copies.flatMap((copy) => copy ?? []);
  if (made.length < copies.length) return 'skipped';
  const texts = made.map((copy) => copy.text);
  const copy = questionText(question.around, texts);
  const wanted = await reply(engine, copy, together(made.map(({ model }) => model)), everybody);
  const isMasked = made.some((one) => one.isMasked);
  return verdict(got, wanted, { asked, copy, isMasked, areTextsAlike }, it.subject);
}

/** The same for a question in JSON. */
export async function compareJson(engine: TestEngine, it: Case, { json, block }: JsonQuestion): Promise<Outcome> {
  const [from] = block.from;
  const got = await jsonReply(engine, json, it.model, it.subject, { from, sql: null });
  const copy = copied(it, block, '', 'error' in got);
  if (copy === null || copy.isRewritten) return 'skipped';
  const wanted = await jsonReply(engine, json, copy.model, everybody, { from, sql: copy.condition });
  const asked = JSON.stringify(json);
  const told = { asked, copy: `${asked} ${copy.condition ?? ''}`, isMasked: copy.isMasked, areTextsAlike: true };
  return verdict(got, wanted, told, it.subject);
}
