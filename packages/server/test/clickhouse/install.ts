/**
 * Installs chDB for the tests that ask ClickHouse. With `--optional` a failure is only said: those tests are skipped then.
 */
import { installChdb } from './chdb.ts';

const problem = installChdb();
if (problem !== null) {
  const isOptional = process.argv.includes('--optional');
  process.stderr.write(`ClickHouse for the tests: ${problem}.${isOptional ? ' Its tests are skipped.' : ''}\n`);
  if (!isOptional) process.exitCode = 1;
}
