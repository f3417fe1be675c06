/** One question asked of a model with policies, and of the copy that its answer has to be equal to. */
import { type CompiledQuery, compileParsed, compileSql } from '../../../src/compile-sql.ts';
import type { Compiler } from '../../../src/compiler.ts';
import type { DataModel } from '../../../src/model/data-model.ts';
import { type Rights, rightsOf } from '../../../src/policy/rights.ts';
import type { Subject } from '../../../src/policy/subject.ts';
import { parseLoadQuery } from '../../../src/query/load-query.ts';
import { planLoad } from '../../../src/query/load-statement.ts';
import type { Statement } from '../../../src/query/statement.ts';
import { SemanticError } from '../../../src/semantic-error.ts';
import { parseSql } from '../../../src/sql/parse-sql.ts';
import type { TestEngine, Value } from '../../engines.ts';
import type { Case } from './admission.ts';
import { copied } from './block-copy.ts';
import { together } from './copy.ts';
import type { JsonQuestion } from './json-questions.ts';
import { type Block, blockText, type Question, questionText } from './questions.ts';

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

/** The question as the user writes it. */
export function askedText(question: Question): string {
  const write = (block: Block): string =>
    blockText(block, { from: block.from.join(' CROSS JOIN '), star: '*', condition: null, name: (name) => name });
  return questionText(question.around, question.blocks.map(write));
}

/** A case as it is asked. */
export interface Asked extends Case {
  /** One for all users of the model, so that what is kept of one is there when another asks. */
  readonly compiler: Compiler;
  /** Somebody else, who asks the same thereafter; null: nobody does. */
  readonly other: Subject | null;
}

/** Rows as texts, in the order of the texts; doubles without their last digits. */
const lines = (rows: readonly (readonly Value[])[]): readonly string[] =>
  rows
    .map((row) => JSON.stringify(row.map((cell) => (typeof cell === 'number' ? Number(cell.toPrecision(12)) : cell))))
    .sort();

/** Runs what is compiled. @param asked for messages */
async function reply(engine: TestEngine, asked: string, compile: () => readonly CompiledQuery[]): Promise<Reply> {
  try {
    const rows: string[] = [];
    for (const compiled of compile()) rows.push(...lines(await engine.run(compiled.sql, compiled.parameters)));
    return { rows };
  } catch (error) {
    if (error instanceof SemanticError) return { error };
    throw new Error(`${asked}\n${String(error)}`, { cause: error });
  }
}

/** The statements of a JSON query: one, or one for each range that it compares. @param condition SQL of a further one on rows */
function statementsOf(
  json: object,
  rights: Rights,
  model: DataModel,
  condition: { readonly from: string; readonly sql: string | null },
): readonly { readonly statement: Statement; readonly timezone: string }[] {
  return parseLoadQuery(json, { now }).map((query) => {
    const { statement } = planLoad(query, model, rights);
    return { statement: restricted(statement, condition), timezone: query.timezone };
  });
}

/** What another user, or none, is told, as one text. */
function outcomeOf(compile: () => readonly CompiledQuery[]): string {
  try {
    return JSON.stringify(compile().map(({ sql, parameters, columns }) => [sql, parameters.map(String), columns]));
  } catch (error) {
    if (error instanceof SemanticError) return `${error.code} ${error.message} ${error.hint}`;
    throw error;
  }
}

/** @throws Difference when a compiler that has compiled for others compiles otherwise than one that has not */
function checkPlans(
  { other, compiler }: Asked,
  asked: string,
  compile: (subject: Subject, compiler: Compiler | null) => readonly CompiledQuery[],
): void {
  if (other === null) return;
  const [kept, anew] = [outcomeOf(() => compile(other, compiler)), outcomeOf(() => compile(other, null))];
  if (kept === anew) return;
  throw new Difference(
    `a kept plan differs\nasked: ${asked}\nkept: ${kept}\nanew: ${anew}\nas ${JSON.stringify(other)}`,
  );
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
    if ((it.isMasked || /made|narrow|far|deep|beyond/.test(it.asked)) && wanted.error.code === 'QUERY_NOT_PLANNABLE')
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
export async function compare(engine: TestEngine, it: Asked, question: Question): Promise<Outcome> {
  const asked = askedText(question);
  const options = { now, timezone: question.timezone };
  const compiled = (subject: Subject, compiler: Compiler | null) => [
    compiler === null
      ? compileSql(asked, it.model, subject, engine.dialect, options)
      : compiler.compile(asked, subject, options),
  ];
  const got = await reply(engine, asked, () => compiled(it.subject, it.compiler));
  checkPlans(it, asked, compiled);
  const areTextsAlike = question.blocks.length === 1;
  const copies = question.blocks.map((block, at) => copied(it, block, areTextsAlike ? '' : `q${at}_`, 'error' in got));
  const made = copies.flatMap((copy) => copy ?? []);
  if (made.length < copies.length) return 'skipped';
  const texts = made.map((copy) => copy.text);
  const copy = questionText(question.around, texts);
  const model = together(made.map((one) => one.model));
  const wanted = await reply(engine, copy, () => [compileSql(copy, model, everybody, engine.dialect, options)]);
  const isMasked = made.some((one) => one.isMasked);
  return verdict(got, wanted, { asked: `${asked} in ${question.timezone}`, copy, isMasked, areTextsAlike }, it.subject);
}

/** The same for a question in JSON. */
export async function compareJson(engine: TestEngine, it: Asked, { json, block }: JsonQuestion): Promise<Outcome> {
  const [from] = block.from;
  const asked = JSON.stringify(json);
  const compiled = (model: DataModel, subject: Subject, sql: string | null, compiler: Compiler | null) => {
    const rights = rightsOf(model, subject);
    return statementsOf(json, rights, model, { from, sql }).map(({ statement, timezone }) =>
      compiler === null
        ? compileParsed(statement, model, subject, engine.dialect, { now, rights, timezone })
        : compiler.compileParsed(statement, subject, { now, rights, timezone }),
    );
  };
  const got = await reply(engine, asked, () => compiled(it.model, it.subject, null, it.compiler));
  checkPlans(it, asked, (subject, compiler) => compiled(it.model, subject, null, compiler));
  const copy = copied(it, block, '', 'error' in got);
  if (copy === null || copy.isRewritten) return 'skipped';
  const wanted = await reply(engine, asked, () => compiled(copy.model, everybody, copy.condition, null));
  const told = { asked, copy: `${asked} ${copy.condition ?? ''}`, isMasked: copy.isMasked, areTextsAlike: true };
  return verdict(got, wanted, told, it.subject);
}
