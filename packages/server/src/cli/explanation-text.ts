/** Explanations of queries for people, and as JSON. Pure. */
import type { QueryExplanation } from '@inlay/semantic/explain-sql.ts';
import type { PolicyExplanation } from '@inlay/semantic/policy/explain.ts';
import type { Subject } from '@inlay/semantic/policy/subject.ts';
import { plain } from './http-client.ts';

/** Who asks: attributes and the security context by their names, since values may be anything. */
export function subjectText(user: { readonly kind: string; readonly name: string }, subject: Subject): string {
  const { groups, userAttributes, securityContext, embedTenantName, isEmbedTenantScope, seesUnprotected } = subject;
  const list = (names: readonly string[]): string => names.map(plain).sort().join(', ') || 'none';
  const scope = isEmbedTenantScope ? `in the scope of the embed tenant ${plain(embedTenantName ?? '')}` : 'tenant-wide';
  return section(`Asked as ${user.kind} user ${plain(user.name)}, ${scope}`, [
    `groups: ${list(groups)}`,
    `user attributes: ${list(Object.keys(userAttributes))}`,
    `security context: ${list(Object.keys(securityContext))}`,
    `cubes and views that no policy protects are ${seesUnprotected ? 'seen' : 'not seen'}`,
  ]);
}

/** An explanation as text. */
export function explanationText({ outcome, policies, notes }: QueryExplanation): string {
  const all = [
    ...(outcome.kind === 'refused'
      ? [
          section(
            `Refused: ${plain(`${outcome.code}: ${outcome.message}`)}`,
            outcome.hint === '' ? [] : [plain(outcome.hint)],
          ),
        ]
      : []),
    ...(notes.length === 0 ? [] : [section('Notes', notes.map(plain))]),
    ...policies.map(policyText),
    ...(outcome.kind === 'compiled'
      ? [
          section('Plan', outcome.plan.map(plain)),
          section('SQL', [plain(outcome.compiled.sql)]),
          ...(outcome.compiled.slots.length === 0
            ? []
            : [section('Parameters', parameterLines(outcome.compiled.slots))]),
        ]
      : []),
  ];
  return all.join('\n\n');
}

function policyText({ name, type, taken, entries, rows, masks }: PolicyExplanation): string {
  const takes = taken.length === 0 ? 'no member' : taken.map(plain).join(', ');
  return section(`Policy of the ${type} ${plain(name)}, from which the query takes ${takes}`, [
    ...entries.flatMap(({ position, audience, counts, reasons }) => [
      `entry ${position}, for ${plain(audience)}: ${counts ? 'counts' : 'does not count'}`,
      ...reasons.map((reason) => `  ${plain(reason)}`),
    ]),
    `rows: ${plain(rows)}`,
    ...masks.map((mask) => `masked: ${plain(mask.member)}, in ${plain(mask.rows)}`),
  ]);
}

function parameterLines(
  slots: readonly { readonly value: unknown; readonly type: string; readonly origin: string | null }[],
): readonly string[] {
  return slots.map(({ value, type, origin }, at) => {
    const from = origin === null ? 'of the query' : `of the policy of ${origin.split(' ')[0] ?? ''}`;
    return plain(`${at + 1}: ${typeof value === 'string' ? JSON.stringify(value) : String(value)} (${type}, ${from})`);
  });
}

const section = (head: string, lines: readonly string[]): string =>
  [head, ...lines.map((line) => `  ${line}`)].join('\n');

/** Any value as JSON: sets and maps as lists, whole numbers of 64 bits as texts. */
export function jsonOf(value: unknown): string {
  return JSON.stringify(
    value,
    (_key, it: unknown) =>
      typeof it === 'bigint' ? String(it) : it instanceof Set || it instanceof Map ? [...it] : it,
    2,
  );
}
