/** Row filters, masks and visible members on arbitrary policies, users and rows, against the rules written out a second time. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DataModel } from '../src/model/data-model.ts';
import { filterShape } from '../src/policy/policy-shape.ts';
import { type Rights, rightsOf } from '../src/policy/rights.ts';
import type { PlacedValue, RowFilter } from '../src/policy/row-filter.ts';
import type { Subject } from '../src/policy/subject.ts';
import { anyPolicy, anyRows, anySubject, anyTaken, modelOf, nobody, randomCube } from './policy-model.ts';
import { cubeOwner, mayName, type PlainRow, permitted } from './policy-reference.ts';

/** The SQL's meaning of a row filter: a comparison with null is not true. */
function isTrue(filter: RowFilter, row: PlainRow): boolean {
  if (filter.kind !== 'compare') {
    const results = filter.filters.map((it) => isTrue(it, row));
    return filter.kind === 'and' ? !results.includes(false) : results.includes(true);
  }
  const cell = row[filter.member] ?? null;
  const values = filter.values.map(({ value }) => value);
  const isTime = filter.member === 'time';
  const key = (value: unknown) => (isTime ? String(value).slice(0, 19) : value);
  const text = String(cell).toLowerCase();
  const some = (find: (text: string, value: string) => boolean) =>
    values.some((value) => find(text, String(value).toLowerCase()));
  const [first] = values;
  switch (filter.operator) {
    case 'set':
      return cell !== null;
    case 'notSet':
      return cell === null;
    case 'equals':
      return cell !== null && values.some((value) => key(value) === cell);
    case 'notEquals':
      return cell === null || !values.some((value) => key(value) === cell);
    case 'contains':
      return cell !== null && some((one, other) => one.includes(other));
    case 'notContains':
      return cell === null || !some((one, other) => one.includes(other));
    case 'startsWith':
      return cell !== null && some((one, other) => one.startsWith(other));
    case 'notStartsWith':
      return cell === null || !some((one, other) => one.startsWith(other));
    case 'endsWith':
      return cell !== null && some((one, other) => one.endsWith(other));
    case 'notEndsWith':
      return cell === null || !some((one, other) => one.endsWith(other));
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte': {
      if (cell === null || first === undefined || values.length !== 1) return false;
      const [one, other] = isTime ? [`${cell}.000000`, first] : [cell, first];
      const [less, equal] = [one < other, one === other];
      return { lt: less, lte: less || equal, gt: !less && !equal, gte: !less }[filter.operator];
    }
  }
}

const ownerOf = (model: DataModel) => {
  const t = model.cubes.get('t');
  if (t === undefined) throw new Error('no cube');
  return { name: 't', policy: t.policy };
};
const accessOf = (model: DataModel, rights: Rights, taken: ReadonlySet<string>) => rights.access(ownerOf(model), taken);
const runs = { numRuns: 3000 };

/** The values of a filter, in their order. */
const valuesIn = (filter: RowFilter): readonly PlacedValue[] =>
  filter.kind === 'compare' ? filter.values : filter.filters.flatMap(valuesIn);

describe('arbitrary policies', () => {
  test('leave the rows and masks that the rules say', () => {
    const seen = { rows: 0, none: 0, partly: 0, masked: 0, measures: 0 };
    fc.assert(
      fc.property(anyPolicy, anySubject, anyTaken, anyRows, (policy, subject, taken, rows) => {
        const model = modelOf([randomCube(policy)]);
        const owner = cubeOwner(model, 't');
        const { filter, masks } = accessOf(model, rightsOf(model, subject), taken);
        const left = rows.filter((row) => filter === null || isTrue(filter, row));
        const expected = permitted(owner, subject, taken, rows);
        expect(left).toEqual(expected.rows.map(({ row }) => row));
        const maskedIn = (row: PlainRow) =>
          [...masks].flatMap(([name, shown]) => (shown !== null && isTrue(shown, row) ? [] : [name]));
        const isMeasure = (name: string) => owner.members.get(name)?.kind === 'measure';
        for (const { row, masked } of expected.rows) {
          expect(
            maskedIn(row)
              .filter((name) => !isMeasure(name))
              .sort(),
          ).toEqual([...masked].sort());
          seen[masked.size > 0 ? 'masked' : 'rows'] += 1;
        }
        expect([...masks.keys()].filter(isMeasure).sort()).toEqual([...expected.maskedMeasures].sort());
        for (const [name, shown] of masks) if (isMeasure(name)) expect(shown).toBeNull();
        if (rows.length > 0 && left.length === 0) seen.none += 1;
        if (left.length > 0 && left.length < rows.length) seen.partly += 1;
        if (expected.maskedMeasures.size > 0) seen.measures += 1;
      }),
      runs,
    );
    // Otherwise the runs would show nothing.
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(50);
  });

  test('show the members that the rules say', () => {
    fc.assert(
      fc.property(fc.option(anyPolicy, { freq: 10 }), anySubject, (policy, subject) => {
        const model = modelOf([randomCube(policy)]);
        const owner = cubeOwner(model, 't');
        const relation = model.relations.get('t');
        const seen = relation === undefined ? [] : [...rightsOf(model, subject).visible(relation).keys()];
        const expected = [...owner.members.keys()].filter((it) => mayName(owner, it, subject, subject.seesUnprotected));
        expect(seen).toEqual(expected);
      }),
      runs,
    );
  });

  test('of one shape have one text, and the values of each user by their origin', () => {
    let alike = 0;
    fc.assert(
      fc.property(anyPolicy, anySubject, anySubject, anyTaken, (policy, one, other, taken) => {
        const model = modelOf([randomCube(policy)]);
        const [first, second] = [rightsOf(model, one), rightsOf(model, other)];
        for (const rights of [first, second]) {
          const { filter } = accessOf(model, rights, taken);
          const values = rights.values(ownerOf(model));
          for (const { origin, value } of filter === null ? [] : valuesIn(filter))
            expect(values.get(origin)).toBe(value);
        }
        if (first.shape(ownerOf(model)) !== second.shape(ownerOf(model))) return;
        const text = (rights: Rights) => {
          const { filter, masks } = accessOf(model, rights, taken);
          const shapeOf = (it: RowFilter | null) =>
            it === null ? null : `${filterShape(it)} ${valuesIn(it).map(({ origin }) => origin)}`;
          return [shapeOf(filter), [...masks].map(([name, shown]) => [name, shapeOf(shown)])];
        };
        expect(text(first)).toEqual(text(second));
        alike += 1;
      }),
      runs,
    );
    expect(alike).toBeGreaterThan(50);
  });

  test('never give more to a user of whom less is known', () => {
    const withNothing = (subject: Subject): Subject => ({ ...nobody, groups: subject.groups });
    fc.assert(
      fc.property(anyPolicy, anySubject, anyTaken, anyRows, (policy, subject, taken, rows) => {
        const model = modelOf([randomCube(policy)]);
        const left = (who: Subject) => {
          const { filter } = accessOf(model, rightsOf(model, who), taken);
          return rows.filter((row) => filter === null || isTrue(filter, row));
        };
        const tenantWide = { ...subject, isEmbedTenantScope: false, groups: [...subject.groups] };
        const all = left(tenantWide);
        for (const row of left(withNothing(tenantWide))) expect(all).toContain(row);
      }),
      runs,
    );
  });
});
