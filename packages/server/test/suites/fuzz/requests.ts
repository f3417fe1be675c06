/** The description of the HTTP API to a generator of requests: every operation that takes a body, right and wrong. */
import fc from 'fast-check';
import { z } from 'zod';
import type { HttpCall } from '../http-check.ts';
import { rightBodies } from './known.ts';
import { type Mutation, mutate, mutateText, mutation, textMutation } from './mutate.ts';
import { type SchemaWorld, valuesOf } from './schema-arbitrary.ts';

const operationSchema = z.looseObject({
  operationId: z.string(),
  requestBody: z
    .object({ content: z.object({ 'application/json': z.object({ schema: z.unknown() }) }) })
    .loose()
    .optional(),
  responses: z.record(z.string(), z.unknown()),
  security: z.array(z.record(z.string(), z.unknown())).default([]),
});
const descriptionSchema = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.unknown())),
  components: z.object({ schemas: z.record(z.string(), z.unknown()) }),
});

/** An operation that takes a body. */
export interface BodyOperation {
  readonly id: string;
  readonly method: string;
  /** With `{parameters}`. */
  readonly path: string;
  readonly schema: unknown;
  /** The statuses that the description says it may answer with. */
  readonly statuses: readonly number[];
  /** Whether it is for embed tokens as well. */
  readonly takesTokens: boolean;
}

/** Who calls: an API key, the holder of an embed token, or nobody. */
export type CallerKind = 'key' | 'token' | 'nobody';

/** A generated request: the credential is put in where it is sent. */
export interface FuzzRequest {
  readonly operation: BodyOperation;
  readonly caller: CallerKind;
  readonly call: HttpCall & { readonly body: Uint8Array<ArrayBuffer> };
}

/** The operations of a description that take a body. @throws Error when there is none. */
export function bodyOperations(description: unknown): {
  readonly operations: readonly BodyOperation[];
  readonly schemas: SchemaWorld['schemas'];
} {
  const { paths, components } = descriptionSchema.parse(description);
  const operations: BodyOperation[] = [];
  for (const [path, methods] of Object.entries(paths)) {
    for (const method of ['post', 'put', 'patch']) {
      const parsed = operationSchema.safeParse(methods[method]);
      if (!parsed.success) continue;
      const { operationId, requestBody, responses, security } = parsed.data;
      // One without a body must not mind that it gets one.
      const schema = requestBody?.content['application/json'].schema ?? {};
      operations.push({
        id: operationId,
        method: method.toUpperCase(),
        path,
        schema,
        statuses: Object.keys(responses).map(Number),
        takesTokens: security.some((one) => 'embedToken' in one),
      });
    }
  }
  if (operations.length === 0) throw new Error('The description has no operation with a body.');
  return { operations, schemas: components.schemas };
}

/** Values for the parameters of paths; `~7` is the seventh of what there is when the request goes out (known.ts). */
const parameters: Readonly<Record<string, fc.Arbitrary<string>>> = {
  accountName: mostly(fc.constant('demo')),
  agentId: mostly(fc.constantFrom('1')),
  deploymentId: mostly(fc.constant('1')),
  embedTenantName: mostly(fc.constantFrom('fuzz-tenant', 'default')),
  id: mostly(fc.nat(49).map((index) => `~${index}`)),
};

function mostly(right: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const wrong = fc.constantFrom(
    '0',
    '-1',
    '4711',
    '2147483648',
    '99999999999999999999',
    'x',
    '%00',
    '%ff',
    '%2e%2e',
    '1.5',
    "'",
    'a'.repeat(300),
  );
  return fc.oneof({ weight: 12, arbitrary: right }, { weight: 1, arbitrary: wrong });
}

function pathOf(path: string): fc.Arbitrary<string> {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const values = names.map((name) => parameters[name] ?? fc.constant('1'));
  return fc.tuple(...values).map((chosen) => {
    let index = 0;
    return path.replaceAll(/\{\w+\}/g, () => chosen[index++] ?? '');
  });
}

/** What the schema says, or one of the bodies that are known to be right. */
function bodyOf(world: SchemaWorld, { id, schema }: BodyOperation): fc.Arbitrary<unknown> {
  const right = rightBodies[id];
  const generated = valuesOf(world, schema);
  return right === undefined
    ? generated
    : fc.oneof({ weight: 2, arbitrary: fc.constantFrom(...right) }, { weight: 1, arbitrary: generated });
}

/** Generates requests of all the operations; about a third of the bodies are as the schema says. */
export function requestOf(operations: readonly BodyOperation[], world: SchemaWorld): fc.Arbitrary<FuzzRequest> {
  return fc.oneof(
    ...operations.map((operation) =>
      fc
        .record({
          path: pathOf(operation.path),
          value: bodyOf(world, operation),
          mutations: fc.oneof(
            { weight: 1, arbitrary: fc.constant<Mutation[]>([]) },
            { weight: 2, arbitrary: fc.array(mutation, { minLength: 1, maxLength: 3 }) },
          ),
          text: textMutation,
          type: fc.oneof(
            { weight: 40, arbitrary: fc.constant('application/json') },
            {
              weight: 1,
              arbitrary: fc.constantFrom('application/json; charset=utf-16', 'text/plain', 'application/xml', ';', ''),
            },
          ),
          caller: fc.oneof(
            { weight: 30, arbitrary: fc.constant<CallerKind>('key') },
            { weight: operation.takesTokens ? 15 : 1, arbitrary: fc.constant<CallerKind>('token') },
            { weight: 1, arbitrary: fc.constant<CallerKind>('nobody') },
          ),
        })
        .map(({ path, value, mutations, text, type, caller }): FuzzRequest => {
          const mutated = mutations.reduce<unknown>(mutate, value);
          const body = mutateText(JSON.stringify(mutated) ?? '', text);
          return {
            operation,
            caller,
            call: { method: operation.method, path, headers: { 'content-type': type }, body },
          };
        }),
    ),
  );
}
