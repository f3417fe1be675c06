/** How an operation of the management API is declared: once, for the server's routes, the description and the CLI. */
import type { z } from 'zod';

/** Methods of the management API. */
export type OperationMethod = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** An operation: its address, what goes in and what comes out. Values of `params` and `query` are text on the wire. */
export interface Operation<
  Params extends z.ZodObject = z.ZodObject,
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodType = z.ZodType,
  Reply extends z.ZodType = z.ZodType,
> {
  /** `listGroups`: the operationId of the description. */
  readonly id: string;
  /** The words of the CLI that call it: `groups list`. */
  readonly command: string;
  /** The heading that it stands under: `groups`. */
  readonly tag: string;
  readonly summary: string;
  readonly method: OperationMethod;
  /** With `:parameters`: `/api/v1/groups/:id`. */
  readonly path: string;
  readonly params: Params;
  readonly query: Query;
  /** Absent: the operation takes no body. */
  readonly body?: Body;
  /** 204 has no `reply`. */
  readonly status: 200 | 201 | 204;
  readonly reply?: Reply;
  /** What the audit log calls it: `group.delete`. Absent: it changes nothing. */
  readonly audit?: string;
}

/** Declares an operation with the types of its shapes. */
export function operation<
  Params extends z.ZodObject,
  Query extends z.ZodObject,
  Body extends z.ZodType,
  Reply extends z.ZodType,
>(declared: Operation<Params, Query, Body, Reply>): Operation<Params, Query, Body, Reply> {
  return declared;
}

/** What the query of a declared operation is when it has been parsed. */
export type QueryOf<Declared extends Operation> =
  Declared extends Operation<z.ZodObject, infer Query> ? z.output<Query> : never;

/** The same of its body. */
export type BodyOf<Declared extends Operation> =
  Declared extends Operation<z.ZodObject, z.ZodObject, infer Body> ? z.output<Body> : never;
