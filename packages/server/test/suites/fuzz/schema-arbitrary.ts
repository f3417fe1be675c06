/** JSON Schema, as the OpenAPI description has it, to a fast-check generator of values that it takes, or nearly. */
import fc from 'fast-check';
import { z } from 'zod';

const schemaNode = z.looseObject({
  $ref: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  enum: z.array(z.unknown()).optional(),
  const: z.unknown().optional(),
  anyOf: z.array(z.unknown()).optional(),
  oneOf: z.array(z.unknown()).optional(),
  allOf: z.array(z.unknown()).optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
  items: z.unknown().optional(),
  minItems: z.number().optional(),
  maxItems: z.number().optional(),
  minLength: z.number().optional(),
  maxLength: z.number().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  pattern: z.string().optional(),
  format: z.string().optional(),
});

/** Where references lead, and which values are known to exist for a property of that name. */
export interface SchemaWorld {
  /** `components.schemas` of the description. */
  readonly schemas: Readonly<Record<string, unknown>>;
  /** Values for a property, by its name: mostly these are taken, so that calls get past the validation. */
  readonly known: Readonly<Record<string, readonly unknown[]>>;
}

/** How deep values go before a generator gives up. */
const depthMax = 6;
/** Items and characters beyond this are the mutations' affair. */
const itemsMax = 4;
const charactersMax = 40;

/**
 * A generator for a schema. What it does not understand becomes any JSON value.
 * @param name of the property that holds the value, for the known values.
 */
export function valuesOf(world: SchemaWorld, schema: unknown, name = '', depth = 0): fc.Arbitrary<unknown> {
  const own = ofSchema(world, schema, name, depth);
  const known = world.known[name];
  if (known === undefined || known.length === 0) return own;
  return fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...known) }, { weight: 1, arbitrary: own });
}

function ofSchema(world: SchemaWorld, schema: unknown, name: string, depth: number): fc.Arbitrary<unknown> {
  const parsed = schemaNode.safeParse(schema);
  if (!parsed.success || depth > depthMax) return fc.jsonValue({ maxDepth: 2 });
  const node = parsed.data;
  const again = (inner: unknown): fc.Arbitrary<unknown> => valuesOf(world, inner, name, depth + 1);
  if (node.$ref !== undefined) return again(world.schemas[node.$ref.split('/').at(-1) ?? '']);
  if ('const' in node) return fc.constant(node.const);
  if (node.enum !== undefined && node.enum.length > 0) return fc.constantFrom(...node.enum);
  const choices = node.anyOf ?? node.oneOf ?? node.allOf;
  if (choices !== undefined && choices.length > 0) return fc.oneof(...choices.map(again));
  const types = [node.type ?? (node.properties === undefined ? 'any' : 'object')].flat();
  return fc.oneof(...types.map((type) => ofType(world, type, node, name, depth)));
}

function ofType(
  world: SchemaWorld,
  type: string,
  node: z.infer<typeof schemaNode>,
  name: string,
  depth: number,
): fc.Arbitrary<unknown> {
  switch (type) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'integer':
    case 'number': {
      const min = Math.max(node.minimum ?? -1000, Number.MIN_SAFE_INTEGER);
      const max = Math.min(Math.max(node.maximum ?? 1000, min), Number.MAX_SAFE_INTEGER);
      const near = fc.integer({ min: Math.ceil(min), max: Math.min(Math.floor(max), Math.ceil(min) + 1000) });
      return type === 'integer' ? near : fc.oneof(near, fc.double({ min, max, noNaN: true }));
    }
    case 'string':
      return ofString(node);
    case 'array':
      return fc.array(valuesOf(world, node.items, name, depth + 1), {
        minLength: Math.min(node.minItems ?? 0, itemsMax),
        maxLength: Math.min(node.maxItems ?? itemsMax, itemsMax),
      });
    case 'object': {
      const properties = Object.entries(node.properties ?? {});
      if (properties.length === 0)
        return fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 });
      const members = Object.fromEntries(
        properties.map(([key, inner]) => [key, valuesOf(world, inner, key, depth + 1)]),
      );
      const required = (node.required ?? []).filter((key) => key in members);
      return fc.record(members, { requiredKeys: required });
    }
    default:
      return fc.jsonValue({ maxDepth: 3 });
  }
}

function ofString({
  format,
  pattern,
  minLength = 0,
  maxLength = charactersMax,
}: z.infer<typeof schemaNode>): fc.Arbitrary<string> {
  if (format === 'uuid') return fc.uuid();
  if (format === 'email') return fc.emailAddress();
  if (format === 'date-time') {
    return fc
      .date({ min: new Date('2020-01-01'), max: new Date('2040-01-01'), noInvalidDate: true })
      .map((date) => date.toISOString());
  }
  if (pattern !== undefined) {
    try {
      return fc.stringMatching(new RegExp(pattern, 'u'), { maxLength: charactersMax });
    } catch {
      // fast-check knows fewer regular expressions than JSON Schema has.
    }
  }
  const max = Math.max(minLength, Math.min(maxLength, charactersMax));
  return fc.oneof(
    fc.string({ minLength, maxLength: max }),
    fc.string({ minLength, maxLength: max, unit: 'grapheme' }),
    fc.stringMatching(/^[a-z][a-z0-9-]{4,20}$/),
  );
}
