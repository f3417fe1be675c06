/** Rules and certified queries: Markdown files with front matter (agent-configuration.md). */
import { SemanticError } from '@inlay/semantic/semantic-error.ts';
import { z } from 'zod';
import type { SourceFile } from '../../query/model-files.ts';
import { type ConfigurationIssue, type ReportAt, readYaml } from '../../yaml-source.ts';
import { agentKey, type CertifiedQuery, type ForAgents, type Rule } from './agent-configuration.ts';
import { fingerprintOf, normaliseRequest } from './certified-queries.ts';
import { nameSchema } from './config-file.ts';
import { type FrontMatter, readFrontMatter } from './front-matter.ts';

const descriptionCharactersMax = 500;
const ruleCharactersMax = 16_000;
const requestsMax = 20;
const requestCharactersMax = 500;

const agents = z.array(nameSchema).min(1).max(200).optional();

const ruleSchema = z
  .strictObject({
    name: nameSchema,
    type: z.enum(['always', 'agent_requested']),
    description: z.string().trim().max(descriptionCharactersMax).optional(),
    agents,
  })
  .refine(({ type, description = '' }) => type === 'always' || description !== '', {
    path: ['description'],
    message: 'a rule of type agent_requested needs one: the agent decides by it when to read the rule',
  });

const request = z
  .string()
  .trim()
  .max(requestCharactersMax)
  .refine((text) => normaliseRequest(text) !== '', 'must hold a question');

const certifiedQuerySchema = z.strictObject({
  name: nameSchema,
  user_request: z.union([request, z.array(request).min(1).max(requestsMax)]),
  agents,
});

/** A rule; null when there are issues, which are pushed. `report` says more about its front matter. */
export function readRule(file: SourceFile, issues: ConfigurationIssue[]): Item<Rule> | null {
  const parts = partsOf(file, issues);
  if (parts === null) return null;
  const read = readYaml({ path: file.path, text: parts.yaml, firstLine: parts.yamlLine }, ruleSchema, issues);
  if (read === null) return null;
  const { name, type, description = '' } = read.value;
  const text = parts.body.trim();
  if (text === '') return refuse(file, parts.bodyLine, 'the rule has no text below its front matter', issues);
  if (text.length > ruleCharactersMax) {
    return refuse(file, parts.bodyLine, `the rule is longer than ${ruleCharactersMax} characters`, issues);
  }
  return {
    value: {
      name,
      type: type === 'always' ? 'always' : 'on-request',
      description,
      text,
      agents: toAgents(read.value.agents),
    },
    report: read.report,
  };
}

/** A certified query; null when there are issues, which are pushed. */
export function readCertifiedQuery(file: SourceFile, issues: ConfigurationIssue[]): Item<CertifiedQuery> | null {
  const parts = partsOf(file, issues);
  if (parts === null) return null;
  const read = readYaml({ path: file.path, text: parts.yaml, firstLine: parts.yamlLine }, certifiedQuerySchema, issues);
  const fence = readSqlFence(file, parts, issues);
  if (read === null || fence === null) return null;
  const { name, user_request } = read.value;
  try {
    const fingerprint = fingerprintOf(fence.sql);
    const userRequests = typeof user_request === 'string' ? [user_request] : user_request;
    const value = { name, userRequests, sql: fence.sql, fingerprint, agents: toAgents(read.value.agents) };
    return { value, report: read.report };
  } catch (error) {
    if (!(error instanceof SemanticError)) throw error;
    return refuse(file, fence.line, `${error.message} ${error.hint}`.trim(), issues);
  }
}

/** Something that was read, and how to say more about its front matter. */
export interface Item<T> {
  readonly value: T;
  readonly report: ReportAt;
}

function partsOf(file: SourceFile, issues: ConfigurationIssue[]): FrontMatter | null {
  const parts = readFrontMatter(file.text);
  return parts ?? refuse(file, 1, 'must begin with front matter: YAML between two lines "---"', issues);
}

/** The one fenced block of SQL in the body, and the line of the file at which its SQL begins. */
function readSqlFence(
  file: SourceFile,
  { body, bodyLine }: FrontMatter,
  issues: ConfigurationIssue[],
): { readonly sql: string; readonly line: number } | null {
  const lines = body.split('\n').map((line) => line.trimEnd());
  const starts = lines.flatMap((line, index) => (line === '```sql' ? [index] : []));
  const [start] = starts;
  if (start === undefined || starts.length > 1) {
    const found = start === undefined ? 'there is none' : `there are ${starts.length}`;
    return refuse(file, bodyLine, `needs one block of SQL, fenced by \`\`\`sql and \`\`\`: ${found}`, issues);
  }
  const end = lines.indexOf('```', start);
  if (end < 0) return refuse(file, bodyLine + start, 'the block of SQL does not end: a line ``` is missing', issues);
  const line = bodyLine + start + 1;
  const sql = lines
    .slice(start + 1, end)
    .join('\n')
    .trim()
    .replace(/;$/, '')
    .trimEnd();
  return sql === '' ? refuse(file, line, 'the block of SQL is empty', issues) : { sql, line };
}

function toAgents(names: readonly string[] | undefined): ForAgents {
  return names === undefined ? null : new Set(names.map(agentKey));
}

function refuse(file: SourceFile, line: number, message: string, issues: ConfigurationIssue[]): null {
  issues.push({ file: file.path, line, column: 1, message });
  return null;
}
