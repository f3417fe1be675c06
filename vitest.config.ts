import { defineConfig } from 'vitest/config';

/** Reads imports only; it needs neither a database nor the demo data. */
const architecture = 'packages/server/test/architecture.test.ts';
/** Beside the suites in their folder: tests of real processes, of leases and of long waits, some ten seconds each. */
const waiting = [
  'cli',
  'keep-node',
  'run-handover',
  'store',
  'sweep',
  'features/continue-wait',
  'features/stream-ends',
];
const suites = [
  'packages/server/test/suites/**/*.test.ts',
  ...waiting.map((name) => `packages/server/test/${name}.test.ts`),
];
/** Makes once what is slow to make: PostgreSQL, the template databases, the demo data. */
const globalSetup = ['packages/server/test/global-setup.ts'];

export default defineConfig({
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    reporters: process.env['CI'] ? ['default', './scripts/closing-line-reporter.mjs'] : ['default'],
    projects: [
      {
        extends: true,
        test: { name: 'pure', include: ['packages/{contract,semantic,analyst,sdk}/test/**/*.test.ts', architecture] },
      },
      {
        extends: true,
        test: {
          name: 'server',
          include: ['packages/server/test/**/*.test.ts'],
          exclude: [architecture, ...suites],
          globalSetup,
        },
      },
      // The whole contract, every route and every secret, real processes and the programs of the guides: `npm run test:suites`.
      { extends: true, test: { name: 'suites', include: suites, globalSetup } },
    ],
  },
});
