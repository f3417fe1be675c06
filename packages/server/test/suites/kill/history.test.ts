/** The judge of the kill suites has to see what it is there for: losses, halves, and writes that came back. */
import { expect, test } from 'vitest';
import { groupsOf, type KillCall, nextCall, partsOf, readParts, type StoredRows } from './calls.ts';
import { createHistory } from './history.ts';

const call = (mark: number): KillCall => ({
  mark,
  body: {},
  parts: [partsOf.user('k-shared-1'), partsOf.rights('k-shared-1', '')],
});

function rowsOf(mark: number, more: Partial<StoredRows> = {}): StoredRows {
  const externalId = 'k-shared-1';
  return {
    users: [{ externalId, email: `m${mark}@example.com`, displayName: `m${mark}` }],
    memberships: groupsOf(mark).map((name) => ({ externalId, tenant: '', name })),
    values: ['v1', 'v2', 'v3', 'v4', 'v5'].map((name) => ({ externalId, tenant: '', name, value: mark })),
    definitions: [],
    ...more,
  };
}

const nothing: StoredRows = { users: [], memberships: [], values: [], definitions: [] };

/** Two calls after each other, both acknowledged, and one thereafter that got no answer. */
function twoAndOne() {
  let now = 0;
  const history = createHistory(() => now++);
  history.begin(call(1001))();
  history.begin(call(1002))();
  history.begin(call(1003));
  return history;
}

test('what the last call wrote, or one that got no answer, is right', () => {
  expect(twoAndOne().problemsOf(readParts(rowsOf(1002)))).toEqual([]);
  expect(twoAndOne().problemsOf(readParts(rowsOf(1003)))).toEqual([]);
});

test('a call without an answer need not have happened; one with an answer must', () => {
  const history = createHistory();
  const acknowledge = history.begin(call(1001));
  expect(history.problemsOf(readParts(nothing))).toEqual([]);
  acknowledge();
  expect(history.problemsOf(readParts(nothing)).join()).toContain('lost');
});

test('a call that was overwritten does not come back, nor does one without an answer once it is settled', () => {
  expect(
    twoAndOne()
      .problemsOf(readParts(rowsOf(1001)))
      .join(),
  ).toContain('came after it');
  const history = twoAndOne();
  history.settle();
  history.begin(call(1004))();
  expect(history.problemsOf(readParts(rowsOf(1003))).join()).toContain('came after it');
});

test.each<{ what: string; rows: StoredRows }>([
  {
    what: 'a profile of another call',
    rows: rowsOf(1002, { users: [{ externalId: 'k-shared-1', email: 'm1003@example.com', displayName: 'm1003' }] }),
  },
  {
    what: 'an email of another call',
    rows: rowsOf(1002, { users: [{ externalId: 'k-shared-1', email: 'm1003@example.com', displayName: 'm1002' }] }),
  },
  { what: 'groups of another call', rows: rowsOf(1002, { memberships: rowsOf(1003).memberships }) },
  { what: 'a group too few', rows: rowsOf(1002, { memberships: rowsOf(1002).memberships.slice(1) }) },
  { what: 'no groups', rows: rowsOf(1002, { memberships: [] }) },
  {
    what: 'a value of another call',
    rows: rowsOf(1002, { values: [...rowsOf(1002).values.slice(1), ...rowsOf(1003).values.slice(0, 1)] }),
  },
  { what: 'a value too few', rows: rowsOf(1002, { values: rowsOf(1002).values.slice(1) }) },
  { what: 'a user alone', rows: rowsOf(1002, { memberships: [], values: [] }) },
  { what: 'what nobody wrote', rows: rowsOf(7) },
])('$what is seen', ({ rows }) => {
  expect(twoAndOne().problemsOf(readParts(rows))).not.toEqual([]);
});

test('half of a call is seen, also of one that got no answer', () => {
  const whole = rowsOf(1001);
  for (const rows of [
    { ...whole, memberships: [], values: [] },
    { ...whole, users: [] },
  ]) {
    const history = createHistory();
    history.begin(call(1001));
    expect(history.problemsOf(readParts(whole))).toEqual([]);
    expect(history.problemsOf(readParts(rows)).join()).toContain('half-applied');
  }
});

test('every kind of call is made, and each part that it writes is told', () => {
  let seed = 1;
  const random = () => {
    seed = (seed * 16_807) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  const calls = Array.from({ length: 500 }, (_, index) => nextCall(1000 + index, random));
  for (const kind of ['still', 'new', 'shared', 'maker', 'fresh']) {
    expect(calls.filter(({ parts }) => parts[0]?.startsWith(`user k-${kind}-`)).length).toBeGreaterThan(10);
  }
});
