/**
 * The rules between the fields that describe a session and its user, in generate-session and in `sessionSettings`
 * (service.md 4.1 and 4.3, http-api.md): which exist where, which may not stand together, and which need another. They stand
 * in one table. Pure: what a call says in, the parsed call out.
 */
import type { SessionSettings } from '@inlay/contract/chat.ts';
import type { EmbedSessionSettings, GenerateSessionRequest } from '@inlay/contract/embed.ts';
import type { ErrorCode, Issue } from '@inlay/contract/error.ts';
import { agreedCode } from '@inlay/contract/limited.ts';
import type { SecurityContextJson, UserShapes } from '@inlay/contract/user.ts';
import { timeZoneNamed } from '@inlay/semantic/query/zoned-time.ts';
import { InlayError } from '../errors.ts';
import { problemOfDefault } from '../users/default-value.ts';
import type { Definitions, Lifetime, Scope, UserSettings } from '../users/user-call.ts';

/** Where the fields stand: in the body of generate-session, or in the `sessionSettings` of a chat or data call. */
export type Place = 'generate-session' | 'session-settings';

/** A field that a place does not have. Ignoring it would give a session other rights than the caller meant. */
interface RefusedField {
  readonly field: string;
  /** A value that asks for nothing, and is let pass. */
  readonly harmless?: 'empty list';
  /** What is said instead of `Not supported: <field>`. */
  readonly message?: string;
}

/** A field that needs another one beside it; with `value`, the other one with that value. */
interface NeededField {
  readonly field: string;
  readonly needs: string;
  readonly value?: true;
}

/** The rules of one place. Presence counts, whatever the value: an empty list is there, too. */
interface FieldRules {
  /** Exactly one of these must be there. */
  readonly oneOf: readonly [string, string];
  /** FIELD_NOT_SUPPORTED when there. */
  readonly refused: readonly RefusedField[];
  /** INVALID_REQUEST when both are there; the second one is named. */
  readonly apart: readonly (readonly [string, string])[];
  /** INVALID_REQUEST when the first is there and the other is not. */
  readonly needed: readonly NeededField[];
}

const noRoles: RefusedField = { field: 'roles', harmless: 'empty list', message: 'Inlay has no roles: use groups' };

/** The table of rules. */
export const fieldRules: Readonly<Record<Place, FieldRules>> = {
  'generate-session': {
    oneOf: ['externalId', 'internalId'],
    refused: [noRoles],
    // service.md 4.1 rule 1
    apart: [
      ['internalId', 'groups'],
      ['internalId', 'userAttributes'],
      ['internalId', 'groupDefinitions'],
      ['internalId', 'userAttributeDefinitions'],
      ['internalId', 'securityContext'],
      ['internalId', 'userProfile'],
    ],
    // service.md 4.1 rule 7; a TTL is a matter of ephemeral users, and here a user is persistent unless it says otherwise.
    needed: [
      { field: 'groupDefinitions', needs: 'creatorMode', value: true },
      { field: 'groupDefinitions', needs: 'embedTenantName' },
      { field: 'userAttributeDefinitions', needs: 'creatorMode', value: true },
      { field: 'userAttributeDefinitions', needs: 'embedTenantName' },
      { field: 'ephemeralTtlSeconds', needs: 'isEphemeral', value: true },
    ],
  },
  'session-settings': {
    oneOf: ['externalId', 'internalId'],
    refused: [
      noRoles,
      { field: 'creatorMode' },
      { field: 'embedTenantName' },
      { field: 'userAttributeDefinitions' },
      { field: 'groupDefinitions' },
      { field: 'settings' },
      { field: 'userProfile' },
    ],
    // service.md 4.3
    apart: [
      ['internalId', 'roles'],
      ['internalId', 'groups'],
      ['internalId', 'userAttributes'],
      ['internalId', 'securityContext'],
    ],
    needed: [],
  },
};

/**
 * Checks which fields are there, whatever their shape: to be called with the parsed JSON, before unknown fields are
 * dropped. That there is exactly one id is checked later, since an abort may name nobody. A value that is not an object passes;
 * the check of shapes refuses it.
 * @throws InlayError INVALID_REQUEST or FIELD_NOT_SUPPORTED, with every field concerned in `issues`.
 */
export function checkFields(place: Place, body: unknown): void {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return;
  const rules = fieldRules[place];
  const fields = new Map<string, unknown>(Object.entries(body));

  const apart = rules.apart.filter(([one, other]) => fields.has(one) && fields.has(other));
  const [pair] = apart;
  if (pair !== undefined) {
    throw invalid(
      `Not allowed with ${pair[0]}: ${apart.map(([, field]) => field).join(', ')}`,
      apart.map(([one, path]) => ({ path, message: `not allowed with ${one}` })),
    );
  }

  const refused = rules.refused.filter((rule) => fields.has(rule.field) && !isHarmless(rule, fields.get(rule.field)));
  if (refused.length > 0) {
    const message = refused.find((rule) => rule.message !== undefined)?.message;
    throw new InlayError(
      'FIELD_NOT_SUPPORTED',
      message ?? `Not supported: ${refused.map(({ field }) => field).join(', ')}`,
      { issues: refused.map((rule) => ({ path: rule.field, message: rule.message ?? 'not supported' })) },
    );
  }

  const missing = rules.needed.filter(
    ({ field, needs, value }) =>
      fields.has(field) && (value === undefined ? !fields.has(needs) : fields.get(needs) !== value),
  );
  if (missing.length > 0) {
    const issues = missing.map(({ field, needs, value }) => ({
      path: field,
      message: `needs ${needs}${value === undefined ? '' : `: ${value}`}`,
    }));
    throw invalid(issues.map(({ path, message }) => `${path} ${message}`).join('; '), issues);
  }
}

function isHarmless({ harmless }: RefusedField, value: unknown): boolean {
  return harmless === 'empty list' && Array.isArray(value) && value.length === 0;
}

/** What a generate-session call asks for. */
export interface SessionCall {
  readonly deploymentId: number;
  /** A creator-mode session has the scope of an embed tenant. */
  readonly scope: Scope;
  readonly definitions: Definitions | null;
  readonly user: UserSettings;
  readonly securityContext: SecurityContextJson;
  readonly settings: EmbedSessionSettings;
}

/** What reading a call needs besides the call. */
export interface CallSettings {
  /** How long an ephemeral user lives when the call does not say. */
  readonly ephemeralTtlSecondsDefault: number;
  /** The shapes under the limits of the process. */
  readonly shapes: { readonly user: Pick<UserShapes, 'attributeValue'> };
}

/** The embed tenant of a creator-mode call that names none (http-api.md). */
const defaultEmbedTenantName = 'default';

/**
 * Reads a generate-session call that {@link checkFields} let pass.
 * @throws InlayError INVALID_REQUEST unless there is exactly one id; DUPLICATE_NAME; ATTRIBUTE_TYPE_MISMATCH or the code of a
 * limit for a default that is no value of its type.
 */
export function sessionCallOf(request: GenerateSessionRequest, callSettings: CallSettings): SessionCall {
  const { deploymentId, creatorMode, embedTenantName, groupDefinitions, userAttributeDefinitions } = request;
  const user = userOf(request, request.userProfile, lifetimeInGenerateSession(request, callSettings));
  refuseDuplicates({
    userAttributes: request.userAttributes?.map(({ name }) => name),
    groups: request.groups,
    groupDefinitions: groupDefinitions?.map(({ name }) => name),
    userAttributeDefinitions: userAttributeDefinitions?.map(({ name }) => name),
  });
  checkDefaults(userAttributeDefinitions ?? [], callSettings);
  requireTimezone(request.settings?.timezone);
  return {
    deploymentId,
    user,
    scope:
      creatorMode === true
        ? { kind: 'embed-tenant', embedTenantName: embedTenantName ?? defaultEmbedTenantName }
        : { kind: 'tenant-wide', embedTenantName: embedTenantName ?? null },
    definitions:
      groupDefinitions === undefined && userAttributeDefinitions === undefined
        ? null
        : { groups: groupDefinitions ?? [], attributes: userAttributeDefinitions ?? [] },
    securityContext: request.securityContext ?? {},
    settings: request.settings ?? {},
  };
}

/** @throws InlayError INVALID_REQUEST for a time zone that queries do not know. */
function requireTimezone(timezone: string | undefined): void {
  if (timezone === undefined || timeZoneNamed(timezone) !== null) return;
  const message = 'must be the name of an IANA timezone, such as UTC';
  throw invalid(`settings.timezone ${message}`, [{ path: 'settings.timezone', message }]);
}

/**
 * Reads `sessionSettings` that {@link checkFields} let pass. A user is ephemeral unless they say otherwise (service.md 2.2).
 * @throws InlayError INVALID_REQUEST unless there is exactly one id; DUPLICATE_NAME.
 */
export function userOfSessionSettings(settings: SessionSettings, ephemeralTtlSecondsDefault: number): UserSettings {
  const { isEphemeral, ephemeralTtlSeconds, userAttributes, groups } = settings;
  const user = userOf(
    settings,
    undefined,
    isEphemeral === false
      ? { kind: 'persistent' }
      : { kind: 'ephemeral', ttlSeconds: ephemeralTtlSeconds ?? ephemeralTtlSecondsDefault },
  );
  refuseDuplicates({ userAttributes: userAttributes?.map(({ name }) => name), groups });
  return user;
}

function lifetimeInGenerateSession(
  { isEphemeral, ephemeralTtlSeconds }: GenerateSessionRequest,
  { ephemeralTtlSecondsDefault }: CallSettings,
): Lifetime {
  if (isEphemeral === undefined) return { kind: 'unchanged' };
  if (!isEphemeral) return { kind: 'persistent' };
  return { kind: 'ephemeral', ttlSeconds: ephemeralTtlSeconds ?? ephemeralTtlSecondsDefault };
}

/** @throws InlayError INVALID_REQUEST unless there is exactly one id. */
function userOf(
  { externalId, internalId, email, userAttributes, groups }: SessionSettings,
  userProfile: GenerateSessionRequest['userProfile'],
  lifetime: Lifetime,
): UserSettings {
  if (externalId === undefined && internalId !== undefined) return { kind: 'internal', internalId };
  if (externalId === undefined || internalId !== undefined) {
    const message = 'Exactly one of externalId and internalId is required';
    throw invalid(message, [{ path: 'externalId', message }]);
  }
  return { kind: 'external', externalId, email, userProfile, userAttributes, groups, lifetime };
}

/** @throws InlayError DUPLICATE_NAME that names each repetition (service.md 4.1 rules 4 and 8, http-api.md). */
function refuseDuplicates(lists: Readonly<Record<string, readonly string[] | undefined>>): void {
  const issues: Issue[] = [];
  const fields: string[] = [];
  for (const [field, names = []] of Object.entries(lists)) {
    const seen = new Set<string>();
    for (const [index, name] of names.entries()) {
      if (seen.has(name)) {
        const path = field === 'groups' ? `${field}.${index}` : `${field}.${index}.name`;
        issues.push({ path, message: `${name} occurs twice` });
        if (fields.at(-1) !== field) fields.push(field);
      }
      seen.add(name);
    }
  }
  if (issues.length > 0) {
    throw new InlayError('DUPLICATE_NAME', `Duplicate names in ${fields.join(', ')}`, { issues });
  }
}

/** @throws InlayError for defaults whose text does not stand for a value of the definition's type. */
function checkDefaults(definitions: Definitions['attributes'], { shapes }: CallSettings): void {
  const issues: Issue[] = [];
  const codes: ErrorCode[] = [];
  for (const [index, { name, type, defaultValue }] of definitions.entries()) {
    if (defaultValue === undefined) continue;
    const problem = problemOfDefault(type, defaultValue, shapes.user.attributeValue);
    if (problem === null) continue;
    codes.push(problem.code);
    issues.push({
      path: `userAttributeDefinitions.${index}.defaultValue`,
      message: `${problem.message}: the default of ${name}`,
    });
  }
  if (issues.length > 0) {
    throw new InlayError(agreedCode(codes) ?? 'INVALID_REQUEST', 'A default does not fit the type of its attribute', {
      issues,
    });
  }
}

const invalid = (message: string, issues: readonly Issue[]): InlayError =>
  new InlayError('INVALID_REQUEST', message, { issues });
