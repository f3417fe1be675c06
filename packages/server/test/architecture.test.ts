/** The import rule of ARCHITECTURE.md, held by reading every import of the project. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path/posix';
import { describe, expect, test } from 'vitest';

interface Import {
  readonly from: string;
  readonly to: string;
  readonly isTypeOnly: boolean;
}

const root = join(import.meta.dirname, '../../..');
const files = globSync('packages/*/src/**/*.ts', { cwd: root }).map((path) => path.replaceAll('\\', '/'));
const texts = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));

/** Every import, re-export and dynamic import, with the file that it means; packages of others are left out. */
function importsOf(file: string, text: string): Import[] {
  const statements = text.matchAll(
    /^(?:import|export)\s+(type\s)?([^'";]*?)\s*from\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)|^import\s+'([^']+)'/gm,
  );
  return [...statements].flatMap(([, type, names = '', named, dynamic, bare]) => {
    const specifier = named ?? dynamic ?? bare ?? '';
    const ours = /^@inlay\/([^/]+)\/(.+)$/.exec(specifier);
    // A package's own description is no room.
    const to = specifier.endsWith('.json')
      ? null
      : specifier.startsWith('.')
        ? normalize(join(dirname(file), specifier))
        : ours === null
          ? null
          : `packages/${ours[1]}/src/${ours[2]}`;
    const listed = /^\{(.*)\}$/s
      .exec(names.trim())?.[1]
      ?.split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '');
    const isTypeOnly = type !== undefined || listed?.every((name) => name.startsWith('type ')) === true;
    return to === null ? [] : [{ from: file, to, isTypeOnly }];
  });
}

const imports = [...texts].flatMap(([file, text]) => importsOf(file, text));
const packageOf = (file: string) => file.split('/')[1] ?? '';

/** What each package may import of ours. */
const packages: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  semantic: [],
  analyst: ['semantic'],
  sdk: ['contract'],
  server: ['contract', 'semantic', 'analyst'],
};

/** The rooms of the server, from left to right. A file imports from rooms to its right only. */
const rooms: readonly (readonly string[])[] = [
  ['main.ts', 'cli.ts'],
  ['cli'],
  ['context.ts'],
  ['http'],
  ['installation'],
  ['embed', 'chat', 'admin'],
  ['agent'],
  ['query', 'users'],
  ['warehouse', 'store'],
  ['config.ts'],
  [
    'errors.ts',
    'json-depth.ts',
    'log.ts',
    'repeat.ts',
    'semaphore.ts',
    'setting-values.ts',
    'telemetry',
    'waiting.ts',
    'yaml-source.ts',
  ],
];
/** Those of the semantic library, in the same way; there types count as well. */
const semanticRooms: readonly (readonly string[])[] = [
  ['compiler.ts', 'explain-sql.ts'],
  ['compile-sql.ts'],
  ['plan'],
  ['dialects', 'search', 'sql'],
  ['query'],
  ['policy'],
  ['model'],
  ['closest-names.ts', 'parse-time.ts', 'semantic-error.ts', 'words.ts'],
  ['reserved-words.ts'],
];
const roomOf = (file: string) => file.split('/')[3] ?? '';
const roomsOf = (file: string) => (packageOf(file) === 'semantic' ? semanticRooms : rooms);
const positionOf = (file: string) => roomsOf(file).findIndex((room) => room.includes(roomOf(file)));

/** `query` may read `users`, its neighbour: rights are part of every query (the one exception, see ARCHITECTURE.md). */
const neighbours: readonly (readonly [from: string, to: string])[] = [['query', 'users']];

function violationsOf(all: readonly Import[]): string[] {
  return all.flatMap(({ from, to, isTypeOnly }) => {
    const say = (why: string) => [`${from} imports ${to}: ${why}`];
    if (packageOf(from) !== packageOf(to)) {
      if (packages[packageOf(from)]?.includes(packageOf(to)) !== true) return say('that package is not open to it');
      return packageOf(from) === 'analyst' && !isTypeOnly ? say('the analyst takes only types') : [];
    }
    const hasRooms = packageOf(from) === 'semantic' || (packageOf(from) === 'server' && !isTypeOnly);
    if (!hasRooms || roomOf(from) === roomOf(to)) return [];
    if (neighbours.some(([one, other]) => one === roomOf(from) && other === roomOf(to))) return [];
    return positionOf(to) > positionOf(from) ? [] : say('it stands to the left, or beside');
  });
}

test('there are imports to look at, and every room is in the plan', () => {
  expect(imports.length).toBeGreaterThan(200);
  expect(Object.keys(packages).sort()).toEqual([...new Set(files.map(packageOf))].sort());
  const inRooms = files.filter((file) => packageOf(file) === 'server' || packageOf(file) === 'semantic');
  expect(inRooms.filter((file) => positionOf(file) < 0)).toEqual([]);
});

test('every file imports to its right', () => {
  expect(violationsOf(imports)).toEqual([]);
});

describe('the rule notices', () => {
  test.each([
    ['a value from the left', 'packages/server/src/query/x.ts', "import { a } from '../http/app.ts';", 1],
    ['a sibling room', 'packages/server/src/chat/x.ts', "import { a } from '../embed/x.ts';", 1],
    ['a dynamic import', 'packages/server/src/store/x.ts', "const a = await import('../agent/x.ts');", 1],
    ['an import for its effect', 'packages/server/src/store/x.ts', "import '../agent/x.ts';", 1],
    [
      'a package that is not open',
      'packages/contract/src/x.ts',
      "import type { a } from '@inlay/semantic/policy/subject.ts';",
      1,
    ],
    [
      'a value where only types are open',
      'packages/analyst/src/x.ts',
      "import { a } from '@inlay/semantic/policy/subject.ts';",
      1,
    ],
    ['a re-export', 'packages/server/src/store/x.ts', "export { a } from '../http/app.ts';", 1],
    [
      'a type from the left in semantic',
      'packages/semantic/src/query/x.ts',
      "import type { a } from '../plan/x.ts';",
      1,
    ],
    ['but not a type from the left', 'packages/server/src/query/x.ts', "import type { a } from '../http/app.ts';", 0],
    ['nor types by name', 'packages/server/src/query/x.ts', "import { type a, type b } from '../http/app.ts';", 0],
    ['nor what stands right', 'packages/server/src/http/x.ts', "import { a } from '../errors.ts';", 0],
  ])('%s', (_name, file, text, count) => {
    expect(violationsOf(importsOf(file, text))).toHaveLength(count);
  });
});

test('the environment is read in one place', () => {
  const readers = [...texts].filter(([, text]) =>
    text.replaceAll(/read(?:Client)?Config\(process\.env\)/g, '').includes('process.env'),
  );
  expect(readers.map(([file]) => file)).toEqual([]);
});

test('there is one door to data', () => {
  const opensWarehouse = imports.filter(
    ({ from, to, isTypeOnly }) => !isTypeOnly && roomOf(to) === 'warehouse' && roomOf(from) !== 'warehouse',
  );
  // Reading the operator's file opens nothing.
  const opening = opensWarehouse.filter(({ to }) => !to.endsWith('/connections-file.ts'));
  expect(opening.map(({ from }) => from)).toEqual(['packages/server/src/query/deployments.ts']);
  const asksWarehouse = [...texts].filter(
    ([file, text]) => packageOf(file) === 'server' && /\bwarehouse\.query\(/.test(text),
  );
  expect(asksWarehouse.map(([file]) => file)).toEqual(['packages/server/src/query/run-query.ts']);
  // The demo's data are made by DuckDB before there is a warehouse.
  const duckDb = [...texts].filter(([, text]) => text.includes("'@duckdb/node-api'")).map(([file]) => file);
  expect(duckDb.filter((file) => roomOf(file) !== 'warehouse')).toEqual(['packages/server/src/installation/demo.ts']);
});

test('a statement to the store names the columns that it wants', () => {
  // A prepared statement that gives whatever columns there are stops working when a migration adds one.
  const whatever = /\.(selectAll|returningAll)\(|\b(select|returning) \*(?!\s+from\s+jsonb_to_recordset)/i;
  const wanting = [...texts].filter(
    ([file, text]) => packageOf(file) === 'server' && roomOf(file) !== 'warehouse' && whatever.test(text),
  );
  expect(wanting.map(([file]) => file)).toEqual([]);
});

test('a file is one room: none is much longer than 300 lines', () => {
  const long = [...texts].filter(([, text]) => text.split('\n').length > 340).map(([file]) => file);
  expect(long).toEqual([]);
});
