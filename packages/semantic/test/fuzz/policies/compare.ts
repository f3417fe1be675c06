/** One question asked of a model with policies, and of the copy that its answer has to be equal to. */
import { compileSql } from '../../../src/compile-sql.ts';
import type { Subject } from '../../../src/policy/subject.ts';
import { SemanticError } from '../../../src/semantic-error.ts';
import type { TestEngine, Value } from '../../engines.ts';
import { type Case, cubeRows, isVisible, type ViewRows, viewRows } from './admission.ts';
import { copyOf, together } from './copy.ts';
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

/** The relation that a name of a block belongs to, and its name there. */
const homeOf = (block: Block, name: string): readonly [relation: string, name: string] => {
  const [cube = '', member] = name.split('.');
  return member === undefined ? [block.from[0], name] : [cube, member];
};

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
      .filter(({ member, name }) => member.kind !== 'measure' && isVisible(it, relation, name))
      .map(({ name }) => (block.from.length > 1 ? `${relation}.${name}` : name)),
  );

interface Copied {
  readonly text: string;
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
      if (left !== undefined)
        rows.set(place.cube, { ...left, masked: new Map([...left.masked, [place.member, ids]]) });
    } else {
      const isRead = [...names].some((other) => {
        const from = placeIn(it, block, other);
        return from !== null && readsOf(it.world, from).some((read) => read.cube === place.cube && read.member === place.member);
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
  const isMasked = view.masked.size > 0 || [...rows.values()].some(({ masked, maskedMeasures }) => masked.size + maskedMeasures.size > 0);
  return { text: blockText(block, rendering), model, isMasked };
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

/** A difference between an answer and that of the copy. */
export class Difference extends Error {}

/**
 * Asks a question in both ways.
 * @throws Difference when the answers, or the reasons why there are none, are not equal
 */
export async function compare(engine: TestEngine, it: Case, question: Question): Promise<Outcome> {
  const asked = askedText(question);
  const got = await reply(engine, asked, it.model, it.subject);
  const prefixes = question.blocks.map((_, at) => (question.blocks.length === 1 ? '' : `q${at}_`));
  const copies = question.blocks.map((block, at) => copied(it, block, prefixes[at] ?? '', 'error' in got));
  const made = copies.flatMap((copy) => copy ?? []);
  if (made.length < copies.length) return 'skipped';
  const text = questionText(question.around, made.map((copy) => copy.text));
  const wanted = await reply(engine, text, together(made.map(({ model }) => model)), everybody);
  const fail = (what: string) => {
    const of = (one: Reply) => ('error' in one ? `${one.error.code}: ${one.error.message} ${one.error.hint}` : one.rows.join(' '));
    return new Difference(
      `${what}\nasked: ${asked}\ngave: ${of(got)}\ncopy: ${text}\ngave: ${of(wanted)}\nas ${JSON.stringify(it.subject)}`,
    );
  };
  if ('error' in got) {
    // A policy that reads what the question cannot reach: the copy without its condition may do.
    if (got.error.code === 'QUERY_NOT_PLANNABLE') return 'refused';
    if (!('error' in wanted)) throw fail('only the model refuses');
    const told = ({ error }: { readonly error: SemanticError }) =>
      question.blocks.length === 1 ? `${error.code} ${error.message} ${error.hint}` : error.code;
    if (told(got) !== told(wanted)) throw fail('refused for another reason');
    return 'refused';
  }
  if ('error' in wanted) throw fail('only the copy refuses');
  if (got.rows.join('\n') !== wanted.rows.join('\n')) throw fail('other rows');
  if (got.rows.length === 0) return 'empty';
  return made.some((copy) => copy.isMasked) ? 'masked' : 'answered';
}
