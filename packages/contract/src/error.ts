import { z } from 'zod';

/**
 * Every error code that Inlay sends, with its HTTP status and what it means. One list, so that a code seen in a log or a
 * reply can be found. Codes with status 200 occur inside a stream or a tool result only, when the reply has begun.
 */
export const errorCodes = {
  INVALID_REQUEST: [400, 'The body, query or path does not have the required shape; `issues` says where.'],
  INVALID_JSON: [400, 'The body is not JSON.'],
  FIELD_NOT_SUPPORTED: [400, 'The body names a field that would change what the user may see and is not available.'],
  INVALID_CURSOR: [400, '`after` is not a cursor of this list and sort.'],
  DUPLICATE_NAME: [400, 'A name occurs twice in a list.'],
  USER_ATTRIBUTES_NOT_FOUND: [400, 'An attribute name is not in the catalogue; `issues` names it.'],
  GROUPS_NOT_FOUND: [400, 'A group name is not in the catalogue; the message names it.'],
  ATTRIBUTE_TYPE_MISMATCH: [400, "A value does not have its attribute's type."],
  NAME_TOO_LONG: [400, 'The name of a group, attribute or other object is longer than allowed.'],
  DISPLAY_NAME_TOO_LONG: [400, 'A display name is longer than allowed.'],
  DESCRIPTION_TOO_LONG: [400, 'A description is longer than allowed.'],
  DEFAULT_VALUE_TOO_LARGE: [400, 'The text of a default value has more bytes than allowed.'],
  EXTERNAL_ID_TOO_LONG: [400, 'The externalId is longer than allowed.'],
  INTERNAL_ID_TOO_LONG: [400, 'The internalId is longer than allowed.'],
  EMAIL_TOO_LONG: [400, 'The email address is longer than allowed.'],
  PICTURE_URL_TOO_LONG: [400, 'The URL of the picture is longer than allowed.'],
  TOO_MANY_GROUPS: [400, 'The call names more groups than allowed.'],
  TOO_MANY_ATTRIBUTES: [400, 'The call sets more attributes than allowed.'],
  TOO_MANY_DEFINITIONS: [400, 'The call defines more groups and attributes, counted together, than allowed.'],
  ATTRIBUTE_TEXT_TOO_LONG: [400, 'A text in an attribute value has more bytes than allowed.'],
  ATTRIBUTE_LIST_TOO_LONG: [400, 'A list in an attribute value has more items than allowed.'],
  SECURITY_CONTEXT_TOO_LARGE: [400, 'The securityContext has more bytes than allowed.'],
  SECURITY_CONTEXT_TOO_DEEP: [400, 'The securityContext has more levels than allowed.'],
  EPHEMERAL_TTL_TOO_LONG: [400, 'The ephemeralTtlSeconds are more than allowed.'],
  INPUT_TOO_LONG: [400, 'The message to the agent is longer than allowed.'],
  SESSION_SETTINGS_REQUIRED: [400, 'An API key names no user: the call needs sessionSettings.'],
  UNAUTHENTICATED: [401, 'The credential is missing, malformed, unknown, expired or revoked.'],
  SESSION_ENDED: [401, 'The user, the session or the API key has ended while its request or stream was open.'],
  FORBIDDEN: [403, 'The credential is valid, but not allowed to do this.'],
  ADMIN_ONLY: [403, 'This needs an admin API key: it shows how queries are answered.'],
  PLAN_REQUIRED: [403, "Chat needs the account's plan to be premium or enterprise."],
  CREATOR_MODE_NOT_ALLOWED: [403, 'The account does not use creator mode.'],
  AI_NOT_ALLOWED: [403, 'The settings of the session do not allow the agent.'],
  BRANCH_NOT_ALLOWED: [403, 'An embed token is bound to the branch of its session.'],
  THREAD_NOT_OWNED: [403, 'Abort: the thread belongs to another user.'],
  ROUTE_NOT_FOUND: [404, 'No such path.'],
  NOT_FOUND: [404, 'What the path or body names does not exist for this credential.'],
  BRANCH_NOT_FOUND: [404, 'The data model has no such branch.'],
  METHOD_NOT_ALLOWED: [405, 'The path does not have this method; `Allow` names those that it has.'],
  RUN_IN_PROGRESS: [409, 'The thread is still answering an earlier message.'],
  THREAD_TOO_LONG: [409, 'The thread has as many messages, or bytes of them, as it may have.'],
  MESSAGE_ID_REUSED: [409, 'The messageId was used before with another text.'],
  ATTRIBUTE_TYPE_IMMUTABLE: [409, 'The type of an attribute cannot change; nothing was written.'],
  NAME_TAKEN: [409, 'Another object has that name already.'],
  KEY_NOT_ACTIVE: [409, 'The API key is revoked or expired.'],
  LAST_ADMIN_KEY: [409, 'It is the last key that can manage the account.'],
  PAYLOAD_TOO_LARGE: [413, 'The body is larger than allowed.'],
  UNSUPPORTED_MEDIA_TYPE: [415, 'The body is not application/json.'],
  EXTERNAL_USER_LIMIT: [429, 'The account has as many external users as it may have.'],
  EPHEMERAL_USER_LIMIT: [429, 'The account has as many ephemeral users as it may have.'],
  RATE_LIMITED: [
    429,
    'Too many requests of this key or user, or failed credentials from this address; `Retry-After` says when to try again.',
  ],
  TOO_MANY_RUNS: [429, 'Too many runs are going on; try again when one has ended.'],
  INTERNAL: [500, 'Something failed inside; the request id leads to the log.'],
  NOT_READY: [503, 'The server is starting or stopping, or a part that it needs does not answer.'],

  SQL_INVALID: [400, 'The SQL does not parse.'],
  SQL_NOT_SUPPORTED: [
    400,
    'The SQL uses a construct that semantic SQL does not allow; the message names it and where.',
  ],
  SQL_TOO_LARGE: [400, 'The SQL has more bytes or more parts than allowed.'],
  SQL_TOO_DEEP: [400, 'The SQL is nested deeper than allowed.'],
  QUERY_INVALID: [400, 'The JSON query does not have the required shape; the message says where.'],
  RELATION_NOT_FOUND: [400, 'No view or cube of that name is visible to this user.'],
  MEMBER_NOT_FOUND: [400, 'No member of that name is visible to this user.'],
  MEASURE_MISUSED: [400, 'A measure stands where it cannot, or with an aggregate that does not match it.'],
  TYPE_MISMATCH: [400, 'A comparison or function does not fit the type of the member.'],
  GROUP_BY_REQUIRED: [400, 'A dimension is selected beside a measure, but not grouped by.'],
  QUERY_NOT_PLANNABLE: [400, 'The query cannot be answered rightly with this data model, and is refused.'],
  QUERY_FAILED: [400, 'The warehouse could not run the query; the request id leads to the log.'],
  QUERY_TIMEOUT: [400, 'The query took longer than allowed and was stopped.'],
  RESULT_TOO_LARGE: [400, 'The result has more rows or bytes than this call may return.'],
  WAREHOUSE_BUSY: [503, 'Too many queries wait for the warehouse; try again.'],
  WAREHOUSE_UNAVAILABLE: [503, 'The warehouse cannot be reached; the request id leads to the log.'],
  DATA_MODEL_INVALID: [500, 'The data model of the deployment does not load.'],

  ABORTED: [200, 'Stopped by the user.'],
  TOOL_NOT_FOUND: [200, 'The language model called a tool that does not exist.'],
  TOOL_INPUT_INVALID: [200, 'The language model called a tool with an input that does not fit it.'],
  RUN_INTERRUPTED: [200, 'The servers that wrote the run stopped before it had ended, more than once.'],
  AGENT_CONFIGURATION_INVALID: [200, 'The configuration of the agent does not load.'],
  LANGUAGE_MODEL_UNKNOWN: [200, 'The configuration of the agent names a language model that this installation lacks.'],
  LANGUAGE_MODEL_TIMEOUT: [200, 'The language model did not answer in time.'],
  LANGUAGE_MODEL_FAILED: [200, 'The language model failed.'],
} as const satisfies Record<string, readonly [status: number, meaning: string]>;

/** One of the codes of {@link errorCodes}. */
export type ErrorCode = keyof typeof errorCodes;

/** Whether it is one of the codes. */
export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(errorCodes, code);
}

/** One thing wrong with a request: where (`userAttributes.0.value`) and what. */
export const issueSchema = z.object({ path: z.string(), message: z.string() });
export type Issue = z.infer<typeof issueSchema>;

/** The body of every HTTP error (http-api.md). */
export const errorBodySchema = z.object({
  statusCode: z.int(),
  error: z.string().describe('The reason phrase of the status; on data API routes the message.'),
  message: z.string().describe('For people. Never holds database text.'),
  code: z.string().describe('Stable, upper snake case.'),
  requestId: z.string().describe('Leads to the log.'),
  issues: z.array(issueSchema).optional(),
});
export type ErrorBody = z.infer<typeof errorBodySchema>;
