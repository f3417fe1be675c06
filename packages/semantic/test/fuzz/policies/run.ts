/**
 * The property that stands over all, on random worlds: an answer is that of the same question over a copy made for it.
 * `node packages/semantic/test/fuzz/policies/run.ts [--runs 200000] [--seed 1] [--engine duckdb]`
 */
import { parseArgs } from 'node:util';
import { createTable, engineNames, openEngine, type TestEngine } from '../../engines.ts';
import { loadModel } from '../../load-model.ts';
import { randomFrom } from '../random.ts';
import { type Case, isVisible } from './admission.ts';
import { compare, compareJson, Difference, type Outcome } from './compare.ts';
import { randomJson } from './json-questions.ts';
import { type Choice, randomQuestion } from './questions.ts';
import { randomModelText, randomSubject } from './rules.ts';
import { columnsOf, randomWorld, type World } from './world.ts';

/** How many runs ended in each way. */
export type Outcomes = Record<Outcome, number>;

/** Policies per world, users per policies, questions per user. */
const sets = 3;
const users = 2;
const questions = 8;
/** Runs per seed. */
export const runsPerSeed = sets * users * questions;

/** The members that a question may name: mostly those that the user sees. */
function choicesFor(it: Case, isOpen: boolean): (relation: string) => readonly Choice[] {
  const known = new Map<string, readonly Choice[]>();
  return (relation) => {
    const before = known.get(relation);
    if (before !== undefined) return before;
    const all = [...(it.model.relations.get(relation)?.members.values() ?? [])];
    const choices = all
      .filter(({ name }) => isOpen || isVisible(it, relation, name))
      .map(({ name, member }) => ({ name, type: member.type, kind: member.kind }));
    known.set(relation, choices);
    return choices;
  };
}

async function createTables(engine: TestEngine, world: World): Promise<void> {
  const columns = columnsOf(world);
  for (const { table, rows } of world.cubes) {
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
    const text = randomModelText(world, random);
    const model = loadModel(text);
    for (let user = 0; user < users; user += 1) {
      let it: Case = { world, model, subject: randomSubject(random) };
      let seen = choicesFor(it, false);
      // Who sees nothing is refused everything: a few of these are enough.
      for (let tries = 0; tries < 4 && world.views.every(({ name }) => seen(name).length === 0); tries += 1) {
        it = { ...it, subject: randomSubject(random) };
        seen = choicesFor(it, false);
      }
      const open = choicesFor(it, true);
      for (let at = 0; at < questions; at += 1) {
        const membersOf = random.below(12) === 0 ? open : seen;
        const json = at % 4 === 3 ? randomJson(world, random, membersOf) : null;
        try {
          const outcome =
            json === null
              ? await compare(engine, it, randomQuestion(world, random, membersOf))
              : await compareJson(engine, it, json);
          outcomes[outcome] += 1;
        } catch (error) {
          const rows = world.cubes.map(({ name, rows: of }) => `${name}: ${JSON.stringify(of)}`).join('\n');
          const what = error instanceof Difference ? error.message : String(error);
          throw new Error(
            `seed ${seed} on ${engine.name}, policies ${set}, user ${user}, question ${at}: ${what}\n${text}\n${rows}`,
            {
              cause: error,
            },
          );
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
