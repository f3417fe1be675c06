/** Makes right bodies wrong: in their value, and in the text that carries it. */
import fc from 'fast-check';

/** Texts that have broken software before: NUL, halves of characters, right-to-left marks, what other languages take as syntax. */
const hostileTexts: readonly string[] = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  'a\udfffb',
  '\u202eevil\u202c',
  '\u200f\u200e\ufeff',
  '\u2028\u2029',
  'İıſK',
  '👩‍👩‍👧‍👦'.repeat(20),
  'e\u0301'.repeat(500),
  "'; drop table users; --",
  '$1',
  '%00',
  '../../../etc/passwd',
  '{{7*7}}',
  '__proto__',
  'constructor',
  'null',
  'NaN',
  '-0',
  '1e400',
  '9'.repeat(400),
  '{"a":1}',
  '[]',
  'javascript:alert(1)',
  'https://[::1',
  'http://a:b@c/%zz',
  '2026-13-45T99:99:99Z',
];

const hostileNumbers: readonly number[] = [
  0,
  -0,
  -1,
  0.1,
  1.5,
  2_147_483_647,
  2_147_483_648,
  -2_147_483_649,
  4_294_967_296,
  Number.MAX_SAFE_INTEGER,
  Number.MAX_SAFE_INTEGER + 1,
  2 ** 63,
  1e20,
  1e308,
  -1e308,
  5e-324,
];

/** The depth of what is meant to reach the end of a stack. */
const bombLevels = 5000;

const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...hostileTexts) },
  { weight: 4, arbitrary: fc.constantFrom(...hostileNumbers) },
  { weight: 3, arbitrary: fc.constantFrom(null, true, false, {}, [], [null], [[]], { toString: 1 }, { length: -1 }) },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }) },
  { weight: 1, arbitrary: fc.integer({ min: 100, max: 5000 }).map((length) => 'x'.repeat(length)) },
  { weight: 1, arbitrary: fc.integer({ min: 9, max: 200 }).map(nested) },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 400, max: 2000 }).map((length) => Array.from({ length }, (_, index) => `n${index}`)),
  },
);

/** Rare, since each takes long to send: texts of up to 1 MB, alone above the limit of a body. */
const largeText: fc.Arbitrary<unknown> = fc
  .tuple(fc.constantFrom('x', 'é', '\u202e', '"', '\0', 'a '), fc.constantFrom(70_000, 500_000, 1_048_000, 1_100_000))
  .map(([character, length]) => character.repeat(Math.floor(length / character.length)));

function nested(levels: number): unknown {
  let value: unknown = 'deep';
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

/** A change of one place of a value: it is replaced or taken away, or a member is added to it. */
export interface Mutation {
  /** Which place, counted through the value from its root. */
  readonly place: number;
  readonly kind: 'replace' | 'remove' | 'add' | 'repeat';
  readonly key: string;
  readonly value: unknown;
}

/** Generates changes. */
export const mutation: fc.Arbitrary<Mutation> = fc.record({
  place: fc.nat(10_000),
  kind: fc.constantFrom('replace', 'replace', 'replace', 'remove', 'add', 'repeat'),
  key: fc.oneof(
    fc.constantFrom(
      'roles',
      'creatorMode',
      'settings',
      'constructor',
      'prototype',
      'toString',
      'hasOwnProperty',
      '',
      '\0',
      'a.b',
    ),
    fc.string({ unit: 'binary', maxLength: 10 }),
  ),
  value: fc.oneof({ weight: 150, arbitrary: hostileValue }, { weight: 1, arbitrary: largeText }),
});

/** The value with one place changed; the value itself stays as it is. */
export function mutate(value: unknown, change: Mutation): unknown {
  let left = change.place % countPlaces(value);
  const removed = Symbol('removed');
  const visit = (node: unknown): unknown => {
    if (left-- === 0) return changed(node, change, removed);
    if (Array.isArray(node)) return node.map(visit).filter((item) => item !== removed);
    if (typeof node === 'object' && node !== null) {
      return Object.fromEntries(
        Object.entries(node).flatMap(([key, inner]) => {
          const after = visit(inner);
          return after === removed ? [] : [[key, after]];
        }),
      );
    }
    return node;
  };
  const result = visit(value);
  return result === removed ? undefined : result;
}

function changed(node: unknown, { kind, key, value }: Mutation, removed: symbol): unknown {
  if (kind === 'remove') return removed;
  if (kind === 'add' && typeof node === 'object' && node !== null && !Array.isArray(node)) {
    return Object.fromEntries([...Object.entries(node), [key, value]]);
  }
  if (kind === 'repeat' && Array.isArray(node)) return [...node, ...node];
  return value;
}

function countPlaces(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, inner) => sum + countPlaces(inner), 1);
}

/** A change of the text of a body. */
export type TextMutation =
  | 'none'
  | 'cut'
  | 'duplicate-key'
  | 'prototype-key'
  | 'bad-utf-8'
  | 'raw-nul'
  | 'byte-order-mark'
  | 'comma'
  | 'bomb'
  | 'empty'
  | 'other-json'
  | 'twice';

/** Generates changes of the text; mostly none. */
export const textMutation: fc.Arbitrary<TextMutation> = fc.oneof(
  { weight: 20, arbitrary: fc.constant<TextMutation>('none') },
  {
    weight: 5,
    arbitrary: fc.constantFrom<TextMutation>(
      'cut',
      'duplicate-key',
      'prototype-key',
      'bad-utf-8',
      'raw-nul',
      'byte-order-mark',
      'comma',
      'bomb',
      'empty',
      'other-json',
      'twice',
    ),
  },
);

/** The bytes of a body after a change of its text. */
export function mutateText(text: string, change: TextMutation): Uint8Array<ArrayBuffer> {
  const inside = (insert: string): string =>
    text.startsWith('{') ? `{${insert}${text === '{}' ? '' : ','}${text.slice(1)}` : text;
  switch (change) {
    case 'none':
      return bytesOf(text);
    case 'cut':
      return bytesOf(text.slice(0, Math.max(1, Math.floor(text.length * 0.7))));
    case 'duplicate-key':
      return bytesOf(inside('"externalId":"twice","deploymentId":1,"name":"twice","role":"admin"'));
    case 'prototype-key':
      return bytesOf(inside('"__proto__":{"isAdmin":true},"constructor":{"prototype":{"role":"admin"}}'));
    case 'bad-utf-8':
      return bytesOf(text.slice(0, 8), [0xc3, 0x28, 0xff, 0xed, 0xa0, 0x80], text.slice(8));
    case 'raw-nul':
      return bytesOf(text.slice(0, 8), [0], text.slice(8));
    case 'byte-order-mark':
      return bytesOf(`\ufeff${text}`);
    case 'comma':
      return bytesOf(text.replace(/[}\]]$/, ',$&'));
    case 'bomb':
      return bytesOf(inside(`"securityContext":${'['.repeat(bombLevels)}${']'.repeat(bombLevels)}`));
    case 'empty':
      return bytesOf('');
    case 'other-json':
      return bytesOf('[{"deploymentId":1}]');
    case 'twice':
      return bytesOf(text + text);
  }
}

function bytesOf(...parts: readonly (string | readonly number[])[]): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const all = parts.map((part) => (typeof part === 'string' ? encoder.encode(part) : Uint8Array.from(part)));
  const bytes = new Uint8Array(all.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of all) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
