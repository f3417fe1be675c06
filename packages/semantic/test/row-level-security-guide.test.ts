/** The guide to row-level security: each of its tables is asked of DuckDB, with the policies that stand above it. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import type { Subject } from '../src/policy/subject.ts';
import { SemanticError } from '../src/semantic-error.ts';
import { nobody } from './policy-model.ts';
import { load, openShop } from './shop.ts';

const guide = readFileSync(new URL('../../../docs/guides/row-level-security.md', import.meta.url), 'utf8');

interface Named {
  readonly name: string;
}
interface ModelText {
  readonly cubes?: readonly Named[];
  readonly views?: readonly Named[];
}

/** Lays the policies of a later block over the model: what it names gets its policy, the rest stays. */
function merged(model: ModelText, later: ModelText): ModelText {
  const lay = (all: readonly Named[] = [], over: readonly Named[] = []) =>
    all.length === 0 ? over : all.map((one) => ({ ...one, ...over.find(({ name }) => name === one.name) }));
  return { cubes: lay(model.cubes, later.cubes), views: lay(model.views, later.views) };
}

interface Row {
  readonly who: string;
  readonly sql: string;
  /** Rows as JSON, or what is refused. */
  readonly expected: string;
  readonly model: string;
}

const rows: Row[] = [];
let model: ModelText = {};
for (const [block, yaml, who = '', sql = '', expected = ''] of guide.matchAll(
  /^```yaml\n([\s\S]*?)^```$|^\| `(\{.*?\})` \| `(.*?)` \| (.*?) \|$/gm,
)) {
  if (block.startsWith('```')) model = merged(model, parse(yaml ?? ''));
  else rows.push({ who, sql, expected, model: stringify(model) });
}
const data = /^```sql\n([\s\S]*?)^```$/m.exec(guide)?.[1] ?? '';

/** Whole numbers of 64 bits come as texts. */
const plain = (cell: unknown): unknown => (typeof cell === 'string' && /^\d+$/.test(cell) ? Number(cell) : cell);

describe('the guide to row-level security', () => {
  test('has examples', () => expect(rows.length).toBeGreaterThan(20));

  test.each(rows)('$who: $sql', async ({ who, sql, expected, model: text }) => {
    const shop = await openShop(data);
    const subject: Subject = { ...nobody, ...parse(who) };
    const refused = /^refused: `(.*)`$/.exec(expected)?.[1];
    const found = shop.ask(sql, subject, load(text)).then(
      (answer) => JSON.stringify(answer.map((row) => row.map(plain))),
      (error: unknown) => {
        if (error instanceof SemanticError) return `refused: ${error.message}`;
        throw error;
      },
    );
    if (refused === undefined) expect(await found).toBe(JSON.stringify(JSON.parse(expected.slice(1, -1))));
    else expect(await found).toMatch(new RegExp(`^refused: ${refused.replaceAll('.', '\\.')}`));
  });
});
