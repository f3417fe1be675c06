/** The flags of an operation, made from the shapes of its query and body. Pure. */
import type { Operation } from '@inlay/contract/operation.ts';
import { z } from 'zod';

/** How the text of a flag is read. `list`: one item each time that the flag is given, or a JSON list. */
export type FlagKind = 'text' | 'number' | 'boolean' | 'list' | 'json';

/** One flag. */
export interface Flag {
  /** In kebab case, without `--`: `external-id`; a field of a field joined by a dash: `limits-external-users-max`. */
  readonly name: string;
  readonly place: 'query' | 'body';
  /** Where the value goes. */
  readonly path: readonly string[];
  readonly kind: FlagKind;
  /** How items of a list are read. */
  readonly itemKind: FlagKind;
  /** Whether the text `null` stands for no value. */
  readonly isNullable: boolean;
  readonly isRequired: boolean;
  /** For the help: what it does, the values that it takes, what holds without it. */
  readonly description: string;
  readonly values: readonly string[];
  readonly preset: unknown;
}

/** What this file reads of a JSON schema. */
const nodeSchema = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  enum: z.array(z.unknown()).optional(),
  const: z.unknown().optional(),
  description: z.string().optional(),
  default: z.unknown().optional(),
  get anyOf() {
    return z.array(nodeSchema).optional();
  },
  get items() {
    return nodeSchema.optional();
  },
  get properties() {
    return z.record(z.string(), nodeSchema).optional();
  },
  required: z.array(z.string()).optional(),
});
type Node = z.infer<typeof nodeSchema>;

/** The flags of an operation, those of the query first. */
export function flagsOf({ query, body }: Pick<Operation, 'query' | 'body'>): readonly Flag[] {
  return [...flagsIn('query', query), ...(body === undefined ? [] : flagsIn('body', body))];
}

function flagsIn(place: Flag['place'], shape: z.ZodType): readonly Flag[] {
  const node = nodeSchema.parse(z.toJSONSchema(shape, { io: 'input', unrepresentable: 'any' }));
  return fieldsOf(node, place, []);
}

function fieldsOf({ properties = {}, required = [] }: Node, place: Flag['place'], path: readonly string[]): Flag[] {
  return Object.entries(properties).flatMap(([field, node]) => {
    const inner = withoutNull(node);
    const here = [...path, field];
    if (path.length === 0 && inner.properties !== undefined) return fieldsOf(inner, place, here);
    const values = (inner.enum ?? inner.items?.enum ?? []).filter((value) => typeof value === 'string');
    return {
      name: here.map(kebab).join('-'),
      place,
      path: here,
      kind: kindOf(inner),
      itemKind: inner.items === undefined ? 'text' : kindOf(withoutNull(inner.items)),
      isNullable: isNullable(node),
      isRequired: path.length === 0 && required.includes(field) && node.default === undefined,
      description: node.description ?? inner.description ?? '',
      values,
      preset: node.default,
    };
  });
}

const kebab = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

const isNullable = (node: Node): boolean => typesOf(node).includes('null') || (node.anyOf ?? []).some(isNullable);

const typesOf = ({ type = [] }: Node): readonly string[] => [type].flat();

/** What is left of a choice between one shape and null. */
function withoutNull(node: Node): Node {
  const [type, ...more] = typesOf(node).filter((one) => one !== 'null');
  if (type !== undefined && more.length === 0) return { ...node, type };
  const [only, ...others] = (node.anyOf ?? []).filter((one) => one.type !== 'null');
  return only !== undefined && others.length === 0 ? withoutNull(only) : node;
}

function kindOf(node: Node): FlagKind {
  switch (node.type) {
    case 'string':
      return 'text';
    case 'integer':
    case 'number':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'array':
      return 'list';
    default:
      return isTextual(node) ? 'text' : 'json';
  }
}

/** A choice between texts, such as a fixed word or an address. */
function isTextual(node: Node): boolean {
  if (node.anyOf !== undefined) return node.anyOf.every(isTextual);
  return node.type === 'string' || typeof node.const === 'string';
}

/**
 * The value that the texts of a flag stand for; `undefined` when they stand for none.
 * @param texts one for each time that the flag was given, one at least.
 */
export function readFlag(flag: Flag, texts: readonly string[]): { readonly value: unknown } | undefined {
  const [text = ''] = texts;
  if (flag.isNullable && texts.length === 1 && text === 'null') return { value: null };
  if (flag.kind === 'list') {
    if (texts.length === 1 && text.startsWith('[')) return parsedJson(text);
    const items = texts.map((one) => readScalar(flag.itemKind, one));
    return items.every((item) => item !== undefined) ? { value: items.map((item) => item.value) } : undefined;
  }
  return texts.length === 1 ? readScalar(flag.kind, text) : undefined;
}

function readScalar(kind: FlagKind, text: string): { readonly value: unknown } | undefined {
  switch (kind) {
    case 'number':
      return /^-?\d+(\.\d+)?$/.test(text) ? { value: Number(text) } : undefined;
    case 'boolean':
      return text === 'true' || text === 'false' ? { value: text === 'true' } : undefined;
    case 'json':
    case 'list':
      return parsedJson(text);
    case 'text':
      return { value: text };
  }
}

function parsedJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
