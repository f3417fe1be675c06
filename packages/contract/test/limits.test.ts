/** Every limit of a request's shape: what is at it passes, what is beyond it is told by the limit's own code. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { type ErrorCode, errorCodes } from '../src/error.ts';
import { agreedCode, isWithinBytes, limitCodeOf } from '../src/limited.ts';
import { defaultLimits, type LimitName, limitNames, limitRules, limitsOf, limitVariable } from '../src/limits.ts';
import { createShapes, type Shapes } from '../src/shapes.ts';

interface Case {
  readonly name: LimitName;
  readonly shape: (shapes: Shapes) => z.ZodType;
  /** A value whose size is `size`. */
  readonly of: (size: number) => unknown;
}

const text = (size: number): string => 'a'.repeat(size);
const session = (shapes: Shapes): z.ZodType => shapes.embed.generateSessionRequest;
const chat = (shapes: Shapes): z.ZodType => shapes.chat.chatRequest;
const call = (fields: object): object => ({ deploymentId: 1, externalId: 'a', ...fields });
const names = (count: number): { name: string }[] => Array.from({ length: count }, (_, at) => ({ name: `n${at}` }));
const levels = (count: number): object => (count === 1 ? {} : { a: levels(count - 1) });

/** A value for every limit that the shape of a request holds. */
const cases: readonly Case[] = [
  { name: 'nameCharactersMax', shape: session, of: (size) => call({ groups: [text(size)] }) },
  {
    name: 'displayNameCharactersMax',
    shape: session,
    of: (size) => call({ userProfile: { displayName: text(size) } }),
  },
  {
    name: 'descriptionCharactersMax',
    shape: session,
    of: (size) => call({ groupDefinitions: [{ name: 'g', description: text(size) }] }),
  },
  {
    name: 'defaultValueBytesMax',
    shape: session,
    of: (size) => call({ userAttributeDefinitions: [{ name: 'a', type: 'string', defaultValue: text(size) }] }),
  },
  { name: 'externalIdCharactersMax', shape: session, of: (size) => call({ externalId: text(size) }) },
  {
    name: 'internalIdCharactersMax',
    shape: session,
    of: (size) => ({ deploymentId: 1, internalId: text(size) }),
  },
  { name: 'emailCharactersMax', shape: session, of: (size) => call({ email: `${text(size - 10)}@b.example` }) },
  {
    name: 'pictureUrlCharactersMax',
    shape: session,
    of: (size) => call({ userProfile: { picture: `https://a.example/${text(size - 18)}` } }),
  },
  { name: 'groupsMax', shape: session, of: (size) => call({ groups: names(size).map(({ name }) => name) }) },
  {
    name: 'attributesMax',
    shape: session,
    of: (size) => call({ userAttributes: names(size).map(({ name }) => ({ name, value: 1 })) }),
  },
  {
    name: 'definitionsMax',
    shape: session,
    of: (size) =>
      call({
        groupDefinitions: names(Math.floor(size / 2)),
        userAttributeDefinitions: names(Math.ceil(size / 2)).map(({ name }) => ({ name, type: 'number' })),
      }),
  },
  {
    name: 'attributeStringBytesMax',
    shape: session,
    of: (size) => call({ userAttributes: [{ name: 'a', value: text(size) }] }),
  },
  {
    name: 'attributeItemsMax',
    shape: session,
    of: (size) => call({ userAttributes: [{ name: 'a', value: Array(size).fill('x') }] }),
  },
  {
    name: 'securityContextBytesMax',
    shape: session,
    of: (size) => call({ securityContext: { a: text(size - '{"a":""}'.length) } }),
  },
  { name: 'securityContextDepthMax', shape: session, of: (size) => call({ securityContext: levels(size) }) },
  // Larger than the limit by one second: the number itself is its size.
  { name: 'ephemeralTtlSecondsMax', shape: session, of: (size) => call({ ephemeralTtlSeconds: size }) },
  { name: 'inputCharactersMax', shape: chat, of: (size) => ({ input: text(size) }) },
  { name: 'sqlBytesMax', shape: (shapes) => shapes.data.cubeSqlRequest, of: (size) => ({ query: text(size) }) },
];

describe('the table', () => {
  test.each(limitNames)('%s: its range holds its default, and its unit ends its name', (name) => {
    const { value, min, max, meaning } = limitRules[name];
    expect([min <= value, value <= max, Number.isSafeInteger(max)]).toEqual([true, true, true]);
    expect(name).toMatch(/(Max|Ms|Seconds|Default)$/);
    expect(meaning).toMatch(/^[A-Z].+\.$/);
    expect(limitVariable(name)).toMatch(/^INLAY(_[A-Z]+)+$/);
  });

  test('a variable sets one limit', () => {
    expect(new Set(limitNames.map(limitVariable)).size).toBe(limitNames.length);
    expect(limitVariable('groupsMax')).toBe('INLAY_GROUPS_MAX');
    expect(limitVariable('pictureUrlCharactersMax')).toBe('INLAY_PICTURE_URL_CHARACTERS_MAX');
  });

  test('the limits of a request have a code each, which no other has', () => {
    const codes = cases.map(({ name }) => limitRules[name].code);
    expect(new Set(codes).size).toBe(codes.length);
    for (const code of codes) expect(code !== null && errorCodes[code][0]).toBe(400);
  });
});

const smallest = limitsOf((name) => limitRules[name].min);

describe.each([
  ['the defaults', defaultLimits],
  ['the smallest settings', smallest],
])('under %s', (_which, limits) => {
  const shapes = createShapes(limits);

  test.each(cases)('$name', ({ name, shape, of }) => {
    expect(codesOf(shape(shapes), of(limits[name]))).toEqual([]);
    expect(codesOf(shape(shapes), of(limits[name] + 1))).toEqual([limitRules[name].code]);
  });
});

test('bytes are counted in UTF-8, characters in UTF-16', () => {
  const { embed } = createShapes(defaultLimits);
  const value = (size: number) => call({ userAttributes: [{ name: 'a', value: 'é'.repeat(size) }] });
  expect(codesOf(embed.generateSessionRequest, value(2048))).toEqual([]);
  expect(codesOf(embed.generateSessionRequest, value(2049))).toEqual(['ATTRIBUTE_TEXT_TOO_LONG']);
  expect(codesOf(embed.generateSessionRequest, call({ groups: ['🛒'.repeat(64)] }))).toEqual([]);
  expect(codesOf(embed.generateSessionRequest, call({ groups: ['🛒'.repeat(65)] }))).toEqual(['NAME_TOO_LONG']);
});

test('isWithinBytes is what the encoder says', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.nat(40), (some, max) => {
      expect(isWithinBytes(some, max)).toBe(Buffer.byteLength(some) <= max);
    }),
  );
});

test('one code is told only when all issues agree on it', () => {
  expect(agreedCode([])).toBeNull();
  expect(agreedCode(['NAME_TOO_LONG', 'NAME_TOO_LONG'])).toBe('NAME_TOO_LONG');
  expect(agreedCode(['NAME_TOO_LONG', null])).toBeNull();
  expect(agreedCode([null, 'NAME_TOO_LONG'])).toBeNull();
  expect(agreedCode(['NAME_TOO_LONG', 'TOO_MANY_GROUPS'])).toBeNull();
});

test.each([
  { locale: 'de-CH', timezone: 'Europe/Zurich', theme: 'auto', branchName: 'main', allowAi: false, allowExport: true },
  { locale: 'zh-Hant-TW', timezone: 'UTC' },
  {},
])('settings %j fit', (settings) => {
  expect(codesOf(session(createShapes(defaultLimits)), call({ settings }))).toEqual([]);
});

test.each([
  { locale: 'de_CH!' },
  { locale: '' },
  { timezone: 'Mars/Olympus' },
  { timezone: '+01:00' },
  { timezone: '' },
  { theme: 'pink' },
  { branchName: '' },
  { allowAi: 'no' },
  { allowEverything: true },
])('settings %j do not', (settings) => {
  expect(codesOf(session(createShapes(defaultLimits)), call({ settings }))).toEqual([null]);
});

test.each(['acme1', 'a'.repeat(36), 'a-b-c', 'default'])('%s is the name of an embed tenant', (embedTenantName) => {
  expect(codesOf(session(createShapes(defaultLimits)), call({ embedTenantName }))).toEqual([]);
});

test.each(['acme', 'a'.repeat(37), 'Acme1', '1acme', 'acme-', 'ac_me', 'acme\n', 'äcme1', ''])(
  '%j is not',
  (embedTenantName) => {
    expect(codesOf(session(createShapes(defaultLimits)), call({ embedTenantName }))).toEqual([null]);
  },
);

/** What is said of a value: for each issue its code, or null; empty when it fits. */
function codesOf(shape: z.ZodType, value: unknown): readonly (ErrorCode | null)[] {
  const parsed = shape.safeParse(value);
  return parsed.success ? [] : parsed.error.issues.map(limitCodeOf);
}
