/**
 * The property that stands over all, on random worlds: an answer is that of the same question over a copy made for it.
 * `node packages/semantic/test/fuzz/policies/run.ts [--runs 200000] [--seed 1] [--engine duckdb]`
 */
import { parseArgs } from 'node:util';
import { createCompiler } from '../../../src/compiler.ts';
import { rightsOf } from '../../../src/policy/rights.ts';
import { createTable, engineNames, openEngine, type TestEngine } from '../../engines.ts';
import { loadModel } from '../../load-model.ts';
import { randomFrom } from '../random.ts';
import { accessTo, isVisible } from './admission.ts';
import { type Asked, compare, compareJson, Difference, type Outcome } from './compare.ts';
import { randomJson } from './json-questions.ts';
import { type Choice, randomQuestion } from './questions.ts';
import { randomModelTexts, randomSubject } from './rules.ts';
import { columnsOf, noteOf, placeOf, randomWorld, readsOf, type World } from './world.ts';

/** How many runs ended in each way. */
export type Outcomes = Record<Outcome, number>;

/** Policies per world, users per policies, questions per user. */
const sets = 3;
const users = 2;
const questions = 8;
/** Runs per seed. */
export const runsPerSeed = sets * users * questions;

/** The members that a question may name: mostly those that the user sees. */
function choicesFor(it: Asked, isOpen: boolean): (relation: string) => readonly Choice[] {
  const known = new Map<string, readonly Choice[]>();
  return (relation) => {
    const before = known.get(relation);
    if (before !== undefined) return before;
    const members = [...(it.model.relations.get(relation)?.members.values() ?? [])]
      .filter(({ name }) => isOpen || isVisible(it, relation, name))
      .flatMap(({ name }) => {
        const place = placeOf(it.world, relation, name);
        const note = place === null ? undefined : noteOf(it.world, place);
        return place === null || note === undefined ? [] : [{ name, place, note }];
      });
    // What reads other members is asked for more often: there policies meet.
    const often = members.flatMap((member) => {
      const isReaching = readsOf(it.world, member.place).some(({ cube }) => cube !== member.place.cube);
      return isReaching ? [member, member, member] : [member];
    });
    const choices = often.map(({ name, place, note: { type, kind, use } }) => {
      const beside = (member: string) =>
        members.find((other) => other.place.member === member && other.place.path.join() === place.path.join())?.name;
      return { name, type, kind, use, time: beside('t') ?? null, choice: beside('choice') ?? null };
    });
    known.set(relation, choices);
    return choices;
  };
}

/** @throws Difference when the library shows a member that the rules hide, hides one that they show, or tells otherwise of its mask */
function checkVisible(it: Asked): void {
  const rights = rightsOf(it.model, it.subject);
  for (const relation of it.model.relations.values()) {
    const shown = rights.visible(relation);
    const wrong = [...relation.members.keys()].filter(
      (name) => (shown.get(name)?.access ?? 'not') !== accessTo(it, relation.name, name),
    );
    if (wrong.length > 0)
      throw new Difference(`other members of ${relation.name}: ${wrong.join(' ')} as ${JSON.stringify(it.subject)}`);
  }
}

async function createTables(engine: TestEngine, world: World): Promise<void> {
  const columns = columnsOf(world);
  for (const { table, rows } of world.cubes.filter(({ base }) => base === null)) {
    const values = rows.map((row) => Object.keys(columns).map((column) => row[column] ?? null));
    await engine.exec(`DROP TABLE IF EXISTS ${table}`);
    await createTable(engine, table, columns, values);
  }
}

/**
 * Runs everything of one seed.
 * @throws Error with the model and the question when an answer differs
 */
export async function runSeed(engine: TestEngine, seed: number, outcomes: Outcomes): Promise<void> {
  const random = randomFrom(seed);
  const world = randomWorld(random, 'w_');
  await createTables(engine, world);
  for (let set = 0; set < sets; set += 1) {
    const { text, full } = randomModelTexts(world, random);
    const model = loadModel(text);
    const compiler = createCompiler(model, engine.dialect);
    const made = { world, model, full: text === full ? model : loadModel(full), compiler };
    const next = (): Asked => ({ ...made, subject: randomSubject(random), other: randomSubject(random) });
    for (let user = 0; user < users; user += 1) {
      let it: Asked = next();
      let seen = choicesFor(it, false);
      // Who sees nothing is refused everything: a few of these are enough.
      for (let tries = 0; tries < 4 && world.views.every(({ name }) => seen(name).length === 0); tries += 1) {
        it = next();
        seen = choicesFor(it, false);
      }
      const open = choicesFor(it, true);
      for (let at = 0; at < questions; at += 1) {
        const membersOf = random.below(12) === 0 ? open : seen;
        const json = at % 4 === 3 ? randomJson(world, random, membersOf) : null;
        try {
          if (at === 0) checkVisible(it);
          const question = json ?? randomQuestion(world, random, membersOf);
          const asked = at % 3 === 0 ? it : { ...it, other: null };
          const isJson = 'json' in question;
          const outcome = isJson ? await compareJson(engine, asked, question) : await compare(engine, asked, question);
          outcomes[outcome] += 1;
        } catch (error) {
          const rows = world.cubes.map(({ name, rows: of }) => `${name}: ${JSON.stringify(of)}`).join('\n');
          const what = error instanceof Difference ? error.message : String(error);
          const where = `seed ${seed} on ${engine.name}, policies ${set}, user ${user}, question ${at}`;
          throw new Error(`${where}: ${what}\n${text}\n${rows}`, { cause: error });
        }
      }
    }
  }
}

/** No runs yet. */
export const noOutcomes = (): Outcomes => ({ answered: 0, empty: 0, masked: 0, refused: 0, skipped: 0 });

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      runs: { type: 'string', default: '200000' },
      seed: { type: 'string', default: '1' },
      engine: { type: 'string', default: 'duckdb' },
    },
  });
  const name = engineNames.find((it) => it === values.engine);
  if (name === undefined) throw new Error(`no engine ${values.engine}`);
  const engine = await openEngine(name);
  const outcomes = noOutcomes();
  const first = Number(values.seed);
  const seeds = Math.ceil(Number(values.runs) / runsPerSeed);
  const started = performance.now();
  for (let at = 0; at < seeds; at += 1) {
    await runSeed(engine, first + at, outcomes);
    if (at % 100 === 99 || at === seeds - 1) {
      const seconds = ((performance.now() - started) / 1000).toFixed(0);
      process.stdout.write(
        `${(at + 1) * runsPerSeed} runs in ${seconds} s, next seed ${first + at + 1}: ${JSON.stringify(outcomes)}\n`,
      );
    }
  }
  await engine.close();
}
