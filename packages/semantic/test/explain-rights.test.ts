import { describe, expect, test } from 'vitest';
import type { Policy, PolicyFilter } from '../src/model/data-model.ts';
import { explainRights } from '../src/policy/explain.ts';
import type { Subject } from '../src/policy/subject.ts';
import { cube, dimension, entry, modelOf, nobody, sum, view } from './policy-model.ts';

const members = [
  dimension('orders', 'id', 'number'),
  dimension('orders', 'email', 'string'),
  dimension('orders', 'domain', 'string', 'lower({email})'),
  sum('orders', 'revenue', 'x'),
];
const names = members.map(({ name }) => name);
const own: PolicyFilter = {
  kind: 'compare',
  member: 'id',
  operator: 'equals',
  values: [{ kind: 'userAttribute', name: 'shops' }],
};
const explain = (policy: Policy | null, subject: Subject, taken: readonly string[], of = 'orders') => {
  const cubes = [cube('orders', members, policy)];
  const sales = view('sales', cubes, { id: 'orders.id' }, null);
  return explainRights(modelOf(cubes, [sales]), subject, new Map([[of, new Set(taken)]]))[0];
};
const entryOf = (policy: Policy, subject: Subject, taken: readonly string[] = ['revenue']) =>
  explain(policy, subject, taken)?.entries[0];

test('tells of every entry whether it counts, and why', () => {
  const policy: Policy = {
    entries: [
      entry(names, own, { groups: ['merchant', 'shop'], maskedMembers: new Set(['email']) }),
      entry(names, null, { groups: ['platform_team'] }),
    ],
  };
  const subject = { ...nobody, groups: ['merchant'], userAttributes: { shops: [7, 8] } };
  expect(explain(policy, subject, ['revenue', 'domain', 'email'])).toEqual({
    name: 'orders',
    type: 'cube',
    taken: ['revenue', 'domain', 'email'],
    entries: [
      {
        position: 1,
        audience: 'group merchant or shop',
        counts: true,
        reasons: ['gives rows with id equals 7, 8', 'masks email'],
      },
      { position: 2, audience: 'group platform_team', counts: false, reasons: ['the user is in none of these groups'] },
    ],
    rows: 'rows with id equals 7, 8',
    masks: [{ member: 'email', rows: 'all rows' }],
  });
});

describe('why an entry does not count', () => {
  test('a value is missing', () => {
    expect(entryOf({ entries: [entry(names, own)] }, nobody)).toMatchObject({
      counts: false,
      reasons: [
        'its filter is false for this user',
        'userAttributes.shops is missing or empty, so the filter on id is false',
      ],
    });
  });
  test('it does not cover what the query takes', () => {
    expect(entryOf({ entries: [entry(['id', 'email'])] }, nobody, ['id', 'revenue'])?.reasons).toEqual([
      'it does not grant revenue',
    ]);
    const excluding = entry(['id', 'domain'], null, { excludedMembers: new Set(['email']) });
    expect(entryOf({ entries: [excluding] }, nobody, ['domain'])?.reasons).toEqual([
      'it does not grant domain, which reads email',
    ]);
    expect(entryOf({ entries: [entry([])] }, nobody, [])?.reasons).toEqual(['it grants no member']);
  });
  test('its condition', () => {
    const active = { kind: 'truthy', value: { kind: 'securityContext', path: ['active'] } } as const;
    const policy = { entries: [entry(names, null, { conditions: [active] })] };
    expect(entryOf(policy, { ...nobody, securityContext: { active: false } })?.reasons).toEqual([
      'its condition is false: securityContext.active',
    ]);
    expect(entryOf(policy, nobody)?.reasons).toEqual([
      'its condition cannot be decided, since a value is missing or of another type: securityContext.active',
    ]);
  });
  test("the group is an embed tenant's own", () => {
    expect(entryOf({ entries: [entry(names)] }, { ...nobody, isEmbedTenantScope: true })?.reasons).toEqual([
      'it opens all rows, and groups of an embed tenant count here only with embed_tenants: true',
    ]);
  });
});

test('what no policy protects', () => {
  expect(explain(null, nobody, ['id'])).toMatchObject({ entries: [], rows: 'all rows: no policy of its own' });
  expect(explain(null, { ...nobody, seesUnprotected: true }, ['id'])?.rows).toBe(
    'all rows: no policy, and this user sees what none protects',
  );
  expect(explain(null, nobody, [], 'sales')).toMatchObject({
    type: 'view',
    rows: 'no rows: no policy, and no member is taken from a cube that has one',
  });
});
