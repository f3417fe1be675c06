/** The whole format, as data teams write it: every key loads, and means what it says. */
import { expect, test } from 'vitest';
import type { CubeMember, DataModel } from '../src/model/data-model.ts';
import { cubeOf, issuesOf, loadModel, warningsOf } from './load-model.ts';

const memberOf = (model: DataModel, name: string, cube = 't'): CubeMember => {
  const member = model.cubes.get(cube)?.members.get(name);
  if (member === undefined) throw new Error(`no ${cube}.${name}`);
  return member;
};
/** A fragment as text: `<t>` for a cube, `t.x` for a member, `'x'` for a literal. */
const textOf = (parts: unknown): string =>
  Array.isArray(parts)
    ? parts
        .map((part: { kind: string; text?: string; value?: string; cube?: string; member?: string }) =>
          part.kind === 'text'
            ? part.text
            : part.kind === 'literal'
              ? `'${part.value}'`
              : part.kind === 'cube'
                ? `<${part.cube}>`
                : `${part.cube}.${part.member}`,
        )
        .join('')
    : JSON.stringify(parts);

test('dimensions of every kind', () => {
  const model = loadModel(
    cubeOf(
      [
        'joins: [{ name: u, relationship: belongsTo, sql: "{CUBE}.u_id = {u.id}" }]',
        'dimensions:',
        '  - { name: id, sql: id, type: number, primary_key: true, public: false }',
        '  - { name: place, type: geo, latitude: { sql: "{CUBE}.lat" }, longitude: { sql: "{CUBE}.lon" } }',
        '  - { name: currency, type: switch, values: [USD, EUR] }',
        '  - { name: users_count, sql: "{u.count}", type: number, sub_query: true, propagate_filters_to_sub_query: true }',
        '  - name: size',
        '    type: string',
        '    case:',
        '      when:',
        `        - { sql: "{CUBE}.meta = 'xl-en'", label: "it's xl" }`,
        '        - { sql: "{place} IS NULL", label: { sql: "{CUBE}.size" } }',
        '      else: { label: Unknown }',
        '  - { name: day, sql: "{CUBE}.day", type: time, local_time: true, shown: false }',
        `  - { name: email, sql: email, type: string, mask: { sql: "'x' || right({CUBE}.email, 3)" }, format: { type: link, label: Mail } }`,
        '  - { name: age, sql: "age", type: number, mask: -1, format: id }',
        '  - { name: born, sql: born, type: time, mask: "1900-01-01" }',
        '  - { name: open, sql: open, type: boolean, mask: null, meta: { synonyms: unlocked, ai_context: yes } }',
      ],
      '{ name: u, sql_table: u, dimensions: [{ name: id, sql: id, type: number }], measures: [{ name: count, type: count }] }',
    ),
  );
  expect(model.cubes.get('t')?.primaryKey.map(({ name }) => name)).toEqual(['id']);
  expect(model.cubes.get('t')?.joins.get('u')?.relationship).toBe('many_to_one');
  const place = memberOf(model, 'place');
  expect(place).toMatchObject({ type: 'string', source: { kind: 'geo' } });
  expect(memberOf(model, 'currency')).toMatchObject({
    type: 'string',
    source: { kind: 'switch', values: ['USD', 'EUR'] },
  });
  expect(memberOf(model, 'users_count')).toMatchObject({
    source: { kind: 'sub-query', cube: 'u', measure: 'count', propagatesFilters: true },
  });
  const size = memberOf(model, 'size');
  expect(size.kind === 'dimension' && size.source.kind === 'sql' ? textOf(size.source.sql) : '').toBe(
    "CASE WHEN (<t>.meta = 'xl-en') THEN 'it's xl' WHEN (t.place IS NULL) THEN <t>.size ELSE 'Unknown' END",
  );
  expect(memberOf(model, 'day')).toMatchObject({ isLocalTime: true, isPublic: false });
  expect(memberOf(model, 'email')).toMatchObject({ mask: { kind: 'sql' }, format: 'link' });
  expect(memberOf(model, 'age').mask).toEqual({ kind: 'literal', value: -1 });
  expect(memberOf(model, 'born').mask).toEqual({ kind: 'literal', value: '1900-01-01' });
  expect(memberOf(model, 'open').mask).toEqual({ kind: 'literal', value: null });
  expect(memberOf(model, 'open').synonyms).toEqual(['unlocked']);
  expect(memberOf(model, 'place').mask).toBeNull();
});

test('custom granularities begin where they say, or where the next larger unit begins', () => {
  const model = loadModel(
    cubeOf([
      'dimensions:',
      '  - name: at',
      '    sql: at',
      '    type: time',
      '    granularities:',
      '      - { name: quarter_hour, interval: 15 minutes }',
      '      - { name: sunday_week, interval: 1 week, offset: -1 day }',
      '      - { name: fiscal_year, title: FY, interval: 1 year, origin: "2025-04-01" }',
      '      - { name: five_years, interval: 5 years, origin: 2020 }',
      '      - { name: shifted, interval: 1 year, offset: 1 month -10 days }',
      '      - { name: shift, interval: 8 hours, origin: "2024-01-01T06:00:00.000Z" }',
    ]),
  );
  const at = memberOf(model, 'at');
  const granularities = at.kind === 'dimension' ? at.granularities : new Map();
  const shown = [...granularities].map(([name, { interval, origin }]) => [
    name,
    interval.months,
    interval.days,
    interval.seconds,
    origin,
  ]);
  expect(shown).toEqual([
    ['quarter_hour', 0, 0, 900, '2000-01-01T00:00:00'],
    ['sunday_week', 0, 7, 0, '2000-01-02T00:00:00'],
    ['fiscal_year', 12, 0, 0, '2025-04-01T00:00:00'],
    ['five_years', 60, 0, 0, '2020-01-01T00:00:00'],
    ['shifted', 12, 0, 0, '2000-01-22T00:00:00'],
    ['shift', 0, 0, 28_800, '2024-01-01T06:00:00'],
  ]);
  expect(granularities.get('fiscal_year')?.title).toBe('FY');
  expect(granularities.get('quarter_hour')?.title).toBe('Quarter hour');
});

test('measures of every kind', () => {
  const model = loadModel(
    cubeOf([
      'dimensions:',
      '  - { name: id, sql: id, type: number, primary_key: true }',
      '  - { name: at, sql: at, type: time }',
      '  - { name: status, sql: status, type: string }',
      '  - { name: currency, type: switch, values: [USD, EUR] }',
      'measures:',
      '  - { name: count, type: count, drill_members: [id, t.status, "{CUBE.at}"], mask: 0 }',
      '  - { name: one, type: sum, sql: 1 }',
      '  - { name: buyers, type: countDistinct, sql: "{CUBE}.buyer" }',
      '  - { name: about, type: count_distinct_approx, sql: buyer }',
      '  - { name: last, type: max, sql: "{at}" }',
      '  - { name: paid, type: sum, sql: amount, filters: [{ sql: "{status} = \'paid\'" }, { sql: "{CUBE}.x" }] }',
      '  - { name: ratio, type: number, sql: "1.0 * {paid} / {count}", format: percent }',
      '  - { name: high, type: string, sql: "CASE WHEN {count} > 1 THEN \'high\' END" }',
      '  - { name: spread, type: number, sql: "MAX({CUBE}.a) - MIN({CUBE}.a)" }',
      '  - { name: latest, type: time, sql: "MAX(created_at)" }',
      '  - { name: median, type: number_agg, sql: "median({CUBE}.a)", filters: [{ sql: "{CUBE}.x" }] }',
      '  - { name: month, type: sum, sql: amount, rolling_window: { trailing: 1 month, leading: unbounded, offset: start } }',
      '  - { name: ytd, type: sum, sql: amount, rolling_window: { type: to_date, granularity: year } }',
      '  - { name: mtd, type: sum, sql: amount, rolling_window: { type: month_to_date } }',
      '  - { name: before, multi_stage: true, type: number, sql: "{paid}", time_shift: [{ time_dimension: at, interval: 1 year, type: prior }] }',
      '  - { name: after, multi_stage: true, type: number, sql: "{paid}", time_shift: [{ interval: 7 days, type: next }] }',
      '  - { name: total, multi_stage: true, type: sum, sql: "{paid}", group_by: [] }',
      '  - { name: rest, multi_stage: true, type: avg, sql: "{paid}", reduce_by: [status] }',
      '  - { name: daily, multi_stage: true, type: max, sql: "{paid}", add_group_by: [t.status, CUBE.id] }',
      '  - name: by_currency',
      '    multi_stage: true',
      '    type: number',
      '    case: { switch: "{CUBE.currency}", when: [{ value: EUR, sql: "{CUBE.paid}" }], else: { sql: "{count}" } }',
    ]),
  );
  const shown = (name: string) => memberOf(model, name);
  expect(shown('count')).toMatchObject({
    aggregation: 'count',
    sql: null,
    mask: { kind: 'literal', value: 0 },
    drillMembers: ['id', 'status', 'at'].map((member) => ({ cube: 't', member })),
  });
  expect(shown('one')).toMatchObject({ aggregation: 'sum', sql: [{ kind: 'text', text: '1' }] });
  expect(shown('buyers')).toMatchObject({ aggregation: 'count_distinct', type: 'number' });
  expect(shown('about')).toMatchObject({ aggregation: 'count_distinct_approx' });
  expect(shown('last')).toMatchObject({ aggregation: 'max', type: 'time' });
  expect(shown('paid')).toMatchObject({ filters: [expect.anything(), expect.anything()], rollingWindow: null });
  expect(shown('ratio')).toMatchObject({ aggregation: 'number', format: 'percent' });
  expect(shown('high')).toMatchObject({ aggregation: 'number', type: 'string' });
  expect(shown('spread')).toMatchObject({ aggregation: 'number_agg', type: 'number' });
  expect(shown('latest')).toMatchObject({ aggregation: 'number_agg', type: 'time' });
  expect(shown('median')).toMatchObject({ aggregation: 'number_agg', filters: [expect.anything()] });
  const month = { months: 1, days: 0, seconds: 0 };
  expect(shown('month')).toMatchObject({
    rollingWindow: { kind: 'fixed', trailing: month, leading: 'unbounded', offset: 'start' },
  });
  expect(shown('ytd')).toMatchObject({ rollingWindow: { kind: 'to_date', granularity: 'year' } });
  expect(shown('mtd')).toMatchObject({ rollingWindow: { kind: 'to_date', granularity: 'month' } });
  expect(shown('before')).toMatchObject({
    aggregation: 'multi_stage',
    outer: 'number',
    grain: { kind: 'query' },
    timeShifts: [{ timeDimension: { cube: 't', member: 'at' }, interval: { months: 12, days: 0, seconds: 0 } }],
  });
  expect(shown('after')).toMatchObject({
    timeShifts: [{ timeDimension: null, interval: { months: 0, days: -7, seconds: 0 } }],
  });
  expect(shown('total')).toMatchObject({ outer: 'sum', grain: { kind: 'group_by', dimensions: [] } });
  expect(shown('rest')).toMatchObject({
    outer: 'avg',
    grain: { kind: 'reduce_by', dimensions: [{ cube: 't', member: 'status' }] },
  });
  expect(shown('daily')).toMatchObject({
    outer: 'max',
    grain: { kind: 'add_group_by', dimensions: [{ member: 'status' }, { member: 'id' }] },
  });
  expect(shown('by_currency')).toMatchObject({
    sql: {
      switch: { cube: 't', member: 'currency' },
      cases: [{ value: 'EUR' }],
      otherwise: [{ kind: 'member', cube: 't', member: 'count' }],
    },
  });
});

test('segments, hierarchies, views with folders, prefixes and descriptions of their own', () => {
  const model = loadModel(`
cubes:
  - name: orders
    sql: SELECT * FROM orders WHERE x = '\\{1\\}'; -- all
    joins: [{ name: users, relationship: many_to_one, sql: "{CUBE}.user_id = {users.id}" }]
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: status, sql: status, type: string, meta: { synonyms: [state] } }
      - { name: secret, sql: secret, type: string, public: false }
    segments: [{ name: open, sql: "{CUBE}.status = 'open'", title: Open ones }]
    hierarchies: [{ name: places, title: Where, levels: [users.city, status, id] }]
  - name: users
    sql_table: users
    dimensions: [{ name: id, sql: id, type: number, primary_key: true }, { name: city, sql: city, type: string }]
    hierarchies: [{ name: city_levels, levels: [city] }, { name: hidden, public: false, levels: [city] }]
views:
  - name: sales
    cubes:
      - { join_path: orders, includes: "*", excludes: [id] }
      - join_path: orders.users
        prefix: true
        alias: buyer
        includes:
          - { name: city, alias: town, title: Town, description: Of the buyer, meta: { synonyms: [place] } }
    folders:
      - { name: Basic, includes: [status, { name: Deep, includes: [buyer_town] }, places] }
      - { name: All, includes: "*" }
  - name: two_roots
    cubes: [{ join_path: users, includes: [city_levels] }, { join_path: orders, includes: [status] }]
`);
  expect(model.cubes.get('orders')?.source).toBe("(SELECT * FROM orders WHERE x = '{1}'; -- all\n)");
  const sales = model.relations.get('sales');
  expect([...(sales?.members.keys() ?? [])]).toEqual(['status', 'open', 'buyer_town']);
  expect(sales?.members.get('status')).toMatchObject({ synonyms: ['state'] });
  expect(sales?.members.get('open')?.member).toMatchObject({ kind: 'segment', type: 'boolean', title: 'Open ones' });
  expect(sales?.members.get('buyer_town')).toMatchObject({
    title: 'Town',
    description: 'Of the buyer',
    synonyms: ['place'],
    meta: { synonyms: ['place'] },
    path: ['orders', 'users'],
  });
  expect(sales?.hierarchies).toEqual([{ name: 'places', title: 'Where', levels: ['buyer_town', 'status'] }]);
  expect(sales?.folders).toEqual([
    { name: 'Basic', members: ['status', { name: 'Deep', members: ['buyer_town'] }] },
    { name: 'All', members: ['status', 'open', 'buyer_town'] },
  ]);
  expect(model.relations.get('orders')?.hierarchies).toEqual([
    { name: 'places', title: 'Where', levels: ['status', 'id'] },
  ]);
  expect(model.relations.get('users')?.hierarchies).toEqual([
    { name: 'city_levels', title: 'City levels', levels: ['city'] },
  ]);
  // Whoever names a hierarchy takes its levels.
  const roots = model.relations.get('two_roots');
  expect([...(roots?.members.keys() ?? [])]).toEqual(['city', 'status']);
  expect(roots?.paths).toEqual([['users'], ['orders']]);
});

test('a cube extends another: members by name, joins, and the entries of its policy', () => {
  const model = loadModel(`
cubes:
  - name: child
    extends: base
    sql: SELECT 1
    measures: [{ name: total, type: avg, sql: "{CUBE}.amount" }, { name: status, type: count }]
    access_policy: [{ group: b, row_level: { allow_all: true } }]
  - name: base
    sql_table: base
    title: Base
    public: false
    dimensions: [{ name: id, sql: id, type: number, primary_key: true }, { name: status, sql: "{CUBE}.status", type: string }]
    measures: [{ name: total, type: sum, sql: "{CUBE}.amount" }]
    access_policy: [{ group: a, member_level: { includes: [id] } }]
  - { name: grandchild, extends: child, public: true, title: Grand }
views:
  - { name: v, description: First, cubes: [{ join_path: base, includes: [id] }], folders: [{ name: A, includes: [id] }] }
  - { name: w, extends: v, cubes: [{ join_path: child, includes: [total] }] }
`);
  const child = model.cubes.get('child');
  expect(child?.source).toBe('(SELECT 1\n)');
  expect([...(child?.members.keys() ?? [])]).toEqual(['id', 'total', 'status']);
  expect(child?.members.get('total')).toMatchObject({ aggregation: 'avg', cube: 'child' });
  expect(child?.members.get('status')?.kind).toBe('measure');
  expect(child?.primaryKey.map(({ cube }) => cube)).toEqual(['child']);
  expect(child?.policy?.entries.map(({ groups }) => groups)).toEqual([['a'], ['b']]);
  expect(model.relations.get('child')).toMatchObject({ title: 'Base', isPublic: false });
  expect(model.relations.get('grandchild')).toMatchObject({ title: 'Grand', isPublic: true });
  expect(model.cubes.get('grandchild')?.policy?.entries).toHaveLength(2);
  const view = model.relations.get('w');
  expect([...(view?.members.keys() ?? [])]).toEqual(['id', 'total']);
  expect(view).toMatchObject({ description: 'First', folders: [{ name: 'A', members: ['id'] }] });
});

test('a policy: members in full and masked, conditions, operators', () => {
  const entries = (lines: string) =>
    loadModel(
      cubeOf([
        'dimensions: [{ name: a, sql: a, type: string }, { name: b, sql: b, type: number }, { name: at, sql: at, type: time }]',
        `access_policy: ${lines}`,
      ]),
    ).cubes.get('t')?.policy?.entries ?? [];
  const split = (lines: string) =>
    entries(`[{ group: g, ${lines} }]`).map((entry) => [
      [...entry.members],
      [...entry.maskedMembers],
      [...entry.excludedMembers],
    ])[0];
  expect(split('member_level: { includes: [a] }, member_masking: { includes: "*" }')).toEqual([['a'], ['b', 'at'], []]);
  expect(split('member_level: { excludes: [a, b] }, member_masking: { includes: [a] }')).toEqual([
    ['at'],
    ['a'],
    ['b'],
  ]);
  expect(split('member_masking: { includes: [a] }')).toEqual([['b', 'at'], ['a'], []]);
  expect(split('member_masking: { excludes: [a] }')).toEqual([['a'], ['b', 'at'], []]);
  expect(split('member_level: { includes: "*" }, member_masking: { includes: [a] }')).toEqual([['b', 'at'], ['a'], []]);
  expect(split('member_level: { includes: [] }')).toEqual([[], [], []]);
  expect(split('member_level: { excludes: "*" }')).toEqual([[], [], ['a', 'b', 'at']]);
  expect(split('embed_tenants: true')).toEqual([['a', 'b', 'at'], [], []]);

  const [entry] = entries(
    '[{ groups: [g, h], conditions: [{ if: "{ securityContext.active }" }], row_level: { filters: [{ or: [{ member: t.b, operator: in, values: [1, "{ userAttributes.x }"] }, { member: at, operator: onTheDate, values: ["2024-01-01"] }] }, { member: at, operator: inDateRange, values: ["{ securityContext.range }"] }] } }]',
  );
  expect(entry?.groups).toEqual(['g', 'h']);
  expect(entry?.conditions).toEqual([{ kind: 'truthy', value: { kind: 'securityContext', path: ['active'] } }]);
  const day = { kind: 'literal', value: '2024-01-01' };
  expect(entry?.rowFilter).toEqual({
    kind: 'and',
    filters: [
      {
        kind: 'or',
        filters: [
          {
            kind: 'compare',
            member: 'b',
            operator: 'equals',
            values: [
              { kind: 'literal', value: 1 },
              { kind: 'userAttribute', name: 'x' },
            ],
          },
          { kind: 'compare', member: 'at', operator: 'inDateRange', values: [day, day] },
        ],
      },
      {
        kind: 'compare',
        member: 'at',
        operator: 'inDateRange',
        values: [{ kind: 'securityContext', path: ['range'] }],
      },
    ],
  });
});

test('refresh keys, and what is ignored with a warning', () => {
  const file = cubeOf(
    [
      'refresh_key: { every: 1 hour, sql: SELECT 1 }',
      'pre_aggregations: [{ name: main }]',
      'sql_alias: x',
      'data_source: default',
      'access_policy: [{ group: "*" }]',
    ],
    '{ name: u, sql_table: u, refresh_key: { every: "0 * * * *" }, public: false, dimensions: [{ name: a, sql: a, type: string, aliases: [b] }] }',
    '{ name: open, sql_table: open }',
  );
  const model = loadModel(file);
  expect(model.cubes.get('t')?.refreshEverySeconds).toBe(3600);
  expect(model.cubes.get('u')?.refreshEverySeconds).toBeNull();
  expect(warningsOf(file)).toEqual([
    expect.stringMatching(/^m0.yml:4:35 refresh_key.sql is ignored/),
    expect.stringMatching(/^m0.yml:5:5 pre_aggregations are ignored/),
    expect.stringMatching(/^m0.yml:7:5 data_source is ignored/),
    expect.stringMatching(/^m0.yml:9:52 refresh_key.every is ignored: times of day \(cron\)/),
    expect.stringMatching(/^m0.yml:9:128 "aliases" is ignored/),
    expect.stringMatching(/^m0.yml:10:13 cube open has no access_policy/),
  ]);
});

test('a view that no policy protects is warned of, unless its cubes are protected', () => {
  const policy = 'access_policy: [{ group: g }]';
  const cube = (name: string, more: string) =>
    `  - { name: ${name}, sql_table: x, public: false, dimensions: [{ name: id_${name}, sql: id, type: number }], ${more} }`;
  const view = (name: string, paths: readonly string[], more = '') =>
    `  - { name: ${name}, cubes: [${paths.map((path) => `{ join_path: ${path}, includes: "*" }`).join(', ')}] ${more} }`;
  const warnings = warningsOf(
    [
      'cubes:',
      cube('a', policy),
      cube('b', 'title: B'),
      'views:',
      view('fine', ['a']),
      view('open', ['a', 'b']),
      view('own', ['b'], `, ${policy}`),
    ].join('\n'),
  );
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toMatch(/^m0.yml:6:13 view open has no access_policy, and cube b has none/);
});

test('a cube whose measures a join may repeat needs a primary key, or is warned of', () => {
  const policy = 'access_policy: [{ group: g }]';
  const file = (key: string, measure: string) => `cubes:
  - { name: a, sql_table: a, ${policy}, joins: [{ name: b, relationship: many_to_one, sql: "{CUBE}.b = {b}.id" }], measures: [{ name: n, type: count }] }
  - { name: b, sql_table: b, ${policy}, dimensions: [{ name: id, sql: id, type: number${key} }], measures: [${measure}] }`;
  const sum = '{ name: s, type: sum, sql: x }';
  expect(warningsOf(file('', sum))).toEqual([
    expect.stringMatching(/^m0.yml:3:13 cube b has measures but no primary key: .* the join from a repeats its rows$/),
  ]);
  expect(warningsOf(file(', primary_key: true', sum))).toEqual([]);
  expect(warningsOf(file('', '{ name: s, type: max, sql: x }'))).toEqual([]);
});

test('keys may be written in either way, and maps merged', () => {
  const model = loadModel(`
cubes:
  - &base
    name: t
    sqlTable: t
    refreshKey: { every: 30 seconds }
    dimensions: [&id { name: id, sql: id, type: number, primaryKey: true, meta: { camelCase: 1 } }]
    accessPolicy: [{ group: g, rowLevel: { allowAll: true } }]
  - { <<: *base, name: u, dimensions: [{ <<: *id, name: key }] }
`);
  expect(model.cubes.get('u')).toMatchObject({ source: 't', refreshEverySeconds: 30 });
  expect(memberOf(model, 'id').meta).toEqual({ camelCase: 1 });
  expect(memberOf(model, 'key', 'u')).toMatchObject({ isPrimaryKey: true });
  expect(issuesOf('')).toEqual([]);
});
