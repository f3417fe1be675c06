/** What the analyst cannot map or must not answer: it names the reason and queries nothing. */

import { nextTurn } from '@inlay/analyst/analyst.ts';
import { describe, expect, it } from 'vitest';
import { ask, fulfilment, sales, shop, withResult } from './shop-catalogue.ts';

const refusals: readonly (readonly [question: string, named: string])[] = [
  ['revenue by chanel', 'I understood Revenue, but not "chanel". Nearest: Channel.'],
  ['average revenue by channel', 'but not "average"'],
  ['revenue by hour', 'but not "hour"'],
  ['revenue for Atlantis', 'but not "Atlantis"'],
  ['revenue growth by month', 'but not "growth"'],
  ['revenue 5 channels', 'but not "5"'],
  ['revenue over 1000 by channel', 'but not "over" or "1000"'],
  ['revenue != web', 'but not "="'],
  ['revenue -web', 'but not "-"'],
  ['revenue including cancelled', 'but not "including"'],
  ['revenue by channel or category', 'but not "or"'],
  ['channels with at least 5 orders', 'but not "least" or "5"'],
  ['brands like Acme by revenue', 'but not "like"'],
  ['what will revenue be in 2026', 'but not "will"'],
  ['revenue for all but web', 'but not "but"'],
  ['revenue web excluded', 'but not "excluded"'],
  ['not only web revenue', 'After "not"'],
  ['revenue may', 'but not "may"'],
  ['how many products', 'I have no measure that counts "products".'],
  ['number of merchants by region', 'I have no measure that counts "merchants".'],
  ['unique revenue', 'I cannot take "unique" into account there.'],
  ['revenue from 2023', 'Do you mean "in 2023" or "since 2023"?'],
  ['revenue between 2024 and 2023', '2024 is after 2023.'],
  ['revenue on 30 February 2024', 'There is no such day in the calendar.'],
  ['revenue this year vs last year', 'one time range at a time'],
  ['revenue vs last year', 'I cannot compare with another time range.'],
  ['revenue without 2023', 'After "without" I can read values of a dimension only.'],
  ['revenue by month and week', 'one unit of time at a time'],
  ['revenue by channel, category, brand', '2 dimensions at a time'],
  ['revenue, orders, units and refunds', '3 measures at a time'],
  ['revenue by orders', 'Orders is a measure'],
  ['revenue from web orders', 'I cannot tell how "revenue" and "orders" belong together.'],
  ['products', 'You can ask for'],
  ['customer country', 'You can ask for Customers'],
  ['customer orders', 'I cannot tell how "customer" and "orders" belong together.'],
  ['top 5 products per channel by revenue', 'I cannot rank within each value of another dimension.'],
  ['top 5 products by revenue by month', 'I cannot rank'],
  ['top 5 by revenue', 'I need to know what to rank'],
  ['top 0 products by revenue', '1 to 1000 rows'],
  ['top 3 and bottom 3 products by revenue', 'not both at a time'],
  ['revenue for Berlin', '"Berlin" is a value of Brand and of Customer city.'],
  ['by channel', 'I need to know what to measure. You can ask for Revenue'],
  ['hello', 'I need to know what to measure.'],
  ['', 'I need to know what to measure.'],
  ['revenue by', 'I do not see what follows "by".'],
];

describe('refusals', () => {
  it.each(refusals)('%s', (question, named) => {
    const { turn } = ask(question);
    expect(turn.toolCalls).toEqual([]);
    expect(turn.text).toContain(named);
    expect(turn.text).toContain('I queried nothing.');
  });

  it('asks when two members fit a word equally well', () => {
    const members = sales.members.map((member) => ({ ...member, synonyms: ['line'] }));
    const { turn } = ask('revenue by line', [], { ...shop, relations: [{ ...sales, members }] });
    expect(turn.toolCalls).toEqual([]);
    expect(turn.text).toContain('"line" could be');
  });

  it('asks when a word is a value and a member', () => {
    const merchant = { ...shop, valueMatches: [{ member: 'sales.channel', value: 'shop' }] };
    expect(ask('shop revenue', [], merchant).turn.text).toContain('"shop" could be Merchant or a value of Channel');
    expect(ask('revenue per shop', [], merchant).turn.toolCalls).toHaveLength(1);
    expect(ask('revenue only shop', [], merchant).turn.toolCalls[0]?.input).toContain("channel = 'shop'");
  });

  it('does not take English for a value unless it is written like one', () => {
    const context = { ...shop, valueMatches: [{ member: 'sales.brand', value: 'Just' }] };
    expect(ask('just revenue', [], context).turn.toolCalls[0]?.input).not.toContain('brand');
    expect(ask('revenue for Just', [], context).turn.toolCalls[0]?.input).toContain("brand = 'Just'");
    expect(ask('revenue for "just"', [], context).turn.toolCalls[0]?.input).toContain("brand = 'Just'");
  });

  it('needs a date for a time', () => {
    const members = sales.members.filter(({ type }) => type !== 'time');
    const { turn } = ask('revenue by month', [], { ...shop, relations: [{ ...sales, members }] });
    expect(turn).toEqual({ text: expect.stringContaining('Sales has no date'), toolCalls: [] });
  });

  it('names no data to a user who may see none', () => {
    const { turn } = ask('revenue by month', [], { ...shop, relations: [] });
    expect(turn).toEqual({ text: 'There is no data here that you may query.', toolCalls: [] });
  });

  it('knows only the relations of the context', () => {
    const { turn } = ask('revenue by month', [], { ...shop, relations: [fulfilment] });
    expect(turn.toolCalls).toEqual([]);
    expect(turn.text).toContain('"revenue"');
    expect(turn.text).not.toContain('Revenue');
  });

  it('says that a question is too long', () => {
    const { turn } = ask('revenue '.repeat(4000));
    expect(turn).toEqual({ text: expect.stringContaining('too long'), toolCalls: [] });
  });

  it('reads the longest of questions against a large catalogue in time', () => {
    const relations = Array.from({ length: 10 }, (_, index) => ({ ...sales, name: `sales_${index}` }));
    const words = Array.from({ length: 399 }, (_, index) => `zq${index}x`.padEnd(70, 'z'));
    const { turn } = ask(words.join(' '), [], { ...shop, relations });
    expect(turn.toolCalls).toEqual([]);
    expect(turn.text).toContain('379 more');
    expect(ask('x'.repeat(32_000)).turn.text.length).toBeLessThan(400);
  });

  it('queries nothing when the metadata tool does not know the relation', () => {
    const messages = [{ role: 'user', content: 'revenue by channel' }] as const;
    const turn = nextTurn(messages, shop);
    const answered = withResult(messages, turn, JSON.stringify({ searchQuery: '', cubes: [{ name: 'fulfilment' }] }));
    expect(nextTurn(answered, shop)).toEqual({
      text: 'I found no data about revenue and channel. I queried nothing.',
      toolCalls: [],
    });
  });
});
