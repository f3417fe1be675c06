/** Policies of views above those of cubes: what is visible, masked and left, and what metadata tell of it. */
import { describe, expect, test } from 'vitest';
import type { Policy } from '../src/model/data-model.ts';
import { rightsOf } from '../src/policy/rights.ts';
import { noRows } from '../src/policy/row-filter.ts';
import type { Subject } from '../src/policy/subject.ts';
import { visibleMetadata } from '../src/policy/visible-metadata.ts';
import { cube, dimension, entry, modelOf, nobody, sum, view } from './policy-model.ts';

describe('views', () => {
  const buyers = (policy: Policy | null) =>
    cube(
      'buyers',
      [
        dimension('buyers', 'id', 'number'),
        dimension('buyers', 'email', 'string'),
        dimension('buyers', 'domain', 'string', 'lower({email})'),
      ],
      policy,
    );
  const orders = (policy: Policy | null) =>
    cube(
      'orders',
      [
        dimension('orders', 'id', 'number'),
        dimension('orders', 'contact', 'string', '{buyers.email}'),
        sum('orders', 'amount', 'x'),
      ],
      policy,
    );
  const shown = {
    id: 'orders.id',
    amount: 'orders.amount',
    contact: 'orders.contact',
    email: 'orders.buyers.email',
    mail: 'orders.buyers.email',
    domain: 'orders.buyers.domain',
    seller_email: 'orders.sellers.buyers.email',
  };
  const open = { entries: [entry(Object.keys(shown))] };
  const build = (inView: Policy | null, inBuyers: Policy | null, inOrders: Policy | null = null) => {
    const cubes = [buyers(inBuyers), orders(inOrders)];
    const sales = view('sales', cubes, shown, inView);
    return { model: modelOf(cubes, [sales]), sales };
  };
  const seen = ({ model, sales }: ReturnType<typeof build>, subject: Subject = nobody) =>
    [...rightsOf(model, subject).visible(sales)].map(([name, { access }]) => (access === 'full' ? name : `(${name})`));
  const everything = Object.keys(shown);
  const granting = (...names: string[]): Policy => ({ entries: [entry(names)] });

  test('of the rules of a view and a cube the stricter wins', () => {
    expect(seen(build(open, null))).toEqual(everything);
    expect(seen(build(open, granting('id', 'domain')))).toEqual(['id', 'amount', 'contact', 'domain']);
    expect(seen(build(granting('email', 'id'), granting('email')))).toEqual(['id', 'email']);
    expect(seen(build(granting('email', 'id'), { entries: [] }))).toEqual(['id']);
    const masking = { entries: [entry(['id', 'domain'], null, { maskedMembers: new Set(['email']) })] };
    expect(seen(build(open, masking))).toEqual([
      'id',
      'amount',
      'contact',
      '(email)',
      '(mail)',
      'domain',
      '(seller_email)',
    ]);
    expect(seen(build(masking, granting('email', 'domain')))).toEqual(['id', '(email)', 'domain']);
  });

  test('without a policy it is admitted cube by cube, and by nothing where none is asked', () => {
    const bare = build(null, granting('email'));
    expect(seen(bare)).toEqual(['email', 'mail', 'seller_email']);
    expect(seen(build(null, null))).toEqual([]);
    expect(seen(bare, { ...nobody, seesUnprotected: true })).toEqual([
      'id',
      'amount',
      'contact',
      'email',
      'mail',
      'seller_email',
    ]);
    const rows = (taken: string[], subject: Subject) =>
      rightsOf(bare.model, subject).access({ name: 'sales', policy: null }, new Set(taken)).filter;
    expect(rows(['email'], nobody)).toBeNull();
    // Of orders, from which it hangs, nothing says who may count them.
    expect(rows([], nobody)).toEqual(noRows);
    expect(rows([], { ...nobody, seesUnprotected: true })).toBeNull();
    const { model } = build(null, null, { entries: [] });
    expect(rightsOf(model, nobody).access({ name: 'sales', policy: null }, new Set()).filter).toBeNull();
  });

  test('a member is hidden and masked under its other names, and through members that read it', () => {
    const names = everything.filter((name) => name !== 'email');
    const excluding = { entries: [entry(names, null, { excludedMembers: new Set(['email']) })] };
    expect(seen(build(excluding, null))).toEqual(['id', 'amount', 'seller_email']);
    const masking = { entries: [entry(names, null, { maskedMembers: new Set(['email']) })] };
    expect(seen(build(masking, null))).toEqual([
      'id',
      'amount',
      'contact',
      '(email)',
      '(mail)',
      'domain',
      'seller_email',
    ]);
    const { model, sales } = build(masking, null);
    const owner = { name: 'sales', policy: sales.policy };
    const masks = (taken: string) => [
      ...rightsOf(model, nobody)
        .access(owner, new Set([taken]))
        .masks.keys(),
    ];
    expect(['contact', 'domain', 'mail', 'seller_email'].map(masks)).toEqual([
      ['email'],
      ['email'],
      ['mail', 'email'],
      [],
    ]);
  });

  test('a row filter of a view names its members, and is typed by them', () => {
    const seven = {
      kind: 'compare',
      member: 'id',
      operator: 'equals',
      values: [{ kind: 'literal', value: '7' }],
    } as const;
    const policy = { entries: [entry(everything, seven)] };
    const { model } = build(policy, null);
    const owner = { name: 'sales', policy };
    expect(rightsOf(model, nobody).access(owner, new Set(['email'])).filter).toEqual({
      kind: 'compare',
      member: 'id',
      operator: 'equals',
      values: [{ value: 7, origin: 'sales 0 0.0' }],
    });
  });

  test('hidden members stand nowhere in the metadata', () => {
    const { model, sales } = build(granting('id', 'amount', 'domain'), null);
    const withMore = {
      ...sales,
      hierarchies: [
        { name: 'h', title: 'H', levels: ['email', 'domain'] },
        { name: 'gone', title: 'Gone', levels: ['email'] },
      ],
      folders: [
        { name: 'f', members: ['email', 'id', { name: 'inner', members: ['mail'] }] },
        { name: 'gone', members: [{ name: 'inner', members: ['mail'] }] },
      ],
    };
    const relations = new Map([...model.relations, ['sales', withMore]]);
    const metadata = visibleMetadata({ ...model, relations }, nobody);
    expect(metadata.map(({ name }) => name)).toEqual(['sales']);
    expect(metadata[0]).toMatchObject({
      members: [
        { name: 'sales.id', isPrimaryKey: true },
        { name: 'sales.amount', aggType: 'sum' },
        { name: 'sales.domain' },
      ],
      hierarchies: [{ name: 'h', levels: ['sales.domain'] }],
      folders: [{ name: 'f', members: ['sales.id'] }],
    });
    expect(JSON.stringify(metadata)).not.toMatch(/mail|gone|inner|contact/);
  });

  test('metadata say of a masked member that it is, and of no other', () => {
    const masking = { entries: [entry(['id'], null, { maskedMembers: new Set(['email']) })] };
    const { model } = build(masking, null);
    const [sales] = visibleMetadata(model, nobody);
    expect(sales?.members.map(({ name, isMasked }) => [name, isMasked])).toEqual([
      ['sales.id', undefined],
      ['sales.email', true],
    ]);
  });

  test('what is not public is there for nobody', () => {
    const { model, sales } = build(open, null);
    const names = (relation: typeof sales) => [...rightsOf(model, nobody).visible(relation).keys()];
    expect(names({ ...sales, isPublic: false })).toEqual([]);
    const members = new Map([...sales.members].map(([name, it]) => [name, { ...it, isPublic: name === 'id' }]));
    expect(names({ ...sales, members })).toEqual(['id']);
  });

  test('cubes that a query joins are each admitted by their own policy, and only if they may be asked by name', () => {
    const cubes = [buyers(granting('email')), orders(null)];
    const model = modelOf(cubes);
    const joined = {
      ...view('', cubes, { 'buyers.email': 'buyers.email', 'orders.id': 'orders.id' }, null),
      type: 'joined' as const,
    };
    expect([...rightsOf(model, nobody).visible(joined).keys()]).toEqual(['buyers.email']);
    const hidden = [...model.relations].map(([name, relation]) => [name, { ...relation, isPublic: false }] as const);
    expect(rightsOf({ ...model, relations: new Map(hidden) }, nobody).visible(joined).size).toBe(0);
  });
});
