/** The files of the agents → configuration, with the place of whatever is wrong. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type AgentsConfiguration,
  configurationOf,
  namedAgents,
} from '../src/agent/configuration/agent-configuration.ts';
import { configurationLimits, parseAgentFiles } from '../src/agent/configuration/parse-agent-files.ts';
import { issueText } from '../src/yaml-source.ts';

type Files = Readonly<Record<string, string>>;

const parse = (files: Files) => parseAgentFiles(Object.entries(files).map(([path, text]) => ({ path, text })));
function load(files: Files): AgentsConfiguration {
  const parsed = parse(files);
  if ('issues' in parsed) throw new Error(parsed.issues.map(issueText).join('\n'));
  return parsed;
}
function issuesOf(files: Files): string[] {
  const parsed = parse(files);
  return 'issues' in parsed ? parsed.issues.map(issueText) : [];
}
const rule = (head: string, body = 'Say it plainly.') => `---\n${head}\n---\n${body}\n`;
const certified = (head: string, sql = 'SELECT MEASURE(revenue) FROM sales') =>
  `---\n${head}\n---\n\n\`\`\`sql\n${sql}\n\`\`\`\n`;

describe('what is read', () => {
  test('no file says nothing', () => {
    expect(configurationOf(load({}), 'Shop analyst')).toEqual({
      languageModel: 'builtin',
      isPrivate: false,
      isDevelopment: false,
      accessibleViews: null,
      limits: {},
      rules: [],
      certifiedQueries: [],
    });
  });

  test('an entry overrides the defaults, setting by setting', () => {
    const all = load({
      'config.yml': `
llm: house
private: true
accessible_views: [sales]
limits: { turns: 5, tokens: 1000 }
agents:
  - name: "  Shop ANALYST "
    llm: large
    development: true
    limits: { turns: 3, run_seconds: 60, tool_calls: 2, text_characters: 900 }
  - name: Other
    private: false
    accessible_views: []
`,
    });
    expect(configurationOf(all, 'shop analyst')).toMatchObject({
      languageModel: 'large',
      isPrivate: true,
      isDevelopment: true,
      accessibleViews: ['sales'],
      limits: { turns: 3, toolCalls: 2, tokens: 1000, runSeconds: 60, textCharacters: 900 },
    });
    expect(configurationOf(all, 'Other')).toMatchObject({
      isPrivate: false,
      accessibleViews: [],
      languageModel: 'house',
    });
    expect(configurationOf(all, 'Nobody')).toMatchObject({ languageModel: 'house', isPrivate: true });
    expect(namedAgents(all)).toEqual(['shop analyst', 'other']);
  });

  test('rules and certified queries, in the order of their paths, for the agents that they name', () => {
    const all = load({
      'rules/b.md': rule('name: B\ntype: always'),
      'rules/sub/a.md': rule(
        'name: A\ntype: agent_requested\ndescription: when A is meant\nagents: [Shop Analyst]',
        '\nText\n\nmore ',
      ),
      'certified_queries/one.md': certified(
        'name: One\nuser_request: Revenue?\nagents: [other]',
        'SELECT 1 FROM sales;',
      ),
      'certified_queries/two.md': certified(
        'name: Two\nuser_request:\n  - Revenue?\n  - How much?\nagents: [shop analyst]',
      ),
      'README.md': 'about',
      'rules/README.md': 'about',
      'eval/a.yml': ': not read here',
    });
    const own = configurationOf(all, 'Shop analyst');
    expect(own.rules.map(({ name, type, text, description }) => [name, type, text, description])).toEqual([
      ['B', 'always', 'Say it plainly.', ''],
      ['A', 'on-request', 'Text\n\nmore', 'when A is meant'],
    ]);
    expect(own.certifiedQueries.map(({ name, userRequests }) => [name, userRequests])).toEqual([
      ['Two', ['Revenue?', 'How much?']],
    ]);
    const other = configurationOf(all, 'other');
    expect(other.rules.map(({ name }) => name)).toEqual(['B']);
    expect(other.certifiedQueries.map(({ sql }) => sql)).toEqual(['SELECT 1 FROM sales']);
    expect([...namedAgents(all)].toSorted()).toEqual(['other', 'shop analyst']);
  });

  test('files of other systems: a byte-order mark, carriage returns, white space behind the fences', () => {
    const text = '\ufeff---\r\nname: A\r\ntype: always\r\n--- \r\nOne\r\nTwo\r\n';
    expect(load({ 'rules/a.md': text }).rules[0]?.text).toBe('One\nTwo');
    const query = '---\r\nname: Q\r\nuser_request: q\r\n---\r\n```sql \r\nSELECT 1\r\nFROM sales\r\n``` \r\n';
    expect(load({ 'certified_queries/q.md': query }).certifiedQueries[0]?.sql).toBe('SELECT 1\nFROM sales');
  });
});

describe('what is wrong is said with file, line and column', () => {
  const manyRules = Object.fromEntries(
    Array.from({ length: configurationLimits.rulesMax + 1 }, (_, index) => [
      `rules/${String(index).padStart(4, '0')}.md`,
      rule(`name: R${index}\ntype: agent_requested\ndescription: d`),
    ]),
  );
  test.each<[string, Files, string[]]>([
    ['YAML', { 'config.yml': 'llm: [a\nprivate: true' }, ['config.yml:2:1: ']],
    ['a key twice', { 'config.yml': 'llm: a\nllm: b' }, ['config.yml:2:1: Map keys must be unique']],
    ['an unknown key', { 'config.yml': 'llm: a\nprivat: true' }, ['config.yml:2:9: "privat" is not known here']],
    [
      'an unknown key of an agent',
      { 'config.yml': 'agents:\n  - name: a\n    model: b' },
      ['config.yml:3:12: "model" is not known here'],
    ],
    ['a type', { 'config.yml': 'private: "yes"' }, ['config.yml:1:10: private: ']],
    ['a limit of nothing', { 'config.yml': 'limits:\n  turns: 0' }, ['config.yml:2:10: limits.turns: ']],
    ['no map', { 'config.yml': '- a' }, ['config.yml:1:1: ']],
    [
      'an agent twice',
      { 'config.yml': 'agents:\n  - name: A\n  - name: " a"' },
      ['config.yml:3:11: the agent a has an entry already'],
    ],
    ['two files', { 'config.yml': '', 'config.yaml': '' }, ['config.yml:1:1: there is config.yaml already']],
    ['a file that is not known', { 'confg.yml': 'private: true' }, ['confg.yml:1:1: is not known here']],
    ['a rule that is no Markdown', { 'rules/a.txt': '' }, ['rules/a.txt:1:1: is not known here']],
    ['no front matter', { 'rules/a.md': 'text' }, ['rules/a.md:1:1: must begin with front matter']],
    ['front matter without an end', { 'rules/a.md': '---\nname: a' }, ['rules/a.md:1:1: must begin with front matter']],
    ['front matter that is no YAML', { 'rules/a.md': rule('name: a\ntype: [') }, ['rules/a.md:3:8: ']],
    ['a type of rule', { 'rules/a.md': rule('name: a\ntype: sometimes') }, ['rules/a.md:3:7: type: ']],
    ['no description', { 'rules/a.md': rule('name: a\ntype: agent_requested') }, ['rules/a.md:2:1: description: ']],
    ['no text', { 'rules/a.md': rule('name: a\ntype: always', ' ') }, ['rules/a.md:5:1: the rule has no text']],
    [
      'a name of two lines',
      { 'rules/a.md': rule('name: "a\\nb"\ntype: always') },
      ['rules/a.md:2:7: name: must be one line'],
    ],
    [
      'a name twice',
      { 'rules/a.md': rule('name: a\ntype: always'), 'rules/b.md': rule('type: always\nname: A') },
      ['rules/b.md:3:7: another rule is called A'],
    ],
    [
      'a question without words',
      { 'certified_queries/a.md': certified('name: a\nuser_request: "?!"') },
      ['certified_queries/a.md:3:15: user_request: '],
    ],
    [
      'a question twice',
      {
        'certified_queries/a.md': certified('name: A\nuser_request: Total revenue?'),
        'certified_queries/b.md': certified('name: B\nuser_request: [x, total  REVENUE]\nagents: [shop]'),
      },
      ['certified_queries/b.md:3:15: "total revenue" is a question of A already'],
    ],
    [
      'no SQL',
      { 'certified_queries/a.md': rule('name: a\nuser_request: q') },
      ['certified_queries/a.md:5:1: needs one block of SQL, fenced by ```sql and ```: there is none'],
    ],
    [
      'two blocks of SQL',
      { 'certified_queries/a.md': `${certified('name: a\nuser_request: q')}${'```sql\nSELECT 1\n```'}` },
      ['certified_queries/a.md:5:1: needs one block of SQL, fenced by ```sql and ```: there are 2'],
    ],
    [
      'SQL without an end',
      { 'certified_queries/a.md': rule('name: a\nuser_request: q', '```sql\nSELECT 1') },
      ['certified_queries/a.md:5:1: the block of SQL does not end'],
    ],
    [
      'SQL that does not parse',
      { 'certified_queries/a.md': certified('name: a\nuser_request: q', 'SELEC 1') },
      ['certified_queries/a.md:7:1: The SQL does not parse'],
    ],
    [
      'SQL that is not semantic',
      { 'certified_queries/a.md': certified('name: a\nuser_request: q', 'DROP TABLE sales') },
      ['certified_queries/a.md:7:1: Drop statements are not allowed. Only SELECT reads data.'],
    ],
    ['a file that is too long', { 'rules/a.md': 'x'.repeat(65_537) }, ['rules/a.md:1:1: is longer than 65536']],
    ['too many rules', manyRules, ['rules/0200.md:2:7: there are more than 200 rules']],
    [
      'too much that is always told',
      {
        'rules/a.md': rule('name: a\ntype: always', 'x'.repeat(16_000)),
        'rules/b.md': rule('name: b\ntype: always', 'x'.repeat(16_000)),
        'rules/c.md': rule('name: c\ntype: always', 'x'),
        'rules/d.md': rule('name: d\ntype: always', 'x'),
      },
      ['rules/c.md:3:7: rules of type always have more than 32000 characters together'],
    ],
    [
      'a YAML bomb',
      { 'config.yml': `a: &a [x]\n${Array.from({ length: 200 }, (_, n) => `b${n}: *a`).join('\n')}` },
      ['config.yml:1:1: too many YAML aliases'],
    ],
  ])('%s', (_name, files, expected) => {
    const issues = issuesOf(files);
    expect(issues.map((issue, index) => issue.slice(0, expected[index]?.length))).toEqual(expected);
  });

  test('all of it at once, in order', () => {
    const issues = issuesOf({
      'rules/b.md': rule('name: b\ntype: never\ncolour: red', ''),
      'config.yml': 'llm: 1\nx: 2',
      'certified_queries/a.md': rule('name: a', 'no sql'),
    });
    expect(issues.map((issue) => issue.replace(/^([^:]*:\d+).*$/s, '$1'))).toEqual([
      'certified_queries/a.md:2',
      'certified_queries/a.md:4',
      'config.yml:1',
      'config.yml:2',
      'rules/b.md:3',
      'rules/b.md:4',
    ]);
  });

  test('no text makes it throw, and each place is within its file', () => {
    const path = fc.constantFrom('config.yml', 'rules/a.md', 'certified_queries/a.md');
    const piece = fc.constantFrom(
      '---\n',
      'name: a\n',
      'type: always\n',
      'user_request: [q]\n',
      '```sql\n',
      '```\n',
      '- ',
    );
    const text = fc
      .array(fc.oneof(piece, fc.string({ maxLength: 10 })), { maxLength: 12 })
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(path, text, (file, content) => {
        const parsed = parse({ [file]: content });
        const issues = 'issues' in parsed ? parsed.issues : [];
        const lines = content.split(/\r?\n/).length;
        return issues.every((issue) => issue.line >= 1 && issue.line <= lines + 1 && issue.column >= 1);
      }),
    );
  });
});

describe('what is written for people holds', () => {
  const root = join(import.meta.dirname, '../../..');

  test("the reference's files load", () => {
    const text = readFileSync(join(root, 'docs/reference/agent-configuration.md'), 'utf8');
    const files = [...text.matchAll(/`agents\/([^`]+)`:\n\n````\w+\n(.*?)\n````$/gms)].map(
      ([, path = '', content = '']): [string, string] => [path, content],
    );
    expect(files.map(([path]) => path)).toEqual([
      'config.yml',
      'rules/refunds.md',
      'certified_queries/business-by-year.md',
    ]);
    const board = configurationOf(load(Object.fromEntries(files)), 'Board analyst');
    expect(board).toMatchObject({ languageModel: 'local', isPrivate: true, limits: { turns: 12, runSeconds: 120 } });
  });

  test("the example's files load", () => {
    const cwd = join(root, 'examples/storefront/agents');
    const paths = globSync('**/*.{yml,md}', { cwd });
    const all = load(Object.fromEntries(paths.map((path) => [path, readFileSync(join(cwd, path), 'utf8')])));
    expect(all.rules.map(({ type }) => type).toSorted()).toEqual(['always', 'on-request']);
    expect(all.certifiedQueries).toHaveLength(2);
  });
});
