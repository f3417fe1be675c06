/** What is wrong with a model: each thing told once, where it stands, with what was meant; and nothing that only follows from it. */
import { describe, expect, test } from 'vitest';
import { cubeOf, issuesOf } from './load-model.ts';

const dimension = (more: string) =>
  cubeOf([`dimensions: [{ name: a, sql: a, type: string }, { name: at, sql: at, type: time }, { ${more} }]`]);
const measure = (more: string) =>
  cubeOf([
    'dimensions: [{ name: a, sql: a, type: string }, { name: at, sql: at, type: time }, { name: s, type: switch, values: [x, y] }]',
    `measures: [{ name: m, type: count }, { ${more} }]`,
    'segments: [{ name: seg, sql: "{CUBE}.x" }]',
  ]);
const granularity = (more: string) => dimension(`name: t1, sql: t1, type: time, granularities: [{ name: g, ${more} }]`);
const entry = (more: string) =>
  cubeOf([
    'dimensions: [{ name: a, sql: a, type: string }, { name: n, sql: n, type: number }, { name: at, sql: at, type: time }, { name: s, type: switch, values: [x] }]',
    `access_policy: [{ group: g, ${more} }]`,
  ]);
const filter = (more: string) => entry(`row_level: { filters: [{ ${more} }] }`);

describe('one thing is wrong', () => {
  test.each([
    [
      'a nearly right member',
      cubeOf([
        'dimensions: [{ name: sales_amount, sql: a, type: number }]',
        'measures: [{ name: m, type: sum, sql: "{sale_amount}" }]',
      ]),
      /^m0.yml:5:43 no member or cube "sale_amount" in cube t; did you mean "sales_amount"\?$/,
    ],
    [
      'a nearly right type',
      dimension('name: b, sql: b, type: strnig'),
      /type has to be one of .*, not "strnig"; did you mean "string"\?/,
    ],
    ['no type', dimension('name: b, sql: b'), /a dimension needs type/],
    ['no name', dimension('sql: b, type: string'), /a dimension needs name/],
    ['a type of old', measure('name: r, type: running_total, sql: x'), /unbounded/],
    ['a rank', measure('name: r, type: rank, multi_stage: true, sql: "{m}"'), /window function/],
    ['a list for a text', cubeOf(['title: [a]']), /:4:12 title must be a text/],
    ['a text for a list', cubeOf(['dimensions: a']), /dimensions must be a list/],
    ['a member that is no map', cubeOf(['dimensions: [a]']), /a dimension has to be a map of keys/],
    ['nothing for a truth value', cubeOf(['public: maybe']), /public must be true or false/],
    ['Jinja in a value', cubeOf(['title: "{{ x }}"', 'public: "{{ y }}"']), /:5:13 Jinja templates are not supported/],
    ['Jinja in SQL', dimension('name: b, sql: "{{ x }}", type: string'), /Jinja/],
    ['COMPILE_CONTEXT', cubeOf(['public: COMPILE_CONTEXT.security_context.x']), /COMPILE_CONTEXT is not supported/],
    ['SECURITY_CONTEXT', dimension('name: b, sql: "{SECURITY_CONTEXT.x.filter(1)}", type: string'), /access_policy/],
    ['another cube by its query', 'cubes: [{ name: t, sql: "SELECT * FROM {u.sql()}" }]', /plain SQL/],
    ['a path in SQL', dimension('name: b, sql: "{t.u.c}", type: string'), /a path of several parts/],
    ['JSON in SQL', dimension(`name: b, sql: "{CUBE}.x = '{1}'", type: boolean`), /write .*\\\{ for a brace/],
    ['a role', cubeOf(['access_policy: [{ role: x }]']), /"role" is not known here: write group or groups/],
    ['another data source', cubeOf(['data_source: other']), /one warehouse/],
    ['a calendar', cubeOf(['calendar: true']), /calendar cubes are not supported/],
    ['a refresh that is no length', cubeOf(['refresh_key: { every: often }']), /every has to be a length of time/],
    ['a file of something else', 'models: []', /^m0.yml:1:1 "models" is not known here/],
    ['a file that is a list', '- a', /a list cubes, a list views/],
    ['a key that is a prototype', cubeOf(['__proto__: { a: 1 }']), /__proto__ is not allowed/],
    ['a key twice', cubeOf(['title: a', 'title: b']), /:5:5 the key title stands here twice/],
    ['a tag', cubeOf(['title: !!js/function x']), /tag/i],
    ['the name CUBE', dimension('name: CUBE, sql: b, type: string'), /must not be CUBE/],

    ['geo without a place', dimension('name: g, type: geo, latitude: { sql: a }'), /needs longitude/],
    ['a switch without values', dimension('name: g, type: switch'), /needs values/],
    ['a switch with SQL', dimension('name: g, type: switch, values: [x], sql: x'), /has no sql/],
    [
      'a switch in SQL',
      dimension('name: g, type: switch, values: [x] }, { name: h, sql: "{g}", type: string'),
      /switch dimension/,
    ],
    ['a dimension of nothing', dimension('name: b, type: string'), /needs sql, or case/],
    ['SQL and case', dimension('name: b, type: string, sql: b, case: { when: [{ sql: x, label: y }] }'), /has no case/],
    [
      'a sub query of no measure',
      dimension('name: b, type: number, sub_query: true, sql: "{a}"'),
      /one measure of another cube/,
    ],
    [
      'propagation of nothing',
      dimension('name: b, type: number, sql: b, propagate_filters_to_sub_query: true'),
      /needs sub_query/,
    ],
    [
      'a sub query without a key',
      `${cubeOf(['joins: [{ name: u, relationship: one_to_many, sql: "{CUBE}.a = {u}.b" }]', 'dimensions: [{ name: b, type: number, sub_query: true, sql: "{u.m}" }]'])}\n  - { name: u, sql_table: u, measures: [{ name: m, type: count }] }`,
      /cube t needs a primary key/,
    ],
    [
      'a sub query without a join',
      `${cubeOf(['dimensions: [{ name: b, type: number, sub_query: true, sql: "{u.m}" }, { name: id, type: number, sql: id, primary_key: true }]'])}\n  - { name: u, sql_table: u, measures: [{ name: m, type: count }] }`,
      /no joins lead from cube t to u, and u does not join t$/,
    ],
    [
      'granularities of a text',
      dimension('name: b, sql: b, type: string, granularities: []'),
      /for dimensions of type time/,
    ],
    ['an interval that is not clear', granularity('interval: 5 days'), /give an origin/],
    ['two intervals that are not clear', granularity('interval: 1 year 6 months'), /give an origin/],
    ['an interval of two kinds', granularity('interval: 1 month 3 days, origin: "2024-01-01"'), /no fixed length/],
    ['a negative interval', granularity('interval: -1 day'), /is no interval/],
    ['no such unit', granularity('interval: 1 fortnight'), /is no interval/],
    ['an origin that is no date', granularity('interval: 1 year, origin: "2024-02-30"'), /is no time/],
    ['an origin at the end of a month', granularity('interval: 1 month, origin: "2024-01-31"'), /1st to the 28th/],
    ['origin and offset', granularity('interval: 1 year, origin: "2024-01-01", offset: 1 day'), /not both/],
    ['a granularity in SQL', granularity('sql: x'), /not supported/],
    [
      'a mask of another type',
      dimension('name: n, sql: n, type: number, mask: x'),
      /the mask has to be null, a number/,
    ],
    ['a mask that is no time', dimension('name: n, sql: n, type: time, mask: x'), /the mask has to be null, a time/],
    [
      'a mask over a member',
      dimension('name: n, sql: n, type: number, mask: { sql: "{a}" }'),
      /columns of its own cube only/,
    ],
    ['a mask of a measure in SQL', measure('name: x, type: count, mask: { sql: "1" }'), /a literal/],
    [
      'synonyms that are no texts',
      dimension('name: n, sql: n, type: number, meta: { synonyms: [[a]] }'),
      /synonyms are texts/,
    ],

    ['measures and columns in one', measure('name: x, type: number, sql: "{m} / SUM({CUBE}.b)"'), /measures only/],
    ['an aggregate of a measure', measure('name: x, type: number_agg, sql: "SUM({m})"'), /use type number/],
    [
      'an aggregate of another cube',
      `${measure('name: x, type: number, sql: "SUM({u}.b)"')}\n  - { name: u, sql_table: u }`,
      /its own cube only/,
    ],
    [
      'filters of a calculation',
      measure('name: x, type: number, sql: "{m}", filters: [{ sql: a }]'),
      /filter the measures it uses/,
    ],
    ['a measure of a segment', measure('name: x, type: sum, sql: "{seg}"'), /cannot refer to a segment/],
    [
      'a window of a calculation',
      measure('name: x, type: number, sql: "{m}", rolling_window: { trailing: 1 day }'),
      /has no rolling_window/,
    ],
    [
      'a window of nothing',
      measure('name: x, type: count, rolling_window: { offset: end }'),
      /needs trailing, leading/,
    ],
    [
      'a window of no length',
      measure('name: x, type: count, rolling_window: { trailing: long }'),
      /is no length of time/,
    ],
    [
      'a window to no unit',
      measure('name: x, type: count, rolling_window: { type: to_date, granularity: yaer }'),
      /did you mean "year"/,
    ],
    [
      'a window of two kinds',
      measure('name: x, type: count, rolling_window: { type: year_to_date, trailing: 1 day }'),
      /has no trailing/,
    ],
    [
      'a stage without the word',
      measure('name: x, type: sum, sql: "{m}", group_by: [a]'),
      /group_by needs multi_stage/,
    ],
    ['a stage of columns', measure('name: x, multi_stage: true, type: sum, sql: "{CUBE}.b"'), /measures only/],
    ['a stage of nothing', measure('name: x, multi_stage: true, type: sum, sql: "1"'), /refer to one measure/],
    [
      'a stage of two grains',
      measure('name: x, multi_stage: true, type: sum, sql: "{m}", group_by: [a], reduce_by: [a]'),
      /one of group_by/,
    ],
    [
      'a stage by a measure',
      measure('name: x, multi_stage: true, type: sum, sql: "{m}", group_by: [m]'),
      /m is not a dimension/,
    ],
    ['a stage by nobody', measure('name: x, multi_stage: true, type: sum, sql: "{m}", group_by: [b]'), /no member "b"/],
    [
      'a stage that counts',
      measure('name: x, multi_stage: true, type: count_distinct, sql: "{m}"'),
      /a multi-stage measure is of type/,
    ],
    [
      'a shift of a text',
      measure(
        'name: x, multi_stage: true, type: number, sql: "{m}", time_shift: [{ time_dimension: a, interval: 1 day, type: prior }]',
      ),
      /not a dimension of type time/,
    ],
    [
      'a shift without a length',
      measure('name: x, multi_stage: true, type: number, sql: "{m}", time_shift: [{ type: prior }]'),
      /needs interval and type/,
    ],
    [
      'a shift by name',
      measure('name: x, multi_stage: true, type: number, sql: "{m}", time_shift: [{ name: y }]'),
      /calendar cubes/,
    ],
    [
      'a shift twice',
      measure(
        'name: x, multi_stage: true, type: number, sql: "{m}", time_shift: [{ time_dimension: at, interval: 1 day, type: prior }, { time_dimension: at, interval: 2 days, type: prior }]',
      ),
      /shifted twice/,
    ],
    [
      'a choice by no switch',
      measure(
        'name: x, multi_stage: true, type: number, case: { switch: a, when: [{ value: x, sql: "{m}" }], else: { sql: "{m}" } }',
      ),
      /not a dimension of type switch/,
    ],
    [
      'a choice of no value',
      measure(
        'name: x, multi_stage: true, type: number, case: { switch: s, when: [{ value: z, sql: "{m}" }], else: { sql: "{m}" } }',
      ),
      /no value "z"/,
    ],
    ['a drill to nobody', measure('name: x, type: count, drill_members: [b]'), /no member "b" in cube t/],

    [
      'a condition that is broken',
      entry('conditions: [{ if: "{ userAttributes.a == }" }]'),
      /expected a value, not "}", at character 23/,
    ],
    ['a condition of code', entry('conditions: [{ if: "{ userAttributes.a.b }" }]'), /is not known; there are/],
    ['a filter on no member', filter('member: an, operator: set'), /no dimension "an" here to filter on; did you mean/],
    ['a filter on a choice', filter('member: s, operator: set'), /filters on values of rows/],
    [
      'an operator for dates',
      filter('member: a, operator: beforeDate, values: ["2024-01-01"]'),
      /for dimensions of type time/,
    ],
    ['a number that is none', filter('member: n, operator: equals, values: [x]'), /"x" is not a number/],
    ['a time that is none', filter('member: at, operator: gt, values: [yesterday]'), /"yesterday" is not a time/],
    ['half a range', filter('member: at, operator: inDateRange, values: ["2024-01-01"]'), /takes two values/],
    ['and beside or', filter('and: [{ member: a, operator: set }], or: [{ member: a, operator: set }]'), /not both/],
    ['an empty or', filter('or: []'), /or must not be empty/],
    ['a filter on measures', filter('member: a, operator: measureFilter'), /no measures to filter on/],
    ['no entry', cubeOf(['access_policy: []']), /one entry at least/],
    [
      'in full and masked',
      entry('member_level: { includes: [a] }, member_masking: { includes: [a] }'),
      /both in full and masked/,
    ],
    [
      'all in full and all masked',
      entry('member_level: { includes: "*" }, member_masking: { includes: "*" }'),
      /leave one of them out/,
    ],
    ['a masked member that is not there', entry('member_masking: { includes: [emial] }'), /no member "emial"/],
    [
      'a filter nobody knows',
      entry('row_level: { filter: [] }'),
      /"filter" is not known here; did you mean "filters"\?/,
    ],

    ['a hierarchy of nobody', cubeOf(['hierarchies: [{ name: h, levels: [b] }]']), /no member "b" in cube t/],
    [
      'a folder of nobody',
      `${dimension('name: b, sql: b, type: string')}\nviews: [{ name: v, cubes: [{ join_path: t, includes: [a] }], folders: [{ name: F, includes: [b] }] }]`,
      /no member "b" in this view/,
    ],
    [
      'a view of old',
      `${dimension('name: b, sql: b, type: string')}\nviews: [{ name: v, includes: [t.a] }]`,
      /a view has no includes/,
    ],
    ['a view of nothing', 'views: [{ name: v }]', /needs cubes/],
    [
      'a path in includes',
      `${dimension('name: b, sql: b, type: string')}\nviews: [{ name: v, cubes: [{ join_path: t, includes: [t.a] }] }]`,
      /is a path/,
    ],
    [
      'a split view',
      `${dimension('name: b, sql: b, type: string')}\nviews: [{ name: v, cubes: [{ join_path: t, includes: "*", split: true }] }]`,
      /split view/,
    ],
    ['an extension of nobody', cubeOf(['extends: u']), /no cube "u" to extend/],
    [
      'an extension of itself',
      'cubes: [{ name: a, extends: b, sql_table: a }, { name: b, extends: a, sql_table: b }]',
      /extends itself/,
    ],
  ])('%s', (_name, text, pattern) => {
    const issues = issuesOf(text);
    expect(issues.join('\n')).toMatch(pattern);
  });
});

describe('what follows from an error is not told', () => {
  const reader = `cubes:
  - { name: r, sql_table: r, joins: [{ name: t, relationship: many_to_one, sql: "{CUBE}.a = {t.id}" }], dimensions: [{ name: x, sql: "{t.a}", type: string }] }
views:
  - { name: v, cubes: [{ join_path: r.t, includes: [a, id] }], folders: [{ name: f, includes: [a] }], access_policy: [{ group: g, row_level: { filters: [{ member: a, operator: set }] } }] }`;

  test('of a file that is no YAML', () => {
    expect(issuesOf('cubes:\n  - name: t\n   bad: [', reader).every((line) => line.startsWith('m0.yml'))).toBe(true);
  });
  test('of a file with a template', () => {
    expect(issuesOf('{% for x in y %}\ncubes:\n  - name: t\n{% endfor %}', reader)).toEqual([
      expect.stringMatching(/^m0.yml:1:1 Jinja/),
    ]);
  });
  test('of a cube that does not load', () => {
    expect(issuesOf('cubes: [{ name: t, sql_table: [t] }]', reader)).toHaveLength(1);
  });
  test('of a key that is nearly right', () => {
    expect(issuesOf('cubes: [{ name: t, sql_tabel: t }]', reader)).toHaveLength(1);
    expect(
      issuesOf(
        cubeOf(['dimensions: [{ name: id, sqll: id, type: number }, { name: a, sql: a, type: string }]']),
        reader,
      ),
    ).toHaveLength(1);
  });
  test('of a member that does not load', () => {
    expect(
      issuesOf(
        cubeOf(['dimensions: [{ name: id, sql: id, type: number }, { name: a, sql: a, type: strnig }]']),
        reader,
      ),
    ).toHaveLength(1);
    expect(
      issuesOf(
        cubeOf(['dimensions: [{ name: id, sql: id, type: number }, { name: a, sql: "{nobody}", type: string }]']),
        reader,
      ),
    ).toHaveLength(1);
  });
  test('but what is wrong elsewhere is', () => {
    const issues = issuesOf(
      'cubes: [{ name: t,',
      reader.replaceAll('{t.a}', '{nobody}'),
      'cubes: [{ name: z, sql_table: z, dimensions: [{ name: a, sql: "{b}", type: string, c: 1 }] }]',
    );
    expect([...new Set(issues.map((line) => line.slice(0, 6)))]).toEqual(['m0.yml', 'm1.yml', 'm2.yml']);
    expect(issues.filter((line) => line.startsWith('m1.yml'))).toEqual([expect.stringMatching(/nobody/)]);
  });
  test('of a parent, in those that extend it', () => {
    expect(
      issuesOf(
        `${cubeOf(['dimensions: [{ name: a, sql: "{nobody}", type: string }]'])}\n  - { name: u, extends: t }\n  - { name: w, extends: u }`,
      ),
    ).toHaveLength(1);
  });
});

test('all of it at once, in the order of files and lines', () => {
  const issues = issuesOf(
    cubeOf([
      'colour: red',
      'dimensions:',
      '  - { name: a, sql: "{x}", type: text }',
      '  - { name: b, sql: "{y}", type: string }',
    ]),
    'views: [{ name: v, cubes: [{ join_path: nobody, includes: "*" }] }]',
  );
  expect(issues.map((line) => line.split(' ')[0])).toEqual(['m0.yml:4:5', 'm0.yml:6:38', 'm0.yml:7:25', 'm1.yml:1:41']);
});

test('more issues than anybody reads are counted', () => {
  const members = Array.from({ length: 3000 }, (_, index) => `{ name: d${index}, sql: x, type: nope }`);
  const issues = issuesOf(cubeOf([`dimensions: [${members.join(', ')}]`]));
  expect(issues).toHaveLength(1001);
  expect(issues.at(-1)).toMatch(/and 2000 more issues$/);
});
