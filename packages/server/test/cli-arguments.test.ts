/** Commands and flags as they are made from the operations, and the reading of arguments. */
import { listOperations } from '@inlay/contract/admin/operations.ts';
import { type Operation, operation } from '@inlay/contract/operation.ts';
import { idParamsSchema, noParametersSchema, pageOf, pageQuerySchema } from '@inlay/contract/page.ts';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { parametersOf, parseCall } from '../src/cli/arguments.ts';
import { flagsOf } from '../src/cli/flags.ts';
import { operationHelp } from '../src/cli/help.ts';
import { plain } from '../src/cli/http-client.ts';
import { recordText, tableText } from '../src/cli/print.ts';

const operations = listOperations();

const sample: Operation = operation({
  id: 'sample',
  command: 'samples change',
  tag: 'samples',
  summary: 'Change a sample',
  method: 'PATCH',
  path: '/api/v1/tenants/:tenantName/samples/:id',
  params: idParamsSchema.extend({ tenantName: z.string() }),
  query: noParametersSchema,
  body: z.object({
    displayName: z.string().nullish(),
    count: z.int().optional(),
    isOn: z.boolean().optional(),
    names: z.array(z.string()).optional(),
    numbers: z.array(z.int()).nullish(),
    values: z.array(z.object({ name: z.string() })).optional(),
    limits: z.object({ usersMax: z.int().nullable(), keysMax: z.int().nullable() }).partial().optional(),
    any: z.union([z.string(), z.number()]).optional(),
    either: z.union([z.literal('self'), z.string()]).optional(),
  }),
  status: 200,
  reply: z.object({}),
});

describe('every operation', () => {
  test('has a command of its own, and flags that do not stand in each other’s way', () => {
    expect(new Set(operations.map(({ command }) => command)).size).toBe(operations.length);
    expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length);
    for (const one of operations) {
      const names = flagsOf(one).map(({ name }) => name);
      expect(new Set([...names, 'json', 'all', 'body', 'help', 'direct', 'account']).size, one.id).toBe(
        names.length + 6,
      );
      expect(parametersOf(one), one.id).toEqual(expect.arrayContaining(Object.keys(one.params.shape)));
      expect(one.status === 204, one.id).toBe(one.reply === undefined);
      expect(one.method === 'GET', one.id).toBe(one.audit === undefined);
    }
  });

  test.each(operations)('$command tells all of its flags', (one) => {
    const help = operationHelp(one);
    expect(help).toContain(`Usage: npm run inlay -- ${one.command}`);
    for (const { name } of flagsOf(one)) expect(help).toContain(`  --${name} `);
  });
});

test.each<[readonly string[], unknown]>([
  [['--display-name', 'A b'], { displayName: 'A b' }],
  [['--displayName=--dashes', '--count=-7'], { displayName: '--dashes', count: -7 }],
  [['--display-name', '', '--either', 'self'], { displayName: '', either: 'self' }],
  [['--display-name', 'null'], { displayName: null }],
  [['--is-on'], { isOn: true }],
  [['--is-on', '--count', '1'], { isOn: true, count: 1 }],
  [['--is-on', 'false'], { isOn: false }],
  [['--names', 'a', '--names', 'b,c'], { names: ['a', 'b,c'] }],
  [['--names', '[]'], { names: [] }],
  [['--names', '["[x"]'], { names: ['[x'] }],
  [['--numbers', '1', '--numbers', '2'], { numbers: [1, 2] }],
  [['--numbers', 'null'], { numbers: null }],
  [['--values', '{"name":"a"}', '--values', '{"name":"b"}'], { values: [{ name: 'a' }, { name: 'b' }] }],
  [['--limits-users-max', '5', '--limits-keys-max', 'null'], { limits: { usersMax: 5, keysMax: null } }],
  [['--any', '"text"'], { any: 'text' }],
  [['--any', '7'], { any: 7 }],
  [[], undefined],
])('%j is the body %j', (args, body) => {
  expect(parseCall(sample, ['acme', '7', ...args]).body).toEqual(body);
});

test('parameters of the path stand in their order, wherever the flags are, and are escaped', () => {
  expect(parseCall(sample, ['a/b c', '--count', '1', '7']).path).toBe('/api/v1/tenants/a%2Fb%20c/samples/7');
  expect(parseCall(sample, ['a', '--json', '7'])).toMatchObject({ isJson: true, isAll: false, bodyFile: undefined });
  expect(parseCall(sample, ['a', '7', '--body', '-'])).toMatchObject({ bodyFile: '-', body: undefined });
});

test.each<[readonly string[], RegExp]>([
  [[], /^samples change needs <tenantName> \(npm run inlay -- samples change --help\)$/],
  [['a'], /needs <id>/],
  [['a', '7', 'more'], /does not take more/],
  [['a', '7', '--colour', 'red'], /has no --colour/],
  [['a', '7', '--count'], /--count needs a value/],
  [['a', '7', '--count', 'x'], /--count must be a number/],
  [['a', '7', '--count', ''], /--count must be a number/],
  [['a', '7', '--count', '1', '--count', '2'], /--count can be given once only/],
  [['a', '7', '--is-on', 'yes'], /--is-on must be true or false/],
  [['a', '7', '--values', 'x'], /--values must be a JSON list/],
  [['a', '7', '--names', '[1'], /--names must be given once per item, or be a JSON list/],
  [['a', '7', '--all'], /has no --all/],
  [['a', '7', '--body'], /--body needs a file/],
])('%j is refused', (args, message) => {
  expect(() => parseCall(sample, args)).toThrow(message);
});

test('a query goes into the address, and a list has --all', () => {
  const { body: _body, ...withoutBody } = sample;
  const list: Operation = {
    ...withoutBody,
    method: 'GET',
    path: '/api/v1/samples',
    params: noParametersSchema,
    query: pageQuerySchema.extend({ isOn: z.enum(['true', 'false']).optional() }),
    reply: pageOf(z.object({})),
  };
  expect(parseCall(list, ['--first', '10', '--is-on', 'false', '--all'])).toMatchObject({
    path: '/api/v1/samples',
    query: { first: '10', isOn: 'false' },
    isAll: true,
  });
});

test('in a table the values of an object stand one after the other; what is nested deeper is JSON', () => {
  expect(tableText([{ id: 1, actor: { kind: 'api-key', id: '3', name: null, address: '127.0.0.1' } }])).toBe(
    'id  actor\n1   api-key 3 127.0.0.1',
  );
  expect(tableText([{ limits: { list: [1] } }])).toBe('limits\n{"list":[1]}');
  expect(recordText({ actor: { kind: 'api-key', name: null } })).toBe('actor  {"kind":"api-key","name":null}');
});

test('what is printed cannot steer the terminal', () => {
  const hostile = 'a\u001b[2Jb\nc\u202ed\u2028e\u009bf';
  expect(plain(hostile)).toBe('a\ufffd[2Jb\ufffdc\ufffdd\ufffde\ufffdf');
  for (const text of [
    tableText([{ name: hostile, [hostile]: 1 }]),
    recordText({ name: hostile, inner: { hostile } }),
  ]) {
    for (const character of ['\u001b', '\u202e', '\u2028', '\u009b']) expect(text).not.toContain(character);
  }
  expect(
    tableText([
      { id: 1, name: 'a', none: null },
      { id: 22, name: 'b'.repeat(99) },
    ]),
  ).toBe(`id  name${' '.repeat(58)}none\n1   a\n22  ${'b'.repeat(59)}…`);
  expect(recordText({ id: 1, longName: [1, 'a'], none: null })).toBe('id        1\nlongName  [1,"a"]\nnone');
});
