/**
 * The members that cubes of random worlds have, each as its model's author writes it and, beside that, as the rules see it: written down
 * twice on purpose, since the rules must not learn from the loaded model what a member reads.
 */
import type { MemberType } from '../../../src/model/data-model.ts';

/** A member of a cube, wherever it is declared. */
export interface Place {
  readonly cube: string;
  readonly member: string;
}

/** A member as the rules see it, written down beside its definition and not read from it. */
export interface MemberNote {
  readonly kind: 'dimension' | 'measure' | 'segment';
  readonly type: MemberType;
  /** The members that its SQL names. */
  readonly reads: readonly Place[];
  /**
   * What a question has to name beside it: `timed`, a unit of the cube's time `t`; `switched`, the value of the cube's `choice`, which is
   * `choice` itself.
   */
  readonly use: 'plain' | 'timed' | 'switched' | 'choice';
}

/** A member of a cube. */
export interface Definition {
  readonly name: string;
  readonly list: 'dimensions' | 'segments' | 'measures';
  /** Its keys in the model file, without its name. */
  readonly file: object;
  readonly note: MemberNote;
}

/** What decides about the members of a cube. */
export interface MemberPlan {
  readonly cube: string;
  /** A cube that it joins, which some of its members read; null: it joins none. */
  readonly child: string | null;
  readonly hasKey: boolean;
  /** Those of the {@link extraNames} that it has. */
  readonly extras: ReadonlySet<string>;
  /** Whether it replaces a member of the cube that it extends. */
  readonly isOverriding: boolean;
}

/** Members that not every cube has. */
export const extraNames = [
  'deep',
  'beyond',
  'span',
  'grade',
  'spot',
  'choice',
  'ahead',
  'todate',
  'running',
  'later',
  'moved',
  'reduced',
  'grouped',
  'finest',
] as const;

const dimension = (
  name: string,
  file: object,
  type: MemberType,
  reads: readonly Place[] = [],
  use: MemberNote['use'] = 'plain',
): Definition => ({ name, list: 'dimensions', file, note: { kind: 'dimension', type, reads, use } });

const measure = (
  name: string,
  file: object,
  reads: readonly Place[] = [],
  use: MemberNote['use'] = 'plain',
): Definition => ({ name, list: 'measures', file, note: { kind: 'measure', type: 'number', reads, use } });

const granularities = [
  { name: 'fiscal', interval: '1 year', origin: '2024-02-01' },
  { name: 'fortnight', interval: '2 weeks', origin: '2024-01-03' },
  { name: 'shift', interval: '8 hours', offset: '-2 hours' },
];

/** The dimensions and segments of a cube. */
function rowMembers({ cube, child, hasKey }: MemberPlan): readonly Definition[] {
  const own = (...members: readonly string[]) => members.map((member) => ({ cube, member }));
  const beside = (member: string): readonly Place[] => (child === null ? [] : [{ cube: child, member }]);
  const inner = { sub_query: true, type: 'number' };
  return [
    dimension('id', { sql: '{CUBE}.id', type: 'number', ...(hasKey ? { primary_key: true } : {}) }, 'number'),
    dimension('s', { sql: 's', type: 'string', mask: 'hid' }, 'string'),
    dimension('n', { sql: '{CUBE}.n', type: 'number', mask: -1 }, 'number'),
    dimension('t', { sql: 't', type: 'time', granularities }, 'time'),
    dimension('b', { sql: 'b', type: 'boolean', mask: false }, 'boolean'),
    dimension('owner', { sql: '{CUBE}.owner', type: 'number' }, 'number'),
    dimension('loud', { sql: 'UPPER({s})', type: 'string', mask: { sql: '{CUBE}.note' } }, 'string', own('s')),
    dimension('next', { sql: '{n} + 1', type: 'number', mask: { sql: '{CUBE}.owner' } }, 'number', own('n')),
    dimension(
      'far',
      { sql: child === null ? '{s}' : `{${child}.s}`, type: 'string', mask: 'off' },
      'string',
      child === null ? own('s') : beside('s'),
    ),
    dimension('deep', { sql: "{far} || ''", type: 'string' }, 'string', own('far')),
    dimension(
      'beyond',
      { sql: child === null ? '{loud}' : `{${child}.loud}`, type: 'string', mask: 'past' },
      'string',
      child === null ? own('loud') : beside('loud'),
    ),
    ...(child === null || !hasKey
      ? []
      : [
          dimension('made', { ...inner, sql: `{${child}.total}` }, 'number', beside('total')),
          dimension(
            'narrow',
            { ...inner, sql: `{${child}.rows}`, propagate_filters_to_sub_query: true },
            'number',
            beside('rows'),
          ),
        ]),
    dimension(
      'grade',
      {
        type: 'string',
        case: { when: [{ sql: '{n} > 1', label: 'high' }], else: { label: { sql: '{s}' } } },
        mask: 'none',
      },
      'string',
      own('n', 's'),
    ),
    dimension(
      'spot',
      { type: 'geo', latitude: { sql: '{n}' }, longitude: { sql: '{CUBE}.owner' } },
      'string',
      own('n'),
    ),
    dimension('choice', { type: 'switch', values: ['one', 'two'] }, 'string', [], 'choice'),
    {
      name: 'big',
      list: 'segments',
      file: { sql: '{n} > 1' },
      note: { kind: 'segment', type: 'boolean', reads: own('n'), use: 'plain' },
    },
  ];
}

/** The measures of a cube. */
function figures({ cube, child, isOverriding }: MemberPlan): readonly Definition[] {
  const own = (...members: readonly string[]) => members.map((member) => ({ cube, member }));
  const beside = (member: string): readonly Place[] => (child === null ? [] : [{ cube: child, member }]);
  const staged = { multi_stage: true };
  return [
    measure('rows', { type: 'count' }),
    measure('few', { type: 'count', filters: [{ sql: '{n} > 1' }] }, own('n')),
    isOverriding
      ? measure('total', { type: 'sum', sql: '{CUBE}.v + 1', mask: 3 })
      : measure('total', { type: 'sum', sql: '{n}', mask: 0 }, own('n')),
    measure('sum', { type: 'sum', sql: '{CUBE}.v' }),
    measure('mean', { type: 'avg', sql: '{next}' }, own('next')),
    measure('least', { type: 'min', sql: '{id}', mask: 7 }, own('id')),
    measure('kinds', { type: 'count_distinct', sql: '{loud}' }, own('loud')),
    measure('custom', { type: 'number_agg', sql: 'SUM({CUBE}.v) + COUNT(*)' }),
    measure('ratio', { type: 'number', sql: '1.0 * {total} / {rows}' }, own('total', 'rows')),
    measure('mixed', { type: 'number', sql: child === null ? '{ratio} + 1' : `{ratio} + {${child}.rows}` }, [
      ...own('ratio'),
      ...beside('rows'),
    ]),
    measure('span', { type: 'number', sql: '{mixed} * 2' }, own('mixed')),
    measure('rolled', { type: 'sum', sql: '{n}', rolling_window: { trailing: '2 month' } }, own('n'), 'timed'),
    measure(
      'before',
      {
        ...staged,
        type: 'number',
        sql: '{total}',
        time_shift: [{ time_dimension: 't', interval: '1 month', type: 'prior' }],
      },
      own('total', 't'),
      'timed',
    ),
    measure('whole', { ...staged, type: 'sum', sql: '{sum}', group_by: [] }, own('sum')),
    measure('bysome', { ...staged, type: 'avg', sql: '{sum}', add_group_by: ['s'] }, own('sum', 's')),
    measure(
      'ahead',
      { type: 'count', rolling_window: { trailing: '1 month', leading: '1 month', offset: 'start' } },
      [],
      'timed',
    ),
    measure(
      'todate',
      { type: 'max', sql: '{next}', rolling_window: { type: 'to_date', granularity: 'fiscal' } },
      own('next'),
      'timed',
    ),
    measure('running', { type: 'count_distinct', sql: '{s}', rolling_window: { trailing: 'unbounded' } }, own('s')),
    measure(
      'later',
      { ...staged, type: 'number', sql: '{mean}', time_shift: [{ interval: '1 year', type: 'next' }] },
      own('mean'),
      'timed',
    ),
    measure(
      'moved',
      {
        ...staged,
        type: 'number',
        sql: '{rolled}',
        time_shift: [{ time_dimension: 't', interval: '1 month', type: 'prior' }],
      },
      own('rolled', 't'),
      'timed',
    ),
    measure('growth', { type: 'number', sql: '1.0 * {rolled} / {moved}', mask: 9 }, own('rolled', 'moved'), 'timed'),
    measure('reduced', { ...staged, type: 'sum', sql: '{total}', reduce_by: ['s', 'b'] }, own('total', 's', 'b')),
    measure('grouped', { ...staged, type: 'min', sql: '{mean}', group_by: ['s', 'b'] }, own('mean', 's', 'b')),
    measure(
      'finest',
      { ...staged, type: 'max', sql: '{few}', add_group_by: child === null ? ['b'] : ['b', `${child}.s`] },
      [...own('few', 'b'), ...beside('s')],
    ),
    measure(
      'bychoice',
      {
        ...staged,
        type: 'number',
        case: { switch: '{CUBE.choice}', when: [{ value: 'one', sql: '{total}' }], else: { sql: '{sum}' } },
      },
      own('choice', 'total', 'sum'),
      'switched',
    ),
  ];
}

/** What members need that are there only with it. */
const needed: Readonly<Record<string, string>> = {
  ...Object.fromEntries(extraNames.map((name) => [name, name])),
  bychoice: 'choice',
  growth: 'moved',
};

/** All members of a cube. */
export const definitionsOf = (plan: MemberPlan): readonly Definition[] =>
  [...rowMembers(plan), ...figures(plan)].filter(({ name }) => {
    const extra = needed[name];
    return extra === undefined || plan.extras.has(extra);
  });
