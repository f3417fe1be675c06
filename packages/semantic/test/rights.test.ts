import { describe, expect, test } from 'vitest';
import type { Policy, PolicyEntry, PolicyFilter, PolicyValue } from '../src/model/data-model.ts';
import type { PolicyOperator } from '../src/model/policy-operators.ts';
import { rightsOf } from '../src/policy/rights.ts';
import { noRows, type RowFilter } from '../src/policy/row-filter.ts';
import type { AttributeValue, Subject } from '../src/policy/subject.ts';
import { calculated, cube, dimension, entry, modelOf, nobody, segment, sum } from './policy-model.ts';

const members = [
  dimension('t', 'id', 'number'),
  dimension('t', 'a', 'string'),
  dimension('t', 'b', 'string'),
  dimension('t', 'c', 'string'),
  dimension('t', 'at', 'time'),
  dimension('t', 'is_open', 'boolean'),
  dimension('t', 'loud', 'string', 'upper({a})'),
  segment('t', 'open', '{is_open}'),
  sum('t', 'total', '{id}'),
  sum('t', 'other', 'x'),
  calculated('t', 'ratio', '{total} / {other}'),
];
const all = members.map(({ name }) => name);
const others = (...names: string[]) => all.filter((name) => !names.includes(name));

const literal = (value: string | number | boolean): PolicyValue => ({ kind: 'literal', value });
const attribute = (name: string): PolicyValue => ({ kind: 'userAttribute', name });
const where = (member: string, operator: PolicyOperator, ...values: PolicyValue[]): PolicyFilter => ({
  kind: 'compare',
  member,
  operator,
  values,
});
const user = (userAttributes: Record<string, AttributeValue> = {}, more: Partial<Subject> = {}): Subject => ({
  ...nobody,
  userAttributes,
  ...more,
});
const accessTo = (entries: readonly PolicyEntry[], taken: readonly string[], subject: Subject = nobody) => {
  const t = cube('t', members, { entries });
  const owner = { name: 't', policy: t.policy };
  return rightsOf(modelOf([t]), subject).access(owner, new Set(taken));
};
/** A filter without the origins of its values. */
const plain = (filter: RowFilter | null): unknown => {
  if (filter === null) return 'all rows';
  if (filter.kind !== 'compare') return { [filter.kind]: filter.filters.map(plain) };
  return [filter.member, filter.operator, ...filter.values.map(({ value }) => value)];
};
const filterFor = (filter: PolicyFilter, subject: Subject) =>
  plain(accessTo([entry(all, filter)], ['a'], subject).filter);
const never = { or: [] };

describe('entries', () => {
  const low = where('id', 'lt', literal(500));
  const high = where('id', 'gte', literal(500));
  const overlapping = [entry(['a', 'b'], low), entry(['b', 'c'], high)];
  const [p1, p2] = [
    ['id', 'lt', 500],
    ['id', 'gte', 500],
  ];

  test.each([
    ['a and b: the first', ['a', 'b'], p1],
    ['b and c: the second', ['b', 'c'], p2],
    ['b: both', ['b'], { or: [p1, p2] }],
    ['a, b and c: no entry covers all, so no rows', ['a', 'b', 'c'], never],
    ['nothing taken: every entry that leaves a member', [], { or: [p1, p2] }],
    ['a member that none grants', ['id'], never],
  ])('%s', (_name, taken, expected) => {
    expect(plain(accessTo(overlapping, taken).filter)).toEqual(expected);
  });

  test('an entry that grants nothing admits nothing, not even a join on the way', () => {
    expect(accessTo([entry([])], []).filter).toEqual(noRows);
    // What it grants reads what it says must not be seen.
    expect(accessTo([entry(['loud'], null, { excludedMembers: new Set(['a']) })], []).filter).toEqual(noRows);
  });

  test('no entry: no rows', () => {
    expect(accessTo([], []).filter).toEqual(noRows);
    expect(accessTo([entry(all, null, { groups: ['g'] })], ['a']).filter).toEqual(noRows);
    expect(accessTo([entry(all, null, { groups: ['g'] })], ['a'], user({}, { groups: ['g'] })).filter).toBeNull();
  });

  test('all conditions of an entry have to hold', () => {
    const said = (name: string) => ({ kind: 'truthy', value: { kind: 'securityContext', path: [name] } }) as const;
    const both = entry(all, null, { conditions: [said('active'), said('paid')] });
    const rows = (active: boolean, paid: boolean) =>
      plain(accessTo([both], ['a'], user({}, { securityContext: { active, paid } })).filter);
    expect([rows(true, true), rows(true, false), rows(false, true)]).toEqual(['all rows', never, never]);
  });

  test('one that opens all rows, also by a list of no filters, needs a word for embed tenants', () => {
    const customer = user({}, { isEmbedTenantScope: true, groups: ['editors'] });
    const empty: PolicyFilter = { kind: 'and', filters: [{ kind: 'or', filters: [{ kind: 'and', filters: [] }] }] };
    for (const rows of [null, empty]) {
      expect(accessTo([entry(all, rows, { groups: ['editors'] })], ['a'], customer).filter).toEqual(noRows);
      expect(accessTo([entry(all, rows)], ['a'], customer).filter).toEqual(noRows);
      const said = entry(all, rows, { groups: ['editors'], matchesEmbedTenants: true });
      expect(accessTo([said], ['a'], customer).filter).toBeNull();
      expect(accessTo([entry(all, rows)], ['a'], { ...customer, isEmbedTenantScope: false }).filter).toBeNull();
    }
    expect(plain(accessTo([entry(all, low)], ['a'], customer).filter)).toEqual(p1);
  });
});

describe('values', () => {
  const someone = user(
    { region: 'north', regions: ['n', 's'], none: null, empty: '', list: [], holed: ['n', ''], ids: [1, 2], seven: 7 },
    { securityContext: { shop: { id: 5, empty: '', tags: ['x', 'y'] } }, groups: ['g', 'h'], embedTenantName: 'acme' },
  );
  const context = (...path: string[]): PolicyValue => ({ kind: 'securityContext', path });

  test.each<[string, PolicyValue, unknown[]]>([
    ['an attribute', attribute('region'), ['north']],
    ['a list spreads', attribute('regions'), ['n', 's']],
    ['a number is text for a text', attribute('seven'), ['7']],
    ['the security context', context('shop', 'id'), ['5']],
    ['a list in it', context('shop', 'tags'), ['x', 'y']],
    ['groups', { kind: 'groups' }, ['g', 'h']],
    ['the embed tenant', { kind: 'embedTenantName' }, ['acme']],
    ['an empty text of the author', literal(''), ['']],
  ])('%s', (_name, value, expected) => {
    expect(filterFor(where('a', 'equals', value), someone)).toEqual(['a', 'equals', ...expected]);
  });

  const operators = [
    'equals',
    'notEquals',
    'contains',
    'notContains',
    'startsWith',
    'notStartsWith',
    'endsWith',
  ] as const;
  test.each([...operators, 'notEndsWith', 'gt', 'gte', 'lt', 'lte'] as const)(
    'what is missing, null or empty makes %s false, also beside a value that is there',
    (operator) => {
      const missing: PolicyValue[] = [
        ...['none', 'absent', 'empty', 'list', 'holed', 'constructor', '__proto__', 'toString'].map(attribute),
        context('shop', 'empty'),
        context('shop', 'id', 'deeper'),
        context('shop'),
        context('__proto__', 'x'),
      ];
      for (const value of missing) {
        expect(filterFor(where('a', operator, value), someone), JSON.stringify(value)).toEqual(never);
        expect(filterFor(where('a', operator, literal('x'), value), someone)).toEqual(never);
      }
      expect(filterFor(where('a', operator, { kind: 'groups' }), nobody)).toEqual(never);
      expect(filterFor(where('a', operator, { kind: 'embedTenantName' }), nobody)).toEqual(never);
    },
  );

  test('a filter without values is not touched by any of this', () => {
    expect(filterFor(where('a', 'set'), nobody)).toEqual(['a', 'set']);
    expect(filterFor(where('a', 'notSet'), nobody)).toEqual(['a', 'notSet']);
  });

  test('one false filter closes an and, and not an or', () => {
    const filters = [where('a', 'set'), where('b', 'equals', attribute('none'))];
    expect(filterFor({ kind: 'and', filters }, someone)).toEqual(never);
    expect(filterFor({ kind: 'or', filters }, someone)).toEqual(['a', 'set']);
  });

  test.each<[string, string, AttributeValue, unknown]>([
    ['decimal text', 'id', '7', 7],
    ['decimal text with places', 'id', '1.50', 1.5],
    ['19 digits', 'id', '1234567890123456789', 1234567890123456789n],
    ['a whole number beyond 2^53, which has lost digits', 'id', 9007199254740992, null],
    ['the same for a text', 'a', 9007199254740992, null],
    ['more digits than a double holds', 'id', '123456789012345.999999', null],
    ['no number', 'id', 'NaN', null],
    ['an exponent', 'id', '1e3', null],
    ['beyond 64 bits', 'id', '9223372036854775808', null],
    ['white space', 'id', ' 7', null],
    ['a text for a boolean', 'is_open', 'true', null],
    ['a number for a boolean', 'is_open', 1, null],
    ['a boolean', 'is_open', true, true],
    ['a boolean for a number', 'id', true, null],
    ['a day', 'at', '2024-01-31', '2024-01-31 00:00:00.000000'],
    ['no day of the calendar', 'at', '2024-02-30', null],
    ['a number for a time', 'at', 1706659200000, null],
    ['a NUL', 'a', 'x\0y', null],
  ])('%s', (_name, member, value, bound) => {
    const expected = bound === null ? never : [member, 'equals', bound];
    expect(filterFor(where(member, 'equals', attribute('x')), user({ x: value }))).toEqual(expected);
  });

  test('a text is searched for in texts, and an order is one of numbers, texts and times', () => {
    expect(filterFor(where('a', 'contains', literal(7)), nobody)).toEqual(['a', 'contains', '7']);
    expect(filterFor(where('id', 'contains', literal('7')), nobody)).toEqual(never);
    expect(filterFor(where('at', 'contains', literal('2024')), nobody)).toEqual(never);
    expect(filterFor(where('is_open', 'notContains', literal('t')), nobody)).toEqual(never);
    expect(filterFor(where('is_open', 'gt', literal(false)), nobody)).toEqual(never);
  });

  test('an order takes one value', () => {
    expect(filterFor(where('id', 'gt', attribute('ids')), someone)).toEqual(never);
  });

  test('what a filter names has to be a dimension', () => {
    expect(filterFor(where('total', 'gt', literal(1)), nobody)).toEqual(never);
    expect(filterFor(where('nothing', 'notEquals', literal(1)), nobody)).toEqual(never);
  });
});

describe('dates', () => {
  const at = (operator: string, text: string) => ['at', operator, `${text}.000000`];
  const day = (operator: PolicyOperator, ...texts: AttributeValue[]) =>
    filterFor(
      where('at', operator, ...texts.map((_, index) => attribute(`x${index}`))),
      user(Object.fromEntries(texts.map((text, index) => [`x${index}`, text]))),
    );

  test('a day is whole', () => {
    const first = at('gte', '2024-01-30 00:00:00');
    expect(day('inDateRange', '2024-01-30', '2024-01-31')).toEqual({ and: [first, at('lt', '2024-02-01 00:00:00')] });
    expect(day('notInDateRange', '2024-01-30', '2024-02-29')).toEqual({
      or: [at('lt', '2024-01-30 00:00:00'), at('gte', '2024-03-01 00:00:00')],
    });
    expect(day('beforeDate', '2024-01-31')).toEqual(at('lt', '2024-01-31 00:00:00'));
    expect(day('beforeOrOnDate', '2024-01-31')).toEqual(at('lt', '2024-02-01 00:00:00'));
    expect(day('afterDate', '2024-01-31')).toEqual(at('gte', '2024-02-01 00:00:00'));
    expect(day('afterOrOnDate', '2024-01-31')).toEqual(at('gte', '2024-01-31 00:00:00'));
  });

  test('a time of day is an instant', () => {
    expect(day('inDateRange', '2024-01-30 08:00', '2024-01-31T12:00:00Z')).toEqual({
      and: [at('gte', '2024-01-30 08:00:00'), at('lte', '2024-01-31 12:00:00')],
    });
    expect(day('afterDate', '2024-01-31 12:00')).toEqual(at('gt', '2024-01-31 12:00:00'));
    expect(day('beforeOrOnDate', '2024-01-31 12:00')).toEqual(at('lte', '2024-01-31 12:00:00'));
  });

  test('a list is a range', () => {
    const range = filterFor(where('at', 'inDateRange', attribute('x')), user({ x: ['2024-01-01', '9999-12-31'] }));
    expect(range).toEqual({ and: [at('gte', '2024-01-01 00:00:00'), ['at', 'lte', '9999-12-31 23:59:59.999999']] });
  });

  test('anything else is false', () => {
    expect(day('inDateRange', '2024-01-30')).toEqual(never);
    expect(day('inDateRange', '2024-01-30', '2024-01-31', '2024-02-01')).toEqual(never);
    expect(day('notInDateRange', '2024-01-30', null)).toEqual(never);
    expect(day('notInDateRange', '2024-01-30', '2024-02-30')).toEqual(never);
    expect(day('beforeDate', 'yesterday')).toEqual(never);
    expect(day('afterDate', 20240131)).toEqual(never);
    expect(filterFor(where('a', 'beforeDate', literal('2024-01-31')), nobody)).toEqual(never);
  });
});

describe('masks', () => {
  const masked = (...names: string[]) => ({ maskedMembers: new Set(names) });
  const own = where('id', 'equals', attribute('id'));
  const someone = user({ id: 7 });

  test('a member that is granted masked covers the rows and shows the mask', () => {
    const { filter, masks } = accessTo([entry(others('a'), own, masked('a'))], ['a', 'b'], someone);
    expect(plain(filter)).toEqual(['id', 'equals', 7]);
    expect([...masks]).toEqual([['a', null]]);
  });

  test('it is shown in the rows of the entries that grant it in full', () => {
    const entries = [entry(others('a'), null, masked('a')), entry(all, own)];
    const { filter, masks } = accessTo(entries, ['a', 'b'], someone);
    expect(filter).toBeNull();
    expect([...masks].map(([name, rows]) => [name, plain(rows)])).toEqual([['a', ['id', 'equals', 7]]]);
    // Nobody's rows: masked in all of them.
    expect([...accessTo(entries, ['a', 'b'], nobody).masks]).toEqual([['a', null]]);
    // An entry that does not cover the query does not unmask either.
    expect([
      ...accessTo([entry(others('a'), null, masked('a')), entry(['a'], own)], ['a', 'b'], someone).masks,
    ]).toEqual([['a', null]]);
    expect(accessTo([...entries, entry(all)], ['a'], someone).masks.size).toBe(0);
  });

  test('it is masked in the members that read it', () => {
    const entries = [entry(others('a'), null, masked('a'))];
    expect([...accessTo(entries, ['loud'], nobody).masks]).toEqual([['a', null]]);
    expect(accessTo(entries, ['b'], nobody).masks.size).toBe(0);
    expect([...accessTo([entry(others('total'), null, masked('total'))], ['ratio'], nobody).masks]).toEqual([
      ['total', null],
    ]);
  });

  test('a measure is shown only where every row that counts is', () => {
    const of = (...entries: PolicyEntry[]) => [...accessTo(entries, ['total'], someone).masks];
    const part = entry(others('total'), where('b', 'set'), masked('total'));
    expect(of(part, entry(all, own))).toEqual([['total', null]]);
    expect(of(part, entry(all))).toEqual([]);
    expect(
      of(entry(others('total'), where('b', 'equals', attribute('none')), masked('total')), entry(all, own)),
    ).toEqual([]);
  });
});

describe('members that read others', () => {
  const t = (policy: Policy) => modelOf([cube('t', members, policy)]);
  const seen = (policy: Policy) => {
    const model = t(policy);
    const relation = model.relations.get('t');
    return relation === undefined ? [] : [...rightsOf(model, nobody).visible(relation).keys()];
  };
  test('what an entry says must not be seen is not seen through them', () => {
    const without = (name: string) => ({ entries: [entry(others(name), null, { excludedMembers: new Set([name]) })] });
    expect(seen(without('a'))).toEqual(others('a', 'loud'));
    expect(seen(without('id'))).toEqual(others('id', 'total', 'ratio'));
    expect(seen(without('is_open'))).toEqual(others('is_open', 'open'));
  });
  test('what an entry merely does not list may be read by those it lists', () => {
    expect(seen({ entries: [entry(['loud', 'ratio'])] })).toEqual(['loud', 'ratio']);
  });
});
