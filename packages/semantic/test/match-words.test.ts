import { describe, expect, test } from 'vitest';
import type { MemberMetadata, RelationMetadata } from '../src/policy/metadata.ts';
import { matchWords } from '../src/search/match-words.ts';
import { searchRelations } from '../src/search/search-relations.ts';
import { stem, wordsOf } from '../src/words.ts';

const member = (
  name: string,
  title: string,
  kind: MemberMetadata['kind'],
  synonyms: string[] = [],
): MemberMetadata => ({
  name,
  title,
  description: '',
  type: kind === 'measure' ? 'number' : 'string',
  kind,
  synonyms,
});
const relation = (name: string, title: string, synonyms: string[], members: MemberMetadata[]): RelationMetadata => ({
  name,
  type: 'view',
  title,
  description: '',
  synonyms,
  members,
});
const relations = [
  relation(
    'sales',
    'Sales',
    ['trade'],
    [
      member('sales.revenue', 'Revenue', 'measure', ['turnover', 'net income']),
      member('sales.revenue_share', 'Revenue share', 'measure'),
      member('sales.productCategory', 'Category', 'dimension'),
      member('sales.customer_country', 'Customer country', 'dimension'),
      member('sales.merchant_country', 'Merchant country', 'dimension'),
      member('sales.channel', 'Channel', 'dimension'),
    ],
  ),
  relation(
    'fulfilment',
    'Fulfilment',
    ['delivery'],
    [member('fulfilment.channel', 'Channel', 'dimension'), member('fulfilment.boxes_sent', 'Boxes sent', 'measure')],
  ),
];
const match = (text: string) => matchWords(relations, text);

describe('the words of a search', () => {
  test('that name one thing are resolved, by name, title, synonym, plural or with a typo', () => {
    for (const [text, name] of [
      ['revenue', 'sales.revenue'],
      ['Revenue Share', 'sales.revenue_share'],
      ['the turnover in 2025', 'sales.revenue'],
      ['net incomes', 'sales.revenue'],
      ['product category', 'sales.productCategory'],
      ['categories', 'sales.productCategory'],
      ['catgeory', 'sales.productCategory'],
      ['reveneu', 'sales.revenue'],
      ['box sent', 'fulfilment.boxes_sent'],
    ] as const) {
      expect(match(text), text).toMatchObject({ match: 'resolved', resolved: [{ members: [name] }], unknown: [] });
    }
  });

  test('that name the same member in two views are resolved to both', () => {
    expect(match('channel')).toMatchObject({
      match: 'resolved',
      resolved: [{ words: 'channel', members: ['sales.channel', 'fulfilment.channel'] }],
    });
  });

  test('that name several members are ambiguous, unless more words settle it', () => {
    expect(match('revenue by country')).toMatchObject({
      match: 'ambiguous',
      resolved: [{ words: 'revenue', members: ['sales.revenue'] }],
      ambiguous: [{ words: 'country', members: ['sales.customer_country', 'sales.merchant_country'] }],
    });
    expect(match('revenue by merchant country').match).toBe('resolved');
  });

  test('that name nothing are told', () => {
    expect(match('revenue by planet')).toMatchObject({ match: 'partial', unknown: ['planet'] });
    expect(match('salary of employees')).toMatchObject({
      match: 'no match',
      resolved: [],
      unknown: ['salary', 'employees'],
    });
    expect(match('')).toMatchObject({ match: 'no match', unknown: [] });
  });

  test('name nothing that the user may not see', () => {
    expect(matchWords([], 'revenue')).toEqual({ match: 'no match', resolved: [], ambiguous: [], unknown: ['revenue'] });
  });
});

describe('a search', () => {
  const found = (text: string): string[] => searchRelations(relations, text).map(({ name }) => name);
  test('finds by synonym, plural, camel case and typo, and nothing for a word that is not there', () => {
    expect(found('turnover')).toEqual(['sales']);
    expect(found('deliveries')).toEqual(['fulfilment']);
    expect(found('box')).toEqual(['fulfilment']);
    expect(found('product')).toEqual(['sales']);
    expect(found('categroy')).toEqual(['sales']);
    expect(found('planet')).toEqual([]);
  });
});

test('words and stems', () => {
  expect(wordsOf('orderItems order_items Überschuss2025!')).toEqual([
    'order',
    'items',
    'order',
    'items',
    'überschuss2025',
  ]);
  expect(['categories', 'boxes', 'orders', 'status', 'gross', 'gas', 'analysis', 'dresses'].map(stem)).toEqual([
    'category',
    'box',
    'order',
    'status',
    'gross',
    'gas',
    'analysis',
    'dress',
  ]);
});
