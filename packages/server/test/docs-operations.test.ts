/** management-api.md and cli.md name every operation, with its fields, and no others. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { listOperations } from '@inlay/contract/admin/operations.ts';
import { expect, test } from 'vitest';
import { flagsOf } from '../src/cli/flags.ts';
import { usageOf } from '../src/cli/help.ts';

const operations = listOperations();

const read = (name: string): string => readFileSync(join(import.meta.dirname, '../../../docs/reference', name), 'utf8');
const inBraces = (path: string): string => path.replaceAll(/:(\w+)/g, '{$1}');

/** The part of the text under the heading `## …`. */
function sectionOf(text: string, heading: string): string {
  const sections = text.split(/^## /m);
  return sections.find((section) => section.toLowerCase().startsWith(`${heading.toLowerCase()}\n`)) ?? '';
}

test('management-api.md lists exactly the operations, under the heading of their tag', () => {
  const text = read('management-api.md');
  const rows = [...text.matchAll(/^\| `([A-Z]+) (\/\S+)` \| `([^`]+)` \| (.+?) \|$/gm)].map(([, ...row]) => row);
  const declared = operations.map(({ method, path, command, summary }) => [method, inBraces(path), command, summary]);
  expect(rows).toEqual(declared);
  for (const { method, path, tag } of operations) {
    expect(sectionOf(text, tag), tag).toContain(`\`${method} ${inBraces(path)}\``);
  }
});

test.each(operations)('management-api.md names the fields of $id', (operation) => {
  const text = read('management-api.md');
  const place = `${sectionOf(text, operation.tag)}${sectionOf(text, 'What holds for every call')}`;
  const missing = flagsOf(operation).filter(({ path }) => !path.every((field) => place.includes(`\`${field}\``)));
  expect(missing.map(({ path }) => path.join('.'))).toEqual([]);
});

test('cli.md lists exactly the commands that call an operation', () => {
  const rows = [...read('cli.md').matchAll(/^\| `([a-z][^`]*)` \| (.+?) \|$/gm)].map(([, ...row]) => row);
  const direct = rows.filter(([command = '']) => /^(apply|keys create --direct|model )/.test(command));
  expect(direct.map(([command = '']) => command.split(' ').slice(0, 2).join(' '))).toEqual(
    expect.arrayContaining(['keys create', 'apply -f', 'model explain', 'model query']),
  );
  expect(rows.filter((row) => !direct.includes(row))).toEqual(
    operations.map((operation) => [usageOf(operation), operation.summary]),
  );
});
