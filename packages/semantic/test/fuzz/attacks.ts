/**
 * `node packages/semantic/test/fuzz/attacks.ts`: how long each hostile text takes to be decided. Fails when one takes more than 100 ms.
 */
import { compileSql } from '../../src/compile-sql.ts';
import { duckdb } from '../../src/dialects/duckdb.ts';
import { members } from '../attacks/members.ts';
import { reach } from '../attacks/reach.ts';
import { texts } from '../attacks/texts.ts';
import { model, thief } from '../attacks/world.ts';

const limitMs = 100;
const all = [...reach, ...members, ...texts].flatMap(({ sql }) => sql);
const timed = all.map((sql) => {
  const once = (): number => {
    const started = performance.now();
    try {
      compileSql(sql, model, thief, duckdb);
    } catch {
      // Refused: that is decided, too. How it ends is for attacks.test.ts.
    }
    return performance.now() - started;
  };
  // The better of two: other programs take their time as well.
  return { sql, ms: Math.min(once(), once()) };
});
const [slowest, ...others] = timed.toSorted((one, other) => other.ms - one.ms);
for (const { sql, ms } of [slowest, ...others.slice(0, 4)].flatMap((it) => it ?? []))
  process.stdout.write(`${ms.toFixed(1)} ms  ${sql.slice(0, 80).replaceAll(/\s+/g, ' ')}\n`);
process.stdout.write(`${all.length} texts; the slowest took ${slowest?.ms.toFixed(1)} ms, ${limitMs} are allowed\n`);
if ((slowest?.ms ?? 0) > limitMs) process.exitCode = 1;
