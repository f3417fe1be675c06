/** `node packages/semantic/test/fuzz/run.ts [--runs 10000] [--seed 1]`: the loader of data models under mutated files. */
import { parseArgs } from 'node:util';
import { fuzzYaml } from './yaml.ts';

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '10000' }, seed: { type: 'string', default: '1' } },
});
const result = fuzzYaml({ runs: Number(values.runs), seed: Number(values.seed) });
process.stdout.write(
  `yaml: ${result.runs} inputs, seed ${values.seed}: ${JSON.stringify(result.outcomes)}; the slowest took ${result.slowestMs.toFixed(1)} ms\n`,
);
