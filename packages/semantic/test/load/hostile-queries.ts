/** JSON queries that nobody sends in good faith, and honest mistakes, with what is said to each. */
const nested = (levels: number): object => {
  let filter: object = { member: 'things.id', operator: 'set' };
  for (let level = 0; level < levels; level += 1) filter = { or: [filter] };
  return filter;
};
const where = (filter: unknown): object => ({ measures: ['things.count'], filters: [filter] });
const on = (member: string, operator: string, ...values: unknown[]): object => where({ member, operator, values });
const time = (more: object): object => ({
  measures: ['things.count'],
  timeDimensions: [{ dimension: 'things.at', granularity: 'day', ...more }],
});
const many = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const isNot = (at: number): object => ({ member: 'things.id', operator: 'notEquals', values: [at] });
/** What is said of a query that is answered. */
export const ok = 'answered';

/** What is asked, and the beginning of what is said to it; or `answered`, with the one count that there is. */
export const asked: readonly (readonly [what: string, json: unknown, said: string, count?: number])[] = [
  // No query.
  ['null', null, 'QUERY_INVALID The query must be an object'],
  ['a number', 7, 'QUERY_INVALID The query must be an object'],
  ['a text', 'SELECT 1', 'QUERY_INVALID The query must be an object'],
  ['a list in a list', [[]], 'QUERY_INVALID The query must be an object'],
  ['nothing in it', {}, 'QUERY_INVALID The query names no measure and no dimension'],
  ['filters only', { filters: [{ member: 'things.id', operator: 'set' }] }, 'QUERY_INVALID The query names no measure'],
  ['a segment only', { segments: ['things.short'] }, 'QUERY_INVALID The query names no measure'],
  // Keys.
  [
    'a key in the singular',
    { measure: ['things.count'] },
    'QUERY_INVALID The query has an unknown key "measure". Closest: measures',
  ],
  [
    'filters by another name',
    { measures: ['things.count'], filter: [] },
    'QUERY_INVALID The query has an unknown key "filter". Closest: filters',
  ],
  [
    '__proto__',
    JSON.parse('{"__proto__":{"measures":["things.count"]}}'),
    'QUERY_INVALID The query has an unknown key "__proto__"',
  ],
  [
    '__proto__ in a filter',
    where(JSON.parse('{"member":"things.id","operator":"set","__proto__":{}}')),
    'QUERY_INVALID filters.0 has an unknown key "__proto__"',
  ],
  [
    '__proto__ as order',
    { measures: ['things.count'], order: JSON.parse('{"__proto__":"asc"}') },
    'QUERY_INVALID order has an unknown key "__proto__"',
  ],
  [
    'constructor',
    { measures: ['things.count'], constructor: 1 },
    'QUERY_INVALID The query has an unknown key "constructor"',
  ],
  [
    'toString as an operator',
    on('things.id', 'toString', '1'),
    'QUERY_INVALID filters.0.operator is unknown: "toString"',
  ],
  [
    'joinHints',
    { measures: ['things.count'], joinHints: [['a', 'b']] },
    'QUERY_INVALID The query has an unknown key "joinHints"',
  ],
  [
    'a misspelt key of a filter',
    where({ member: 'things.id', operator: 'equals', value: ['1'] }),
    'QUERY_INVALID filters.0 has an unknown key "value". Closest: values',
  ],
  [
    'a misspelt range',
    time({ daterange: 'today' }),
    'QUERY_INVALID timeDimensions.0 has an unknown key "daterange". Closest: dateRange',
  ],
  // Names.
  ['no relation', { measures: ['count'] }, 'QUERY_INVALID measures.0 must be view.member or cube.member, not "count"'],
  ['an empty name', { measures: [''] }, 'QUERY_INVALID measures.0 must be'],
  ['dots', { measures: ['things..count'] }, 'QUERY_INVALID measures.0 must be'],
  ['four parts', { dimensions: ['a.b.c.d'] }, 'QUERY_INVALID dimensions.0 must be'],
  [
    'SQL as a name',
    { measures: ['things.count) FROM things; DROP TABLE things; --'] },
    'MEMBER_NOT_FOUND No member "count) FROM',
  ],
  [
    'a quote in a name',
    { dimensions: ['things.id" OR "1"="1'] },
    'MEMBER_NOT_FOUND No member "id" OR "1"="1" in things.',
  ],
  [
    'a name of a prototype',
    { dimensions: ['things.constructor'] },
    'MEMBER_NOT_FOUND No member "constructor" in things.',
  ],
  ['a relation of a prototype', { dimensions: ['__proto__.id'] }, 'RELATION_NOT_FOUND No view or cube "__proto__".'],
  ['a hidden member', { dimensions: ['things.hidden'] }, 'MEMBER_NOT_FOUND No member "hidden" in things.'],
  ['a hidden member in a filter', on('things.hidden', 'gt', '1'), 'MEMBER_NOT_FOUND No member "hidden" in things.'],
  [
    'a hidden member in order',
    { dimensions: ['things.id'], order: { 'things.hidden': 'asc' } },
    'QUERY_INVALID order.0 names "things.hidden", which is not among the columns',
  ],
  ['a column of the table', { dimensions: ['things.placed'] }, 'MEMBER_NOT_FOUND No member "placed" in things.'],
  ['letters that look alike', { dimensions: ['thіngs.id'] }, 'RELATION_NOT_FOUND No view or cube "thіngs".'],
  [
    'a long name',
    { dimensions: [`things.${'x'.repeat(500)}`] },
    'QUERY_INVALID dimensions.0 has more than 200 characters',
  ],
  [
    'NUL in a name',
    { dimensions: ['things.id\0'] },
    'QUERY_INVALID The query holds a text with characters that are none',
  ],
  [
    'a dimension as a measure',
    { measures: ['things.id'] },
    'QUERY_INVALID measures.0 names the dimension things.id. Put it into dimensions.',
  ],
  [
    'a measure as a dimension',
    { dimensions: ['things.count'] },
    'QUERY_INVALID dimensions.0 names the measure things.count. Put it into measures.',
  ],
  [
    'a segment as a dimension',
    { dimensions: ['things.short'] },
    'QUERY_INVALID dimensions.0 names the segment things.short. Put it into segments.',
  ],
  [
    'a measure as a segment',
    { measures: ['things.count'], segments: ['things.count'] },
    'QUERY_INVALID segments.0 names the measure',
  ],
  ['cubes that nothing joins', { measures: ['things.count'], dimensions: ['apart.id'] }, 'QUERY_NOT_PLANNABLE'],
  // Wrong types.
  ['measures as a text', { measures: 'things.count' }, 'QUERY_INVALID measures must be a list of names'],
  ['a name as a number', { measures: [1] }, 'QUERY_INVALID measures.0 must be a text'],
  ['filters as an object', { measures: ['things.count'], filters: {} }, 'QUERY_INVALID filters must be a list'],
  ['a filter as a text', where('1 = 1'), 'QUERY_INVALID filters.0 must be an object'],
  [
    'values as a text',
    where({ member: 'things.id', operator: 'equals', values: '1' }),
    'QUERY_INVALID filters.0.values must be a list',
  ],
  [
    'an object as a value',
    on('things.id', 'equals', { $ne: null }),
    'QUERY_INVALID filters.0.values.0 must be a text, a number',
  ],
  ['a list as a value', on('things.id', 'equals', ['1']), 'QUERY_INVALID filters.0.values.0 must be a text, a number'],
  ['a limit as a text', { measures: ['things.count'], limit: '1' }, 'QUERY_INVALID limit must be a whole number'],
  ['a limit below nothing', { measures: ['things.count'], limit: -1 }, 'QUERY_INVALID limit must not be negative'],
  ['half a limit', { measures: ['things.count'], limit: 1.5 }, 'QUERY_INVALID limit must be a whole number'],
  ['NaN as a limit', { measures: ['things.count'], limit: Number.NaN }, 'QUERY_INVALID limit must be a whole number'],
  [
    'a limit that is too large',
    { measures: ['things.count'], limit: 50_001 },
    'QUERY_INVALID limit must be at most 50000',
  ],
  ['an offset out of this world', { measures: ['things.count'], offset: 1e15 }, 'QUERY_INVALID offset is too large'],
  ['total as a text', { measures: ['things.count'], total: 'false' }, 'QUERY_INVALID total must be true or false'],
  [
    'a direction that there is not',
    { measures: ['things.count'], order: { 'things.count': 'up' } },
    'QUERY_INVALID order.0.1 must be asc, desc or none',
  ],
  [
    'order as a text',
    { measures: ['things.count'], order: 'things.count' },
    'QUERY_INVALID order must be a map or a list',
  ],
  [
    'SQL as a zone',
    { measures: ['things.count'], timezone: "UTC'; --" },
    'QUERY_NOT_PLANNABLE No time zone "UTC\'; --".',
  ],
  [
    'an offset as a zone',
    { measures: ['things.count'], timezone: '+02:00' },
    'QUERY_NOT_PLANNABLE No time zone "+02:00".',
  ],
  // Filters.
  [
    'an operator that there is not',
    on('things.id', 'equal', '1'),
    'QUERY_INVALID filters.0.operator is unknown: "equal". Closest: equals',
  ],
  ['IN of SQL', on('things.id', 'in', '1', '2'), 'QUERY_INVALID filters.0.operator is unknown: "in". Closest: equals'],
  [
    'NOT IN of SQL',
    on('things.id', 'notIn', '1'),
    'QUERY_INVALID filters.0.operator is unknown: "notIn". Closest: notEquals',
  ],
  ['an operator of SQL', on('things.id', '= 1 OR 1', '1'), 'QUERY_INVALID filters.0.operator is unknown: "= 1 OR 1"'],
  ['no values', on('things.id', 'equals'), 'QUERY_INVALID filters.0.values must not be empty'],
  ['an empty group', where({ or: [] }), 'QUERY_INVALID filters.0.or must not be empty'],
  [
    'a group with something beside it',
    where({ or: [nested(0)], member: 'things.id' }),
    'QUERY_INVALID filters.0 has an unknown key "member"',
  ],
  ['and with or', where({ or: [nested(0)], and: [nested(0)] }), 'QUERY_INVALID filters.0 has an unknown key "or"'],
  [
    'two values to compare with',
    on('things.id', 'gt', '1', '2'),
    'QUERY_INVALID filters.0.values must be one value with gt',
  ],
  ['values of set', on('things.id', 'set', '1'), 'QUERY_INVALID filters.0.values must be left out with set'],
  [
    'rows and groups mixed',
    where({ or: [nested(0), { member: 'things.count', operator: 'gt', values: ['1'] }] }),
    'QUERY_INVALID filters.0 mixes measures and dimensions',
  ],
  [
    'a word as a number',
    on('things.size', 'equals', 'big'),
    'TYPE_MISMATCH filters.0 is no number, as things.size is: "big"',
  ],
  ['SQL as a number', on('things.size', 'equals', '1) OR (1=1'), 'TYPE_MISMATCH filters.0 is no number'],
  ['NaN as a number', on('things.size', 'equals', 'NaN'), 'TYPE_MISMATCH filters.0 is no number'],
  ['Infinity as a number', on('things.size', 'lt', 'Infinity'), 'TYPE_MISMATCH filters.0 is no number'],
  ['a key that has lost digits', on('things.id', 'equals', 2 ** 53), 'QUERY_INVALID filters.0.values has a number'],
  ['hexadecimal', on('things.size', 'equals', '0x10'), 'TYPE_MISMATCH filters.0 is no number'],
  ['more digits than there are', on('things.size', 'equals', '9'.repeat(60)), 'TYPE_MISMATCH filters.0 is no number'],
  ['yes as a truth', on('things.flag', 'equals', 'yes'), 'TYPE_MISMATCH filters.0 is no true or false'],
  ['an order of truths', on('things.flag', 'gt', 'true'), 'TYPE_MISMATCH filters.0 takes a number, a time or a text'],
  ['greater than nothing', on('things.size', 'gt', null), 'TYPE_MISMATCH filters.0 takes a number, a time or a text'],
  [
    'a part of a number',
    on('things.size', 'contains', '1'),
    'TYPE_MISMATCH filters.0 takes a text; things.size is a number',
  ],
  ['a day that there is not', on('things.at', 'equals', '2024-02-30'), 'TYPE_MISMATCH filters.0 is no time'],
  [
    'a range on a word',
    on('things.word', 'inDateRange', '2024-01-01', '2024-01-31'),
    'TYPE_MISMATCH filters.0 takes a time; things.word is a string',
  ],
  [
    'a range of three',
    on('things.at', 'inDateRange', '2024-01-01', '2024-01-31', '2024-02-01'),
    'QUERY_INVALID filters.0.values are no range of time',
  ],
  [
    'before two days',
    on('things.at', 'beforeDate', '2024-01-01', '2024-01-31'),
    'QUERY_INVALID filters.0.values must be one day or time with beforeDate',
  ],
  [
    'rows behind a filtered measure',
    where({ member: 'things.large', operator: 'measureFilter' }),
    'QUERY_NOT_PLANNABLE filters.0: the rows behind a measure with filters',
  ],
  // Time.
  ['a unit that there is not', time({ granularity: 'fortnight' }), 'SQL_NOT_SUPPORTED'],
  ['SQL as a unit', time({ granularity: "day', things.at) --" }), 'SQL_NOT_SUPPORTED'],
  [
    'a range backwards',
    time({ dateRange: ['2024-02-01', '2024-01-01'] }),
    'QUERY_INVALID timeDimensions.0.dateRange is no range of time',
  ],
  [
    'a phrase that means nothing',
    time({ dateRange: 'the good old days' }),
    'QUERY_INVALID timeDimensions.0.dateRange is no range of time: "the good old days"',
  ],
  [
    'a time that is a number',
    { measures: ['things.count'], timeDimensions: [{ dimension: 'things.id', granularity: 'day' }] },
    'QUERY_INVALID timeDimensions.0 names things.id, which is no time but a number',
  ],
  [
    'a range, and ranges to compare',
    time({ dateRange: 'today', compareDateRange: ['today'] }),
    'QUERY_INVALID timeDimensions.0 has both',
  ],
  [
    'many ranges',
    time({ compareDateRange: many(21, () => 'today') }),
    'QUERY_INVALID timeDimensions.0.compareDateRange has more than 20 items',
  ],
  [
    'gaps without a range',
    { ...time({}), fillMissingDates: true },
    'QUERY_NOT_PLANNABLE Missing times cannot be filled in',
  ],
  [
    'gaps of seconds in an age',
    { ...time({ granularity: 'second', dateRange: ['1000-01-01', '9999-12-31'] }), fillMissingDates: true },
    'QUERY_NOT_PLANNABLE',
  ],
  // Size.
  ['filters within each other', where(nested(7)), 'QUERY_INVALID The query is nested deeper than 16 levels'],
  ['filters ten thousand deep', where(nested(10_000)), 'QUERY_INVALID The query is nested deeper than 16 levels'],
  [
    'many values',
    on('things.id', 'equals', ...many(1001, (at) => at)),
    'QUERY_INVALID filters.0.values has more than 1000 items',
  ],
  [
    'many measures',
    { measures: many(101, (at) => `things.m${at}`) },
    'QUERY_INVALID The query has more than 100 measures and dimensions',
  ],
  [
    'many filters',
    { measures: ['things.count'], filters: many(201, isNot) },
    'QUERY_INVALID filters has more than 200 conditions',
  ],
  [
    'many filters in groups',
    { measures: ['things.count'], filters: many(3, () => ({ or: many(67, isNot) })) },
    'QUERY_INVALID filters has more than 200 conditions',
  ],
  [
    'many segments',
    { measures: ['things.count'], segments: many(101, (at) => `things.s${at}`) },
    'QUERY_INVALID segments has more than 100 names',
  ],
  [
    'many bytes',
    on('things.word', 'equals', ...many(8, (at) => `${at}${'x'.repeat(9990)}`)),
    'QUERY_INVALID The query has more than 65536 bytes',
  ],
  [
    'half a character',
    on('things.word', 'equals', '\ud800'),
    'QUERY_INVALID The query holds a text with characters that are none',
  ],
  [
    'ungrouped figures',
    { measures: ['things.count'], ungrouped: true },
    'QUERY_INVALID measures cannot be asked for with ungrouped',
  ],
  // Strange, and answered rightly.
  ['a measure twice', { measures: ['things.count', 'things.count'] }, ok, 3],
  ['what Cube keeps results by', { measures: ['things.count'], renewQuery: true, cacheMode: 'no-cache' }, ok, 3],
  [
    'nothing said in many ways',
    { measures: ['things.count'], dimensions: null, filters: [], order: {}, limit: null, timezone: 'utc' },
    ok,
    3,
  ],
  ['SQL as a value', on('things.word', 'equals', "x' OR '1'='1"), ok, 0],
  ['SQL as a part', on('things.word', 'contains', "'; DROP TABLE things; --"), ok, 0],
  ['wildcards are characters', on('things.word', 'contains', '%'), ok, 1],
  ['a backslash at the end', on('things.word', 'endsWith', '\\'), ok, 1],
  ['quotes', on('things.word', 'equals', "o'x"), ok, 1],
  ['the rows behind a measure without filter', where({ member: 'things.count', operator: 'measureFilter' }), ok, 3],
  ['a small number', on('things.size', 'gt', '1e-3'), ok, 2],
  ['a large number', on('things.size', 'lt', '1e21'), ok, 3],
  ['below zero', on('things.size', 'equals', '-1.50'), ok, 1],
  ['a thousand values', on('things.id', 'equals', ...many(1000, (at) => at)), ok, 3],
  ['the older name of a member', where({ dimension: 'things.id', operator: 'equals', values: [1] }), ok, 1],
  ['groups of groups', where(nested(5)), ok, 3],
  ['a segment', { measures: ['things.count'], segments: ['things.short'] }, ok, 2],
];
