/** Every operator of the JSON query, alone and in groups, against the same rows filtered here, on every engine. */
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { engineNames, useEngine } from '../engines.ts';
import { ask, createThings, type Thing } from './load-world.ts';

const words = [null, 'web', 'Web', 'store', 'we_b', '50%', "o'x", '\\', '', 'ö'] as const;
const sizes = [null, -1.5, 0, 1, 2.25, 3, 1e6] as const;
const times = [
  null,
  '2023-12-31 23:59:59',
  '2024-01-01 00:00:00',
  '2024-01-31 23:59:59.999999',
  '2024-02-01 00:00:00',
  '2024-02-29 12:00:00',
] as const;
const rows: readonly Thing[] = Array.from({ length: 90 }, (_, id) => ({
  id,
  word: words[id % words.length] ?? null,
  size: sizes[(id * 3) % sizes.length] ?? null,
  flag: [true, false, null][id % 3] ?? null,
  at: times[(id * 5) % times.length] ?? null,
}));

interface Condition {
  readonly json: object;
  readonly holds: (row: Thing) => boolean;
}

const pick = <T>(list: readonly T[]) => fc.constantFrom(...list);
const present = <T>(list: readonly (T | null)[]): T[] => list.filter((it) => it !== null);

/** `equals` and its negation, on any member: values that may be null. */
function equality<K extends 'word' | 'size' | 'flag'>(member: K, values: readonly Thing[K][]): fc.Arbitrary<Condition> {
  return fc
    .tuple(fc.boolean(), fc.array(pick(values), { minLength: 1, maxLength: 3 }), fc.boolean())
    .map(([isNot, list, isText]) => ({
      json: {
        member: `things.${member}`,
        operator: isNot ? 'notEquals' : 'equals',
        values: list.map((it) => (it === null || !isText ? it : String(it))),
      },
      holds: (row) => {
        const isIn = list.includes(row[member]);
        if (!isNot) return isIn;
        return row[member] === null ? !list.includes(null as Thing[K]) : !isIn;
      },
    }));
}

const looks = {
  contains: (text: string, part: string) => text.includes(part),
  startsWith: (text: string, part: string) => text.startsWith(part),
  endsWith: (text: string, part: string) => text.endsWith(part),
} as const;

const wording: fc.Arbitrary<Condition> = fc
  .tuple(
    fc.constantFrom('contains', 'startsWith', 'endsWith'),
    fc.boolean(),
    fc.array(pick(['w', 'EB', '%', '_', '\\', "'", 'store', '0']), { minLength: 1, maxLength: 2 }),
  )
  .map(([operator, isNot, parts]) => ({
    json: {
      member: 'things.word',
      operator: isNot ? `not${operator.charAt(0).toUpperCase()}${operator.slice(1)}` : operator,
      values: parts,
    },
    holds: ({ word }) => {
      if (word === null) return isNot;
      return parts.some((part) => looks[operator](word.toLowerCase(), part.toLowerCase())) !== isNot;
    },
  }));

const order: fc.Arbitrary<Condition> = fc
  .tuple(fc.constantFrom('gt', 'gte', 'lt', 'lte'), pick(present(sizes)))
  .map(([operator, value]) => ({
    json: { member: 'things.size', operator, values: [String(value)] },
    holds: ({ size }) =>
      size !== null && { gt: size > value, gte: size >= value, lt: size < value, lte: size <= value }[operator],
  }));

const presence: fc.Arbitrary<Condition> = fc
  .tuple(fc.constantFrom('word', 'size', 'flag', 'at'), fc.boolean())
  .map(([member, isSet]) => ({
    json: { member: `things.${member}`, operator: isSet ? 'set' : 'notSet' },
    holds: (row) => (row[member] !== null) === isSet,
  }));

const days = ['2023-12-31', '2024-01-01', '2024-01-31', '2024-02-01', '2024-02-29'] as const;
const range: fc.Arbitrary<Condition> = fc.tuple(pick(days), pick(days), fc.boolean()).map(([one, other, isNot]) => {
  const [from, to] = one < other ? [one, other] : [other, one];
  return {
    json: { member: 'things.at', operator: isNot ? 'notInDateRange' : 'inDateRange', values: [from, to] },
    holds: ({ at }) => at !== null && (at.slice(0, 10) >= from && at.slice(0, 10) <= to) !== isNot,
  };
});

const day: fc.Arbitrary<Condition> = fc
  .tuple(fc.constantFrom('beforeDate', 'beforeOrOnDate', 'afterDate', 'afterOrOnDate'), pick(days))
  .map(([operator, value]) => ({
    json: { member: 'things.at', operator, values: [value] },
    holds: ({ at }) => {
      if (at === null) return false;
      const of = at.slice(0, 10);
      return { beforeDate: of < value, beforeOrOnDate: of <= value, afterDate: of > value, afterOrOnDate: of >= value }[
        operator
      ];
    },
  }));

const condition: fc.Arbitrary<Condition> = fc.letrec<{ any: Condition; group: Condition }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    equality('word', words),
    equality('size', sizes),
    equality('flag', [true, false, null]),
    wording,
    order,
    presence,
    range,
    day,
    tie('group'),
  ),
  group: fc.tuple(fc.boolean(), fc.array(tie('any'), { minLength: 1, maxLength: 3 })).map(([isAnd, parts]) => ({
    json: { [isAnd ? 'and' : 'or']: parts.map(({ json }) => json) },
    holds: (row) => (isAnd ? parts.every((it) => it.holds(row)) : parts.some((it) => it.holds(row))),
  })),
})).any;

describe.each(engineNames)('%s', (name) => {
  const engine = useEngine(name);
  beforeAll(() => createThings(engine(), rows));

  test('filters leave the rows that they say', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(condition, { maxLength: 3 }), async (conditions) => {
        const query = { dimensions: ['things.id'], filters: conditions.map(({ json }) => json), total: true };
        const found = await ask(engine(), query);
        const expected = rows.filter((row) => conditions.every((it) => it.holds(row))).map(({ id }) => id);
        expect(found.rows.map(([id]) => id)).toEqual(expected);
        expect(found.totals).toEqual([expected.length]);
      }),
      { numRuns: 150 },
    );
  }, 60_000);

  test('filters on measures leave groups, behind those on rows', async () => {
    const query = {
      measures: ['things.count'],
      dimensions: ['things.flag'],
      filters: [
        { member: 'things.size', operator: 'set' },
        {
          or: [
            { member: 'things.count', operator: 'gt', values: ['25'] },
            { member: 'things.total', operator: 'notSet' },
          ],
        },
      ],
    };
    const counts = new Map<boolean | null, number>();
    for (const { flag, size } of rows) if (size !== null) counts.set(flag, (counts.get(flag) ?? 0) + 1);
    const expected = [...counts].filter(([, count]) => count > 25);
    expect(expected.length).toBeGreaterThan(0);
    expect(new Map((await ask(engine(), query)).rows.map(([flag, count]) => [flag, count]))).toEqual(new Map(expected));
  });

  test('the rows behind a measure, those that it counts', async () => {
    const behind = async (member: string): Promise<unknown[]> => {
      const filters = [
        { member, operator: 'measureFilter' },
        { member: 'things.flag', operator: 'equals', values: [true] },
      ];
      return (await ask(engine(), { dimensions: ['things.id'], filters })).rows.map(([id]) => id);
    };
    const flagged = rows.filter(({ flag }) => flag === true);
    const large = flagged.filter(({ size }) => size !== null && size > 2);
    expect(large.length).toBeGreaterThan(0);
    expect(await behind('things.count')).toEqual(flagged.map(({ id }) => id));
    expect(await behind('things.large')).toEqual(large.map(({ id }) => id));
    expect(await behind('things.large_total')).toEqual(large.map(({ id }) => id));
  });

  test('order, limit and offset go through all rows once, those without a value last', async () => {
    const pages: unknown[][] = [];
    for (let offset = 0; offset < 90; offset += 40) {
      const query = {
        dimensions: ['things.id', 'things.size'],
        order: [['things.size', 'desc']],
        limit: 40,
        offset,
        ungrouped: true,
      };
      pages.push(...(await ask(engine(), query)).rows);
    }
    expect(new Set(pages.map(([id]) => id)).size).toBe(90);
    const given = pages.map(([, size]) => Number(size ?? Number.NEGATIVE_INFINITY));
    expect(given).toEqual([...given].sort((one, other) => other - one));
    expect(given.at(-1)).toBe(Number.NEGATIVE_INFINITY);
  });

  test('units of time, in the zone of the query, filled in where that is asked', async () => {
    const query = {
      measures: ['things.count'],
      timeDimensions: [{ dimension: 'things.at', granularity: 'month', dateRange: ['2023-12-01', '2024-03-31'] }],
    };
    const counted = async (more: object): Promise<unknown[][]> => (await ask(engine(), { ...query, ...more })).rows;
    expect(await counted({})).toEqual([
      ['2023-12-01 00:00:00', 15],
      ['2024-01-01 00:00:00', 30],
      ['2024-02-01 00:00:00', 30],
    ]);
    expect(await counted({ fillMissingDates: true })).toContainEqual(['2024-03-01 00:00:00', null]);
    expect(await counted({ timezone: 'Europe/Berlin' })).toEqual([
      ['2024-01-01 00:00:00', 30],
      ['2024-02-01 00:00:00', 45],
    ]);
    const short = {
      measures: ['things.count'],
      dimensions: ['things.at.month'],
      filters: [{ member: 'things.at', operator: 'set' }],
    };
    expect((await ask(engine(), short)).rows).toEqual(await counted({}));
  });
});
