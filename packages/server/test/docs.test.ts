/** What the documents promise, checked: codes, settings, links, and every SQL example with its result or refusal. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errorCodes } from '@inlay/contract/error.ts';
import { limitNames, limitRules, limitVariable } from '@inlay/contract/limits.ts';
import { compileSql } from '@inlay/semantic/compile-sql.ts';
import { duckdb } from '@inlay/semantic/dialects/duckdb.ts';
import type { DataModel } from '@inlay/semantic/model/data-model.ts';
import { loadDataModel } from '@inlay/semantic/model/load-data-model.ts';
import type { Subject } from '@inlay/semantic/policy/subject.ts';
import { SemanticError } from '@inlay/semantic/semantic-error.ts';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import { openDuckDb } from '../src/warehouse/duckdb.ts';
import type { Warehouse } from '../src/warehouse/warehouse.ts';

const root = join(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

test('errors.md lists exactly the codes, with their statuses and meanings', () => {
  const rows = [...read('docs/reference/errors.md').matchAll(/^\| `([A-Z_]+)` \| (\d{3}) \| (.+?) \|/gm)];
  const listed = rows.map(([, code, status, meaning]) => [code, Number(status), meaning]);
  expect(listed).toEqual(Object.entries(errorCodes).map(([code, [status, meaning]]) => [code, status, meaning]));
});

test('settings.md names exactly the variables that are read', () => {
  const asked = new Set<string>();
  const environment = new Proxy<Record<string, string | undefined>>(
    {},
    {
      get(_target, name) {
        if (typeof name === 'string') asked.add(name);
        return undefined;
      },
    },
  );
  readConfig(environment);
  const text = read('docs/reference/settings.md');
  const listed = [...text.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name);
  expect(listed).toEqual([...asked]);
  const named = new Set(text.match(/\b(?:INLAY_[A-Z_]+|DATABASE_URL)\b/g));
  expect([...named].filter((name) => !asked.has(name))).toEqual([]);
});

test('settings.md tells every limit with its default, range, meaning and code', () => {
  const rows = read('docs/reference/settings.md').split('\n');
  for (const name of limitNames) {
    const { value, min, max, code, meaning } = limitRules[name];
    const told = code === null ? '–' : `\`${code}\``;
    expect(rows).toContain(`| \`${limitVariable(name)}\` | ${value} | ${min}–${max} | ${meaning} | ${told} |`);
  }
});

describe('links', () => {
  const files = globSync('**/*.md', { cwd: root, exclude: (name) => name === 'node_modules' || name === '.git' });

  test('there are documents', () => expect(files.length).toBeGreaterThan(10));

  test.each(files)('%s', (file) => {
    expect(brokenLinks(file)).toEqual([]);
  });
});

/** Relative links of a document that lead to no file, or to no heading of one. */
function brokenLinks(file: string): string[] {
  const text = withoutCode(read(file));
  return [...text.matchAll(/\]\(([^()\s]+)\)/g)].flatMap(([, link = '']) => {
    if (/^[a-z][a-z0-9+.-]*:/i.test(link)) return [];
    const [path = '', heading] = link.split('#');
    const target = path === '' ? file : join(dirname(file), path);
    if (!existsSync(join(root, target))) return [link];
    if (heading === undefined || !target.endsWith('.md')) return [];
    return headingsOf(read(target)).includes(heading) ? [] : [link];
  });
}

/** The anchors of a document's headings, as code hosts make them. */
function headingsOf(text: string): string[] {
  return [...withoutCode(text).matchAll(/^#{1,6} (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

const withoutCode = (text: string): string => text.replaceAll(/^```.*?^```/gms, '');

interface Example {
  readonly sql: string;
  readonly isRefused: boolean;
  /** The rows as JSON, or the refusal as `CODE: message hint`; undefined where the document shows none. */
  readonly shown: string | undefined;
}

const examples = [
  ...read('docs/reference/semantic-sql.md').matchAll(
    /^```sql( refused)?\n(.*?)^```\n(?:\n```(?:json|text)\n(.*?)^```\n)?/gms,
  ),
].map(([, refused, sql = '', shown]): Example => ({ sql: sql.trim(), isRefused: refused !== undefined, shown }));

describe('SQL examples, as a user of merchant 7', () => {
  const subject: Subject = {
    groups: ['merchant'],
    userAttributes: { merchant_id: 7 },
    securityContext: {},
    embedTenantName: null,
    isEmbedTenantScope: false,
    seesUnprotected: false,
  };
  const model = loadStorefront();
  let warehouse: Warehouse;

  beforeAll(async () => {
    warehouse = await openDuckDb({ folder: inject('demoDataFolder'), threads: 2 });
  });
  afterAll(() => warehouse.close());

  test('there are examples of both kinds, and none is passed over', () => {
    expect(examples).toHaveLength(read('docs/reference/semantic-sql.md').match(/^```sql/gm)?.length ?? 0);
    expect(examples.filter(({ isRefused }) => isRefused).length).toBeGreaterThan(10);
    expect(examples.filter(({ isRefused }) => !isRefused).length).toBeGreaterThan(5);
  });

  test.each(examples.filter(({ isRefused }) => !isRefused))('works: $sql', async ({ sql, shown }) => {
    const compiled = compileSql(sql, model, subject, duckdb);
    const result = await warehouse.query(compiled, { signal: AbortSignal.timeout(20_000), timeoutMs: 20_000 });
    const rows: unknown[] = [];
    for await (const chunk of result.rows()) rows.push(...chunk);
    if (shown !== undefined) expect(rows).toEqual(JSON.parse(shown));
  });

  test.each(examples.filter(({ isRefused }) => isRefused))('is refused: $sql', ({ sql, shown }) => {
    const refusal = refusalOf(() => compileSql(sql, model, subject, duckdb));
    expect(refusal).not.toBeNull();
    if (shown !== undefined) expect(refusal).toBe(shown.trim());
  });
});

function refusalOf(compile: () => unknown): string | null {
  try {
    compile();
    return null;
  } catch (error) {
    if (!(error instanceof SemanticError)) throw error;
    return `${error.code}: ${error.message} ${error.hint}`.trim();
  }
}

function loadStorefront(): DataModel {
  const folder = 'examples/storefront/model';
  const files = globSync('**/*.yml', { cwd: join(root, folder) }).sort();
  const loaded = loadDataModel(files.map((path) => ({ path, text: read(join(folder, path)) })));
  if ('issues' in loaded) throw new Error(JSON.stringify(loaded.issues));
  return loaded.dataModel;
}
