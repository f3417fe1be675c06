import { expect, test } from 'vitest';
import { compileSql } from '../src/compile-sql.ts';
import { createCompiler } from '../src/compiler.ts';
import { duckdb } from '../src/dialects/duckdb.ts';
import { SemanticError } from '../src/semantic-error.ts';
import { randomFrom } from './fuzz/random.ts';
import { loadModel } from './load-model.ts';
import { isVisible } from './fuzz/policies/admission.ts';
import { askedText } from './fuzz/policies/compare.ts';
import { randomQuestion } from './fuzz/policies/questions.ts';
import { randomModelText, randomSubject } from './fuzz/policies/rules.ts';
import { randomWorld } from './fuzz/policies/world.ts';

const outcome = (f: () => any) => {
  try { const { sql, parameters, columns, slots, cubes } = f(); return { sql, parameters, columns, slots, cubes: [...cubes] }; }
  catch (e) { if (e instanceof SemanticError) return { code: e.code, message: e.message, hint: e.hint }; throw e; }
};
test('cache', () => {
  let ok = 0, refused = 0;
  const start = Date.now();
  for (let seed = 1; Date.now() - start < 60_000; seed++) {
    const random = randomFrom(seed);
    const world = randomWorld(random, 'w_');
    const model = loadModel(randomModelText(world, random));
    const compiler = createCompiler(model, duckdb);
    const subjects = Array.from({ length: 6 }, () => randomSubject(random));
    const texts: string[] = [];
    for (const subject of subjects) {
      const it = { world, model, subject };
      const membersOf = (relation: string) => [...(model.relations.get(relation)?.members.values() ?? [])]
        .filter(({ name }) => isVisible(it as any, relation, name)).map(({ name, member }) => ({ name, type: member.type, kind: member.kind }));
      for (let q = 0; q < 6; q++) {
        try { const t = askedText(randomQuestion(world, random, membersOf as any));
          texts.push(t);
          for (let v = 0; v < 3; v++) {
            const lits = [...t.matchAll(/'([^']*)'/g)].map((m) => m[1] ?? '');
            texts.push(t.replace(/'([^']*)'/g, (m) => random.below(2) ? m : `'${lits[random.below(lits.length)]}'`));
            texts.push(t.replace(/'([a-z]*)'/g, (m) => random.below(2) ? m : `'${['a','b','c','x'][random.below(4)]}'`));
          } } catch {}
      }
    }
    for (let n = 0; n < texts.length * 4; n++) {
      const sql = texts[random.below(texts.length)]!; const subject = subjects[random.below(subjects.length)]!;
      const timezone = random.below(4) ? 'UTC' : 'Europe/Berlin';
      const o = { timezone, now: new Date(1_700_000_000_000) };
      const cold = outcome(() => compileSql(sql, model, subject, duckdb, o));
      if ('sql' in cold) ok++; else refused++;
      try { expect(outcome(() => compiler.compile(sql, subject, o))).toEqual(cold); } catch (e) { console.log(seed, sql, JSON.stringify(subject)); throw e; }
    }
  }
  console.log({ ok, refused });
}, 100000);
