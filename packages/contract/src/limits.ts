/**
 * Every limit on what comes from outside and on what one caller may take up, in one table. Each is a setting of the process;
 * the shapes of requests are made from them.
 */
import type { ErrorCode } from './error.ts';

/** One limit. Its unit is the last word of its name, before `Max` where it has one. */
export interface LimitRule {
  /** What holds when the operator says nothing. */
  readonly value: number;
  /** The smallest and the largest that an operator may set. */
  readonly min: number;
  readonly max: number;
  /** What is answered when the limit is passed; null: nothing is refused, `meaning` says what happens. */
  readonly code: ErrorCode | null;
  /** For the reference (settings.md). */
  readonly meaning: string;
}

const limit = (value: number, min: number, max: number, code: ErrorCode | null, meaning: string): LimitRule => ({
  value,
  min,
  max,
  code,
  meaning,
});

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const yearSeconds = 31_536_000;

/** The limits, in the order of their documentation. */
export const limitRules = {
  bodyBytesMax: limit(1_048_576, 1024, 16_777_216, 'PAYLOAD_TOO_LARGE', 'Bytes in the body of a request.'),
  nameCharactersMax: limit(
    128,
    16,
    512,
    'NAME_TOO_LONG',
    'Characters in the name of a group, attribute, deployment or agent, and in the label of an API key.',
  ),
  displayNameCharactersMax: limit(255, 16, 1024, 'DISPLAY_NAME_TOO_LONG', 'Characters in a display name.'),
  descriptionCharactersMax: limit(4096, 16, 65_536, 'DESCRIPTION_TOO_LONG', 'Characters in a description.'),
  defaultValueBytesMax: limit(
    16_384,
    64,
    262_144,
    'DEFAULT_VALUE_TOO_LARGE',
    'Bytes of UTF-8 in the text of a default value.',
  ),
  externalIdCharactersMax: limit(255, 36, 512, 'EXTERNAL_ID_TOO_LONG', 'Characters in an `externalId`.'),
  internalIdCharactersMax: limit(320, 36, 512, 'INTERNAL_ID_TOO_LONG', 'Characters in an `internalId`.'),
  emailCharactersMax: limit(320, 36, 512, 'EMAIL_TOO_LONG', 'Characters in an email address.'),
  pictureUrlCharactersMax: limit(2048, 64, 8192, 'PICTURE_URL_TOO_LONG', 'Characters in the URL of a picture.'),
  groupsMax: limit(500, 1, 5000, 'TOO_MANY_GROUPS', 'Groups in a call.'),
  attributesMax: limit(500, 1, 5000, 'TOO_MANY_ATTRIBUTES', 'Attribute values in a call.'),
  definitionsMax: limit(
    500,
    1,
    5000,
    'TOO_MANY_DEFINITIONS',
    'Definitions in a call: groups and attributes, counted together.',
  ),
  attributeStringBytesMax: limit(
    4096,
    64,
    65_536,
    'ATTRIBUTE_TEXT_TOO_LONG',
    'Bytes of UTF-8 in a text of an attribute value.',
  ),
  attributeItemsMax: limit(1000, 1, 10_000, 'ATTRIBUTE_LIST_TOO_LONG', 'Items in a list of an attribute value.'),
  securityContextBytesMax: limit(
    16_384,
    64,
    65_536,
    'SECURITY_CONTEXT_TOO_LARGE',
    'Bytes in a `securityContext`, as JSON in UTF-8.',
  ),
  securityContextDepthMax: limit(
    8,
    1,
    32,
    'SECURITY_CONTEXT_TOO_DEEP',
    'Levels of lists and objects in a `securityContext`.',
  ),
  ephemeralTtlSecondsMax: limit(
    yearSeconds,
    1,
    yearSeconds,
    'EPHEMERAL_TTL_TOO_LONG',
    'The longest `ephemeralTtlSeconds`, in seconds.',
  ),
  ephemeralTtlSecondsDefault: limit(
    604_800,
    1,
    yearSeconds,
    null,
    'How long an ephemeral user lives when the call does not say, in seconds.',
  ),
  inputCharactersMax: limit(32_000, 100, 200_000, 'INPUT_TOO_LONG', 'Characters in a message to the agent.'),
  threadMessagesMax: limit(
    5000,
    100,
    100_000,
    'THREAD_TOO_LONG',
    'Messages in a thread, those of the agent and its tool calls included; from then on it takes no new message.',
  ),
  threadBytesMax: limit(
    33_554_432,
    1_048_576,
    1_073_741_824,
    'THREAD_TOO_LONG',
    'Bytes of UTF-8 in the messages of a thread, results of tools included; from then on it takes no new message.',
  ),
  sqlBytesMax: limit(65_536, 1024, 65_536, 'SQL_TOO_LARGE', 'Bytes of UTF-8 in a semantic SQL text.'),
  sqlDepthMax: limit(64, 4, 64, 'SQL_TOO_DEEP', 'Brackets within each other in a semantic SQL text.'),
  runMs: limit(
    600_000,
    1000,
    hourMs,
    null,
    'The time of a run, in milliseconds; then the answer ends with a message that says so.',
  ),
  agentTurnsMax: limit(
    20,
    1,
    100,
    null,
    'Turns of the language model in a run; then the answer ends with a message that says so.',
  ),
  agentToolCallsMax: limit(40, 1, 200, null, 'Tool calls in a run; then the answer ends with a message that says so.'),
  runTokensMax: limit(
    2_000_000,
    1000,
    1_000_000_000,
    null,
    'Tokens of the language model in a run, both ways; then the answer ends with a message that says so.',
  ),
  runLeaseMs: limit(
    10_000,
    2000,
    120_000,
    null,
    'A node that has said nothing for so long is gone, and others carry its runs on, in milliseconds. The same on every node.',
  ),
  runAttemptsMax: limit(3, 1, 20, 'RUN_INTERRUPTED', 'Nodes that may begin or carry on one run, one after the other.'),
  textCharactersMax: limit(
    200_000,
    1000,
    2_000_000,
    null,
    'Characters that a run may write, thoughts included; then the answer ends with a message that says so.',
  ),
  runResultBytesMax: limit(
    4_194_304,
    1_572_864,
    67_108_864,
    null,
    'Bytes of UTF-8 in the results of the tools in a run; then the answer ends with a message that says so.',
  ),
  languageModelSilenceMs: limit(
    60_000,
    1000,
    600_000,
    'LANGUAGE_MODEL_TIMEOUT',
    'The longest silence of the language model within a turn, in milliseconds.',
  ),
  toolRowsMax: limit(100, 1, 10_000, null, 'Rows in the `data` of a tool result; the rest is left out.'),
  modelRowsMax: limit(25, 1, 1000, null, 'Rows of a result that a language model over the network is shown.'),
  queryTimeoutMs: limit(
    60_000,
    100,
    600_000,
    'QUERY_TIMEOUT',
    'The time of a query, waiting for its turn included, in milliseconds.',
  ),
  queryBytesMax: limit(
    67_108_864,
    65_536,
    1_073_741_824,
    'RESULT_TOO_LARGE',
    'Bytes of a result that is held in memory whole, as tools and `/load` do, about; `/cubesql` streams.',
  ),
  resultCacheBytesMax: limit(
    67_108_864,
    0,
    17_179_869_184,
    null,
    'Bytes of results that are kept for who asks the same; 0: none are kept or shared.',
  ),
  resultCacheSeconds: limit(
    10,
    0,
    86_400,
    null,
    'How long a result is kept where no cube says so (`refresh_key.every`), in seconds.',
  ),
  continueWaitMs: limit(
    5000,
    10,
    600_000,
    null,
    'How long a call of `/load` waits for its query, in milliseconds; then it is told `Continue wait`, and the query goes on for the next call.',
  ),
  loadRowsDefault: limit(10_000, 1, 1_000_000, null, 'Rows that `/load` gives where the query names no `limit`.'),
  loadRowsMax: limit(50_000, 1, 1_000_000, 'QUERY_INVALID', 'The largest `limit` of a query to `/load`.'),
  dataRepliesPerUserMax: limit(
    5,
    1,
    100,
    null,
    'Replies of the data API to one user at a time; more wait, as long as a query may take.',
  ),
  runsPerUserMax: limit(5, 1, 100, 'TOO_MANY_RUNS', 'Runs of one user at a time.'),
  runsPerAccountMax: limit(500, 1, 100_000, 'TOO_MANY_RUNS', 'Runs of one account at a time.'),
  runsMax: limit(
    200,
    1,
    10_000,
    null,
    'Runs that the process works on at a time; the others wait, the accounts taking turns.',
  ),
  runsWaitingMax: limit(2000, 0, 100_000, 'TOO_MANY_RUNS', 'Runs that wait for the process to work on them.'),
  keyRequestsPerMinuteMax: limit(60_000, 1, 10_000_000, 'RATE_LIMITED', 'Requests of one API key per minute.'),
  userRequestsPerMinuteMax: limit(1200, 1, 10_000_000, 'RATE_LIMITED', 'Requests of one user per minute.'),
  failedAuthenticationsPerMinuteMax: limit(
    300,
    1,
    10_000_000,
    'RATE_LIMITED',
    'Credentials from one IP address that do not open, per minute.',
  ),
  externalUsersMax: limit(
    10_000,
    0,
    10_000_000,
    'EXTERNAL_USER_LIMIT',
    'Persistent external users of an account that has no limit of its own.',
  ),
  ephemeralUsersMax: limit(
    100_000,
    0,
    10_000_000,
    'EPHEMERAL_USER_LIMIT',
    'Ephemeral users of an account that has no limit of its own.',
  ),
  sessionExchangeMs: limit(
    300_000,
    1000,
    hourMs,
    'UNAUTHENTICATED',
    'How long a session waits for its exchange, in milliseconds.',
  ),
  tokenLifetimeMs: limit(dayMs, 60_000, 7 * dayMs, 'UNAUTHENTICATED', 'How long a token lives, in milliseconds.'),
  sessionLifetimeMs: limit(
    7 * dayMs,
    60_000,
    365 * dayMs,
    'UNAUTHENTICATED',
    'How long a session lives, however often its token is renewed, in milliseconds.',
  ),
} as const satisfies Readonly<Record<string, LimitRule>>;

/** The name of a limit. */
export type LimitName = keyof typeof limitRules;

/** The limits that hold in a process: whole numbers within the range of their rule. */
export type Limits = Readonly<Record<LimitName, number>>;

/** The names, in the order of the documentation. */
export const limitNames: readonly LimitName[] = Object.keys(limitRules).filter((name) => isLimitName(name));

function isLimitName(name: string): name is LimitName {
  return Object.hasOwn(limitRules, name);
}

/** The limits, each as `read` gives it. */
export function limitsOf(read: (name: LimitName) => number): Limits {
  const limits = Object.fromEntries(limitNames.map((name) => [name, read(name)]));
  if (!hasEveryLimit(limits)) throw new Error('A limit is missing.');
  return limits;
}

function hasEveryLimit(limits: Readonly<Record<string, number>>): limits is Limits {
  return limitNames.every((name) => Object.hasOwn(limits, name));
}

/** The limits of a process whose operator has said nothing. */
export const defaultLimits: Limits = Object.freeze(limitsOf((name) => limitRules[name].value));

/** The environment variable that sets a limit: `groupsMax` → `INLAY_GROUPS_MAX`. */
export function limitVariable(name: LimitName): string {
  return `INLAY_${name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}
