/** The results of tools as a thread keeps them, read back: what kind each is, and its parts. Pure. */
import { type Cell, type Column, cellSchema, columnSchema } from '@inlay/contract/chat.ts';
import { z } from 'zod';
import type { ConversationMessage } from './language-models/language-model.ts';

const sqlSchema = z.object({
  uuid: z.string().min(8),
  schema: z.array(columnSchema),
  data: z.array(z.array(cellSchema)),
  totalRows: z.number(),
});
const metaSchema = z.object({
  searchQuery: z.string(),
  cubes: z.array(
    z.object({
      name: z.string(),
      type: z.string(),
      title: z.string(),
      description: z.string(),
      members: z.array(
        z.object({
          name: z.string(),
          title: z.string(),
          description: z.string(),
          type: z.string(),
          kind: z.string(),
          aggType: z.string().optional(),
        }),
      ),
    }),
  ),
});
const errorSchema = z.object({
  error: z.object({ code: z.string(), message: z.string(), hint: z.string() }),
});

/** The result of the SQL tool: the first rows of a query, and how many it has in all. */
export interface StoredRows {
  readonly kind: 'rows';
  readonly uuid: string;
  readonly schema: readonly Column[];
  readonly data: readonly (readonly Cell[])[];
  readonly totalRows: number;
}

/** What the metadata tool found. */
export type StoredMetadata = { readonly kind: 'metadata' } & z.infer<typeof metaSchema>;

/** Why a tool failed. */
export type StoredFailure = { readonly kind: 'failure' } & z.infer<typeof errorSchema>['error'];

/** The result of a tool. `other`: that of a tool with a shape of its own, or nothing that can be read. */
export type StoredResult =
  | StoredRows
  | StoredMetadata
  | StoredFailure
  | { readonly kind: 'other'; readonly value: unknown };

/** Reads the result of a tool, JSON text as a thread keeps it. Never throws. */
export function readStoredResult(json: string): StoredResult {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return { kind: 'other', value: json };
  }
  const failure = errorSchema.safeParse(value);
  if (failure.success) return { kind: 'failure', ...failure.data.error };
  const rows = sqlSchema.safeParse(value);
  if (rows.success) return { kind: 'rows', ...rows.data };
  const metadata = metaSchema.safeParse(value);
  if (metadata.success) return { kind: 'metadata', ...metadata.data };
  return { kind: 'other', value };
}

/**
 * The label by which a language model names a result in its placeholders: `q` and the first eight digits of its `uuid`. It
 * depends on nothing else, so it stays the same however much of the conversation is cut.
 */
export function resultLabel(uuid: string): string {
  return `q${uuid.slice(0, 8).toLowerCase()}`;
}

/**
 * Finds rows by their label among the results of a conversation, the latest first; undefined when it has none. A conversation is
 * one thread's, so a label of another thread finds nothing. The results are looked through once, with the first label, and only
 * what a label names is read.
 */
export function rowsIn(messages: readonly ConversationMessage[]): (label: string) => StoredRows | undefined {
  let byLabel: Map<string, string[]> | null = null;
  return (label) => {
    byLabel ??= resultsByLabel(messages);
    for (const json of byLabel.get(label) ?? []) {
      const result = readStoredResult(json);
      if (result.kind === 'rows' && resultLabel(result.uuid) === label) return result;
    }
    return undefined;
  };
}

/** The results that may have a label, the latest first. Within a text of the JSON the quotes are escaped. */
function resultsByLabel(messages: readonly ConversationMessage[]): Map<string, string[]> {
  const results = new Map<string, string[]>();
  for (const message of messages.toReversed()) {
    if (message.role !== 'tool') continue;
    for (const [, uuid = ''] of message.result.matchAll(/"uuid":"([^"\\]{8})/g)) {
      const label = resultLabel(uuid);
      const others = results.get(label);
      if (others === undefined) results.set(label, [message.result]);
      else others.push(message.result);
    }
  }
  return results;
}
