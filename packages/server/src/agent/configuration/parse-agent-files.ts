/** The files of the agents → their configuration, or everything that is wrong with them, each with file, line and column. */
import type { SourceFile } from '../../query/model-files.ts';
import type { ConfigurationIssue } from '../../yaml-source.ts';
import type { AgentsConfiguration, CertifiedQuery, ForAgents, Rule } from './agent-configuration.ts';
import { normaliseRequest } from './certified-queries.ts';
import { readConfigFile } from './config-file.ts';
import { type Item, readCertifiedQuery, readRule } from './markdown-files.ts';

/** What the files may come to. */
export const configurationLimits = {
  filesMax: 1000,
  fileCharactersMax: 65_536,
  rulesMax: 200,
  /** The texts of rules of type `always` together: they go along with every question. */
  alwaysCharactersMax: 32_000,
  certifiedQueriesMax: 500,
} as const;

type FileKind = 'config' | 'rule' | 'certified-query' | 'ignored' | 'unknown';

/**
 * Parses the configuration of a deployment's agents. No file at all is a configuration that says nothing. What lies below
 * `eval/` and what is called `README.md` is passed over.
 */
export function parseAgentFiles(
  files: readonly SourceFile[],
): AgentsConfiguration | { readonly issues: readonly ConfigurationIssue[] } {
  const issues: ConfigurationIssue[] = [];
  const refuse = (path: string, message: string): void => {
    issues.push({ file: path, line: 1, column: 1, message });
  };
  const byKind: Record<FileKind, SourceFile[]> = {
    config: [],
    rule: [],
    'certified-query': [],
    ignored: [],
    unknown: [],
  };
  const sorted = files.toSorted((one, other) => (one.path < other.path ? -1 : 1));
  for (const file of sorted.slice(0, configurationLimits.filesMax)) {
    const kind = kindOf(file.path);
    const isTooLong = kind !== 'ignored' && file.text.length > configurationLimits.fileCharactersMax;
    if (isTooLong) refuse(file.path, `is longer than ${configurationLimits.fileCharactersMax} characters`);
    else byKind[kind].push(file);
  }
  const beyond = sorted[configurationLimits.filesMax];
  if (beyond !== undefined) refuse(beyond.path, `there are more than ${configurationLimits.filesMax} files`);
  for (const { path } of byKind.unknown) {
    refuse(path, 'is not known here: config.yml, rules/*.md, certified_queries/*.md, eval/*.yml');
  }
  const [configFile, secondConfig] = byKind.config;
  if (secondConfig !== undefined) refuse(secondConfig.path, `there is ${configFile?.path} already`);

  const config = configFile === undefined ? null : readConfigFile(configFile, issues);
  const rules = byKind.rule.flatMap((file) => readRule(file, issues) ?? []);
  const certified = byKind['certified-query'].flatMap((file) => readCertifiedQuery(file, issues) ?? []);
  refuseRepeatedNames(rules, 'rule');
  refuseRepeatedNames(certified, 'certified query');
  refuseRepeatedRequests(certified);
  const { rulesMax, certifiedQueriesMax, alwaysCharactersMax } = configurationLimits;
  rules[rulesMax]?.report(['name'], `there are more than ${rulesMax} rules`);
  certified[certifiedQueriesMax]?.report(['name'], `there are more than ${certifiedQueriesMax} certified queries`);
  refuseTooMuchText(rules, alwaysCharactersMax);
  if (issues.length > 0) return { issues: issues.toSorted(byPlace) };
  return {
    defaults: config?.defaults ?? { limits: {} },
    agents: config?.agents ?? new Map(),
    rules: rules.map(({ value }) => value),
    certifiedQueries: certified.map(({ value }) => value),
  };
}

function kindOf(path: string): FileKind {
  const name = path.split('/').at(-1) ?? '';
  if (/^readme\.md$/i.test(name) || name.startsWith('.') || path.startsWith('eval/')) return 'ignored';
  if (path === 'config.yml' || path === 'config.yaml') return 'config';
  if (/^rules\/.*\.md$/.test(path)) return 'rule';
  return /^certified_queries\/.*\.md$/.test(path) ? 'certified-query' : 'unknown';
}

function refuseRepeatedNames(items: readonly Item<Rule | CertifiedQuery>[], what: string): void {
  const taken = new Set<string>();
  for (const { value, report } of items) {
    const key = value.name.toLowerCase();
    if (taken.has(key)) report(['name'], `another ${what} is called ${value.name}`);
    taken.add(key);
  }
}

/** Of two answers to one question of one agent, nobody could say which is certified. */
function refuseRepeatedRequests(items: readonly Item<CertifiedQuery>[]): void {
  const known = new Map<string, CertifiedQuery[]>();
  for (const { value, report } of items) {
    for (const request of new Set(value.userRequests.map(normaliseRequest))) {
      const others = known.get(request) ?? [];
      const other = others.find(({ agents }) => doOverlap(agents, value.agents));
      if (other !== undefined) report(['user_request'], `"${request}" is a question of ${other.name} already`);
      known.set(request, [...others, value]);
    }
  }
}

function doOverlap(one: ForAgents, other: ForAgents): boolean {
  return one === null || other === null || [...one].some((agent) => other.has(agent));
}

function refuseTooMuchText(rules: readonly Item<Rule>[], charactersMax: number): void {
  let characters = 0;
  for (const { value, report } of rules) {
    if (value.type !== 'always') continue;
    const before = characters;
    characters += value.text.length;
    if (before <= charactersMax && characters > charactersMax) {
      report(['type'], `rules of type always have more than ${charactersMax} characters together`);
    }
  }
}

function byPlace(one: ConfigurationIssue, other: ConfigurationIssue): number {
  if (one.file !== other.file) return one.file < other.file ? -1 : 1;
  return one.line - other.line || one.column - other.column;
}
