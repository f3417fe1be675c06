/** What holds for every question, value and name. */

import { nextTurn } from '@inlay/analyst/analyst.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ask, inputOf, rowsResult, sales, shop, sqlOf, withResult } from './shop-catalogue.ts';

const questions = [
  'revenue by channel',
  'show me the average order value per brand in Q3 2024 please',
  'top 5 products by revenue',
  'on-time rate by carrier last 30 days',
  'revenue without web and store in Germany by month',
  'how many orders between March and May 2024',
  'which product has the highest revenue since 2023',
  'revenue web vs store',
];

// Words that no language has, so that none is a member, a value or English.
const nonsense = fc
  .array(fc.constantFrom(...'qxzvkjwQXZ'), { minLength: 4, maxLength: 12 })
  .map((letters) => `zq${letters.join('')}`);

describe('for every question', () => {
  it.each(questions)('a word without a meaning is named and nothing is queried: %s', (question) => {
    expect(sqlOf(question)).toMatch(/^SELECT/);
    const words = question.split(' ');
    fc.assert(
      fc.property(nonsense, fc.nat(words.length), (word, place) => {
        const { turn } = ask(words.toSpliced(place, 0, word).join(' '));
        expect(turn.toolCalls).toEqual([]);
        expect(turn.text).toContain(`"${word}"`);
      }),
      { numRuns: 25 },
    );
  });

  it('the same holds in a follow-up', () => {
    const { turn, messages } = ask('revenue by channel');
    const before = withResult(messages, turn, rowsResult(['channel:String', 'revenue:Decimal'], []));
    fc.assert(
      fc.property(nonsense, fc.nat(2), (word, place) => {
        const next = ask(['only', 'web'].toSpliced(place, 0, word).join(' '), before).turn;
        expect(next.toolCalls).toEqual([]);
        expect(next.text).toContain(`"${word}"`);
      }),
      { numRuns: 25 },
    );
  });

  it('every symbol or number in the middle of a question is mapped or named', () => {
    const pieces = fc.oneof(
      fc.constantFrom('=', '<', '>', '%', '$', '€', '#', '@', '*', '^', '~', '😀', '→'),
      fc.integer({ min: 10, max: 1800 }).map(String),
    );
    fc.assert(
      fc.property(pieces, (piece) => {
        const { turn } = ask(`revenue ${piece} by channel`);
        expect(turn.toolCalls).toEqual([]);
        expect(turn.text.replaceAll('\\', '')).toContain(`"${piece}"`);
      }),
    );
  });

  it('any text gives a turn, the same each time, and never more than one call', () => {
    const words = fc.constantFrom(
      ...'revenue orders by per channel month top 5 last 2024 Q3 since between and web store without only March'.split(
        ' ',
      ),
    );
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc
        .array(fc.oneof(words, fc.string({ unit: 'grapheme', maxLength: 8 })), { maxLength: 30 })
        .map((list) => list.join(' ')),
    );
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), (texts) => {
        const messages = texts.map((content) => ({ role: 'user', content }) as const);
        const turn = nextTurn(messages, shop);
        expect(nextTurn(messages, shop)).toEqual(turn);
        expect(turn.toolCalls.length).toBeLessThanOrEqual(1);
        expect(turn.toolCalls.length + turn.text.length).toBeGreaterThan(0);
        const { sqlQuery } = inputOf(ask(texts.at(-1) ?? '').turn);
        if (sqlQuery !== undefined) expect(sqlQuery).toMatch(/^SELECT .* FROM (?:sales|fulfilment)/);
      }),
      { numRuns: 150 },
    );
  });

  it('a value stands in the SQL as one literal, whatever it is', () => {
    const value = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 30 }),
      fc.string({ unit: fc.constantFrom("'", '"', '\\', '-', ';', 'a', ' ') }),
    );
    fc.assert(
      fc.property(value, (text) => {
        // A value of symbols alone is not looked for.
        fc.pre(/[\p{L}\p{N}]/u.test(text));
        const context = { ...shop, valueMatches: [{ member: 'sales.brand', value: text }] };
        const { sqlQuery } = inputOf(ask(`revenue for brand "${text}"`, [], context).turn);
        if (sqlQuery === undefined) return;
        const literal = /^SELECT MEASURE\(revenue\) AS revenue FROM sales WHERE brand = '((?:[^']|'')*)'$/su.exec(
          sqlQuery,
        )?.[1];
        expect(literal?.replaceAll("''", "'")).toBe(text);
      }),
      { numRuns: 150 },
    );
  });

  it('the value test above is not empty', () => {
    const context = { ...shop, valueMatches: [{ member: 'sales.brand', value: "a'; DROP TABLE x --" }] };
    expect(sqlOf(`revenue for brand "a'; DROP TABLE x --"`, context)).toBe(
      "SELECT MEASURE(revenue) AS revenue FROM sales WHERE brand = 'a''; DROP TABLE x --'",
    );
  });

  it('no cell brings a link, image, HTML or line break into an answer', () => {
    const { turn, messages } = ask('revenue by channel');
    const hostile = fc.string({
      unit: fc.constantFrom('[', ']', '(', ')', '!', '<', '>', '`', '\\', '\n', 'a', '@', 'www.', 'http://', '*'),
    });
    fc.assert(
      fc.property(hostile, (cell) => {
        const result = rowsResult(['channel:String', 'revenue:Decimal'], [[cell, 1]]);
        const { text } = nextTurn(withResult(messages, turn, result), shop);
        // What is not escaped is not active, and what is shown in the end holds no address that would become a link.
        expect(text.replace(/\\[\\[\]()!`*<>|~&_]/g, '·')).not.toMatch(/[[\]()!`*<>\\\n]/);
        expect(text.replace(/\\(.)/g, '$1')).not.toMatch(/:\/\/|www\.|\S@[a-z]/);
      }),
    );
  });

  it('titles of members cannot bring a link into an answer', () => {
    const members = sales.members.map((member) =>
      member.name === 'sales.revenue' ? { ...member, title: '[Revenue](http://evil.example)' } : member,
    );
    const { turn } = ask('revenue by chanel', [], { ...shop, relations: [{ ...sales, members }] });
    expect(turn.text).toContain('\\[Revenue\\]\\(http: //evil.example\\)');
  });
});
