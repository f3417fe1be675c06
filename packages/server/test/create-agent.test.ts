/** From configuration to runs: which language model, tools, limits and words a run gets, and how it fails without. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { AgentEvent } from '../src/agent/events.ts';
import type { LanguageModel } from '../src/agent/language-models/language-model.ts';
import { InlayError } from '../src/errors.ts';
import { type AgentFiles, type AgentWorld, type AgentWorlds, answerOf, openAgentWorlds } from './configured-agents.ts';
import { call, say, scriptedNetwork } from './scripted-language-model.ts';

const storefront = new URL('../../../examples/storefront/agents/', import.meta.url);
const example = (path: string) => readFile(fileURLToPath(new URL(path, storefront)), 'utf8');

let worlds: AgentWorlds;
beforeAll(async () => {
  worlds = await openAgentWorlds();
});
afterAll(() => worlds[Symbol.asyncDispose]());

let world: AgentWorld | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});
async function open(
  agentFiles: AgentFiles,
  languageModels: Readonly<Record<string, LanguageModel>> = {},
): Promise<AgentWorld> {
  world = await worlds.open({ agentFiles, languageModels });
  return world;
}

const certifiedSql = 'SELECT channel, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 2 DESC';
const certified = (name: string, question: string, sql = certifiedSql, more = '') =>
  `---\nname: ${name}\nuser_request: ${question}\n${more}---\n\`\`\`sql\n${sql}\n\`\`\`\n`;
const rule = (head: string, text: string) => `---\n${head}\n---\n${text}\n`;
const words = { queryTitle: 't', description: 'd', userRequest: 'u' };
const failureOf = (events: readonly AgentEvent[]) => events.find((event) => event.type === 'failed');
const callsOf = (events: readonly AgentEvent[]) =>
  events.flatMap((event) =>
    event.type === 'tool-start' ? [{ name: event.name, input: JSON.parse(event.input) }] : [],
  );

describe('certified queries with the built-in analyst', () => {
  test('a certified question runs its SQL as it stands, and the answer says so', async () => {
    const { ask } = await open({ 'certified_queries/a.md': certified('Where we sell', 'What sells where?') });
    const events = await ask('what sells where');
    expect(callsOf(events)).toEqual([
      { name: 'acmeSqlApi', input: expect.objectContaining({ sqlQuery: certifiedSql, queryTitle: 'Where we sell' }) },
    ]);
    expect(answerOf(events)).toMatch(/^Where we sell: [\s\S]*\n\nFrom the certified query “Where we sell”\.$/);
  });

  test('its own query is certified, too, where it is the same', async () => {
    const { ask } = await open({
      'certified_queries/a.md': certified('Total', 'How much?', 'SELECT MEASURE(revenue) AS revenue FROM sales'),
    });
    expect(answerOf(await ask('revenue'))).toContain('From the certified query “Total”.');
    expect(answerOf(await ask('revenue by channel'))).not.toContain('certified');
  });

  test('for a user who may not run it, it does not exist', async () => {
    const { ask } = await open({ 'certified_queries/a.md': certified('Where we sell', 'What sells where?') });
    const events = await ask('What sells where?', { user: 'nobody' });
    expect(callsOf(events)).toEqual([]);
    expect(answerOf(events)).toBe('There is no data here that you may query.');
  });

  test('members that are hidden from the user hide the query', async () => {
    const sql = 'SELECT plan_tier, MEASURE(revenue) AS revenue FROM sales GROUP BY 1';
    const { ask } = await open({ 'certified_queries/a.md': certified('Plans', 'What do plans bring?', sql) });
    expect(callsOf(await ask('What do plans bring?'))).toEqual([]);
  });

  test('the queries of the example run, and answer', async () => {
    const { ask } = await open({
      'config.yml': await example('config.yml'),
      'rules/money.md': await example('rules/money.md'),
      'rules/refunds.md': await example('rules/refunds.md'),
      'certified_queries/business-by-year.md': await example('certified_queries/business-by-year.md'),
      'certified_queries/carriers.md': await example('certified_queries/carriers.md'),
    });
    expect(answerOf(await ask('How is business?'))).toMatch(
      /^Business by year: 2022 with revenue [\d,.]+, orders [\d,]+ and average order value [\d,.]+, then 2023 with/,
    );
    expect(answerOf(await ask('Who delivers on time?'))).toMatch(
      /^How punctual the carriers are: [A-Z].*%.*\n\nFrom the certified query “How punctual the carriers are”\.$/,
    );
    expect(world?.logText()).toBe('');
  });
});

describe('a language model over the network', () => {
  test('is told what the user may see, rules and certified queries; and reads a rule on request', async () => {
    const model = scriptedNetwork([[call('acmeRule', { name: 'refunds ' })], [say('Done.')]]);
    const { ask } = await open(
      {
        'config.yml': 'llm: house\naccessible_views: [fulfilment]',
        'rules/a.md': rule('name: Tone\ntype: always', 'Speak like a sailor.'),
        'rules/b.md': rule('name: Refunds\ntype: agent_requested\ndescription: about refunds', 'Count twice.'),
        'rules/c.md': rule('name: Elsewhere\ntype: always\nagents: [other]', 'Not for this one.'),
        'certified_queries/a.md': certified('Where we sell', 'What sells where?'),
        'certified_queries/b.md': certified('Plans', 'Revenue by plan?', 'SELECT plan_tier FROM sales'),
      },
      { house: model },
    );
    const events = await ask('what sells where?');
    const system = model.requests[0]?.system ?? '';
    expect(system).toContain('Speak like a sailor.');
    expect(system).toContain('- Refunds: about refunds');
    expect(system).not.toContain('Count twice.');
    expect(system).not.toContain('Not for this one.');
    expect(system).toContain('"view":"fulfilment"');
    expect(system).not.toContain('"view":"sales"');
    expect(system).toContain(`that of "Where we sell"`);
    // Hidden from merchants, and so is the query that names it.
    expect(system).not.toContain('plan_tier');
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['acmeMeta', 'acmeSqlApi', 'acmeRule']);
    expect(events.find((event) => event.type === 'tool-end')?.result).toBe('{"name":"Refunds","rule":"Count twice."}');
    expect(answerOf(events)).toBe('Done.');
  });

  test('without rules on request there is no tool for them; a rule that does not exist is a failure with names', async () => {
    const model = scriptedNetwork([[say('Done.')], [call('acmeRule', { name: 'x' })], [say('Done.')]]);
    const files = { 'config.yml': 'llm: house', 'rules/a.md': rule('name: Tone\ntype: always', 'Text') };
    await (await open(files, { house: model })).ask('hello');
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['acmeMeta', 'acmeSqlApi']);
    await world?.close();
    const more = { 'rules/b.md': rule('name: B\ntype: agent_requested\ndescription: d', 'Text') };
    const events = await (await open({ ...files, ...more }, { house: model })).ask('hello');
    expect(events.find((event) => event.type === 'tool-end')?.result).toContain('"hint":"Rules: B"');
  });

  test('an answer says that it is certified only where the query that ran is', async () => {
    const sameSql = certifiedSql.toLowerCase().replace('measure(revenue)', 'measure(sales.revenue)');
    const other = 'SELECT MEASURE(orders_count) FROM sales';
    const model = scriptedNetwork([
      [call('acmeSqlApi', { sqlQuery: sameSql, ...words })],
      [say('One.')],
      [
        call('acmeSqlApi', { sqlQuery: sameSql, ...words }),
        call('acmeSqlApi', { sqlQuery: other, ...words }, 'call-2'),
      ],
      [say('Two.')],
      [call('acmeSqlApi', { sqlQuery: other, ...words })],
      [say('Three.')],
    ]);
    const files = { 'config.yml': 'llm: house', 'certified_queries/a.md': certified('Where', 'What sells where?') };
    const { ask } = await open(files, { house: model });
    expect(answerOf(await ask('a'))).toBe('One.\n\nFrom the certified query “Where”.');
    expect(answerOf(await ask('b'))).toBe(
      'Two.\n\nPartly from the certified query “Where”; the other queries are not certified.',
    );
    expect(answerOf(await ask('c'))).toBe('Three.');
  });

  test('in private mode neither the values of the question nor rows are told, else both are', async () => {
    const turns = [[call('acmeSqlApi', { sqlQuery: certifiedSql, ...words })], [say('Done.')]];
    const told = async (config: string): Promise<string> => {
      const model = scriptedNetwork(turns);
      await (await open({ 'config.yml': config }, { house: model })).ask('revenue for marketplace');
      await world?.close();
      return JSON.stringify(model.requests);
    };
    const open_ = await told('llm: house');
    expect(open_).toContain(String.raw`{\"member\":\"sales.channel\",\"value\":\"marketplace\"}`);
    expect(open_).toContain('mobile app');
    for (const config of ['llm: house\nprivate: true', 'llm: house\nagents: [{name: SHOP ANALYST, private: true}]']) {
      const hidden = await told(config);
      expect(hidden).toContain('{{q');
      expect(hidden).not.toContain('sales.channel');
      expect(hidden).not.toContain('mobile app');
    }
  });

  test('an agent may be the one that a misspelt private entry means', async () => {
    const model = scriptedNetwork(() => [say('Done.')]);
    const config = `llm: house\nagents: [{name: Shop analist, private: true}, {name: Lab}]`;
    const { ask } = await open({ 'config.yml': config }, { house: model });
    await ask('hello');
    await ask('hello', { agentName: 'Lab' });
    expect(model.requests.map(({ system }) => system.includes('You see no values'))).toEqual([true, false]);
  });

  test('a language model that the operator made private is so for every agent', async () => {
    const model = scriptedNetwork([[say('Done.')]], { isPrivate: true });
    await (await open({ 'config.yml': 'llm: house\nprivate: false' }, { house: model })).ask('hello');
    expect(model.requests[0]?.system).toContain('You see no values');
  });

  test('limits hold below those of the server', async () => {
    const model = scriptedNetwork(() => [call('acmeMeta', { searchQuery: `revenue ${Math.random()}` })]);
    const files = { 'config.yml': 'llm: house\nlimits: { turns: 2 }\nagents: [{name: Big, limits: {turns: 1000}}]' };
    const { ask } = await open(files, { house: model });
    expect(answerOf(await ask('hello'))).toMatch(/\(2\)/);
    expect(model.requests).toHaveLength(2);
    expect(answerOf(await ask('hello', { agentName: 'Big' }))).toMatch(/\(20\)/);
    expect(model.requests).toHaveLength(22);
  });

  test('thoughts are shown in development mode only', async () => {
    const model = scriptedNetwork(() => [{ type: 'thinking', text: 'Hm.' }, say('Done.')]);
    const files = { 'config.yml': 'llm: house\nagents: [{name: Lab, development: true}]' };
    const { ask } = await open(files, { house: model });
    const kinds = async (agentName: string) => (await ask('hello', { agentName })).map(({ type }) => type);
    expect(await kinds('Shop analyst')).not.toContain('thinking-delta');
    expect(await kinds('Lab')).toContain('thinking-delta');
  });
});

describe('on a branch', () => {
  const isToldPrivate = async (agentFiles: AgentFiles, dev: AgentFiles): Promise<boolean> => {
    const model = scriptedNetwork([[say('Done.')]]);
    const languageModels = {
      house: model,
      vault: scriptedNetwork([], { isPrivate: true }),
      other: scriptedNetwork([]),
    };
    world = await worlds.open({ agentFiles, branches: { dev }, languageModels });
    await world.ask('hello', { branch: 'dev' });
    await world.close();
    return model.requests[0]?.system.includes('You see no values') ?? false;
  };
  const config = (text: string): AgentFiles => ({ 'config.yml': `llm: house\n${text}` });

  test.each<[string, AgentFiles, AgentFiles, boolean]>([
    ['a branch cannot take private mode away', config('private: true'), config('private: false'), true],
    ['not by having no entry', config('agents: [{name: Shop analyst, private: true}]'), config(''), true],
    ['a branch can be stricter', config(''), config('private: true'), true],
    ['neither says so', config(''), config(''), false],
    ['nobody can say what a broken default branch means', config('privat: true'), config(''), true],
    ['a branch cannot move an agent away from the built-in analyst', {}, config(''), true],
    ['nor one agent of several', config('agents: [{name: Shop analyst, llm: builtin}]'), config(''), true],
    ['nor from a language model that the operator made private', { 'config.yml': 'llm: vault' }, config(''), true],
    ['nor from one that does not exist', { 'config.yml': 'llm: gone' }, config(''), true],
    ['the default branch sends rows to another one', { 'config.yml': 'llm: other' }, config(''), false],
  ])('%s', async (_name, agentFiles, dev, isPrivate) => {
    expect(await isToldPrivate(agentFiles, dev)).toBe(isPrivate);
  });

  test('rules are those of the branch, thoughts are shown, and a broken branch breaks no other', async () => {
    const model = scriptedNetwork(() => [{ type: 'thinking', text: 'Hm.' }, say('Done.')]);
    const tone = (text: string): AgentFiles => ({
      ...config(''),
      'rules/a.md': rule('name: Tone\ntype: always', text),
    });
    const branches = { dev: tone('Of the branch.'), broken: config('x: y') };
    world = await worlds.open({ agentFiles: tone('Of main.'), branches, languageModels: { house: model } });
    const onMain = await world.ask('hello');
    const onDev = await world.ask('hello', { branch: 'dev' });
    expect(failureOf(await world.ask('hello', { branch: 'broken' }))).toMatchObject({
      code: 'AGENT_CONFIGURATION_INVALID',
    });
    expect(model.requests.map(({ system }) => /Of (main|the branch)/.exec(system)?.[0])).toEqual([
      'Of main',
      'Of the branch',
    ]);
    expect(onMain.map(({ type }) => type)).not.toContain('thinking-delta');
    expect(onDev.map(({ type }) => type)).toContain('thinking-delta');
    expect(world.logText()).toContain('"branch":"broken"');
  });
});

describe('what cannot be', () => {
  test('a broken configuration fails the run with its code; the log says where, the user is not told', async () => {
    const { ask } = await open({ 'config.yml': 'llm: builtin\nprivat: true' });
    const events = await ask('revenue');
    expect(events.map(({ type }) => type)).toEqual(['failed', 'usage']);
    expect(failureOf(events)).toMatchObject({ code: 'AGENT_CONFIGURATION_INVALID', requestId: 'req_test' });
    expect(JSON.stringify(events)).not.toContain('privat');
    expect(world?.logText()).toContain('config.yml:2:9: \\"privat\\" is not known here');
    await ask('again');
    expect(world?.logText().match(/does not load"/g)).toHaveLength(1);
  });

  test('an unknown language model fails the run; the log names it', async () => {
    const { ask } = await open({ 'config.yml': 'llm: gone' });
    const events = await ask('revenue');
    expect(failureOf(events)).toMatchObject({ code: 'LANGUAGE_MODEL_UNKNOWN' });
    expect(JSON.stringify(events)).not.toContain('gone');
    expect(world?.logText()).toContain('"languageModel":"gone"');
    expect(world?.logText()).toContain('config.yml names gone');
    expect(world?.logText()).not.toContain('builtin');
  });

  test('what names nothing is told once', async () => {
    const { ask } = await open({
      'config.yml': 'accessible_views: [sales, no_such_view]\nagents: [{name: Nobody}, {name: " shop ANALYST"}]',
    });
    await ask('revenue');
    await ask('revenue');
    const warnings = (world?.logText() ?? '').split('\n').filter((line) => line.includes('"warn"'));
    expect(warnings.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ views: ['no_such_view'] }),
      expect.objectContaining({ agents: ['nobody'] }),
    ]);
  });

  test('a run that is stopped while its configuration is read ends as any other', async () => {
    const { ask } = await open({ 'config.yml': 'privat: true' });
    const events = await ask('revenue', { signal: AbortSignal.abort(new InlayError('ABORTED', 'Stopped.')) });
    expect(events.map(({ type }) => type)).toEqual(['aborted', 'usage']);
  });
});
