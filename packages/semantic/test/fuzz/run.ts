/** `npm run fuzz:semantic -- [--runs 10000] [--seed 1]`: data model files and semantic SQL, mutated: nothing crashes, nothing hangs. */
import { parseArgs } from 'node:util';
import { fuzzSql } from './sql.ts';
import { fuzzYaml } from './yaml.ts';

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '10000' }, seed: { type: 'string', default: '1' } },
});
const options = { runs: Number(values.runs), seed: Number(values.seed) };
for (const [name, fuzz] of Object.entries({ yaml: fuzzYaml, sql: fuzzSql })) {
  const { runs, outcomes, slowestMs } = fuzz(options);
  process.stdout.write(
    `${name}: ${runs} inputs, seed ${values.seed}: ${JSON.stringify(outcomes)}; the slowest took ${slowestMs.toFixed(1)} ms\n`,
  );
}
