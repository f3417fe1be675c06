/**
 * The rules between the fields that describe a user, in generate-session and in `sessionSettings` (service.md 4.1 and
 * 4.3, http-api.md): which may stand together, and which would change what the user may see and are not available.
 * Pure: what a call says in, the settings of a user out.
 */
import type { SessionSettings } from '@inlay/contract/chat.ts';
import type { GenerateSessionRequest } from '@inlay/contract/embed.ts';
import type { Issue } from '@inlay/contract/error.ts';
import { InlayError } from '../errors.ts';
import type { Lifetime, UserSettings } from '../users/resolve-user.ts';

/** Where the fields stand: in the body of generate-session, or in the `sessionSettings` of a chat or data call. */
export type Place = 'generate-session' | 'session-settings';

/** Fields that must not be sent with `internalId`, even empty (service.md 4.1 rule 1, 4.3). */
export const fieldsForbiddenWithInternalId = {
  'generate-session': [
    'groups',
    'userAttributes',
    'groupDefinitions',
    'userAttributeDefinitions',
    'securityContext',
    'userProfile',
  ],
  'session-settings': ['roles', 'groups', 'userAttributes', 'securityContext'],
} as const satisfies Record<Place, readonly string[]>;

/** Fields that this version does not have. Ignoring them would give a session other rights than the caller meant. */
export const fieldsNotSupported = {
  'generate-session': [
    'creatorMode',
    'embedTenantName',
    'userAttributeDefinitions',
    'groupDefinitions',
    'settings',
    'isEphemeral',
    'ephemeralTtlSeconds',
  ],
  'session-settings': [
    'creatorMode',
    'embedTenantName',
    'userAttributeDefinitions',
    'groupDefinitions',
    'settings',
    'userProfile',
  ],
} as const satisfies Record<Place, readonly string[]>;

/** Values of those fields that ask for nothing: a session without creator mode is what every session is. */
const isHarmless = (place: Place, field: string, value: unknown): boolean =>
  place === 'generate-session' && field === 'creatorMode' && value === false;

/**
 * Checks which fields are there, whatever their shape: to be called with the parsed JSON, before unknown fields are
 * dropped. A value that is not an object passes; the check of shapes refuses it.
 * @throws InlayError INVALID_REQUEST or FIELD_NOT_SUPPORTED, with every field concerned in `issues`.
 */
export function checkFields(place: Place, body: unknown): void {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return;
  const fields = new Map<string, unknown>(Object.entries(body));

  if (fields.has('internalId')) {
    const forbidden = fieldsForbiddenWithInternalId[place].filter((field) => fields.has(field));
    if (forbidden.length > 0) {
      throw invalid(
        `Not allowed with internalId: ${forbidden.join(', ')}`,
        forbidden.map((path) => ({ path, message: 'not allowed with internalId' })),
      );
    }
  }
  const roles = fields.get('roles');
  if (roles !== undefined && !(Array.isArray(roles) && roles.length === 0)) {
    throw new InlayError('FIELD_NOT_SUPPORTED', 'Inlay has no roles: use groups', {
      issues: [{ path: 'roles', message: 'not supported, use groups' }],
    });
  }
  const unsupported = fieldsNotSupported[place].filter(
    (field) => fields.has(field) && !isHarmless(place, field, fields.get(field)),
  );
  if (unsupported.length > 0) {
    throw new InlayError('FIELD_NOT_SUPPORTED', `Not supported: ${unsupported.join(', ')}`, {
      issues: unsupported.map((path) => ({ path, message: 'not supported' })),
    });
  }
}

/** The user that a generate-session call describes. A new one is persistent (http-api.md). @see readSettings */
export function userOfSessionRequest(request: GenerateSessionRequest): UserSettings {
  return readSettings(request, request.userProfile, { kind: 'unchanged' });
}

/** The user that `sessionSettings` describe. A new one is ephemeral (service.md 2.2). @see readSettings */
export function userOfSessionSettings(settings: SessionSettings, ephemeralTtlSecondsDefault: number): UserSettings {
  return readSettings(
    settings,
    undefined,
    settings.isEphemeral === false
      ? { kind: 'persistent' }
      : { kind: 'ephemeral', ttlSeconds: settings.ephemeralTtlSeconds ?? ephemeralTtlSecondsDefault },
  );
}

/** @throws InlayError INVALID_REQUEST unless there is exactly one id; DUPLICATE_NAME. */
function readSettings(
  fields: SessionSettings,
  userProfile: GenerateSessionRequest['userProfile'],
  lifetime: Lifetime,
): UserSettings {
  const { externalId, internalId, email, userAttributes, groups } = fields;
  if (externalId === undefined && internalId !== undefined) return { kind: 'internal', internalId };
  if (externalId === undefined || internalId !== undefined) {
    const message = 'Exactly one of externalId and internalId is required';
    throw invalid(message, [{ path: 'externalId', message }]);
  }
  refuseDuplicates('userAttributes', userAttributes?.map(({ name }) => name) ?? [], '.name');
  refuseDuplicates('groups', groups ?? [], '');
  return { kind: 'external', externalId, email, userProfile, userAttributes, groups, lifetime };
}

/** @throws InlayError DUPLICATE_NAME that names each repetition (service.md 4.1 rule 4, http-api.md). */
function refuseDuplicates(field: string, names: readonly string[], suffix: string): void {
  const seen = new Set<string>();
  const issues: Issue[] = [];
  for (const [index, name] of names.entries()) {
    if (seen.has(name)) issues.push({ path: `${field}.${index}${suffix}`, message: `${name} occurs twice` });
    seen.add(name);
  }
  if (issues.length > 0) throw new InlayError('DUPLICATE_NAME', `Duplicate names in ${field}`, { issues });
}

const invalid = (message: string, issues: readonly Issue[]): InlayError =>
  new InlayError('INVALID_REQUEST', message, { issues });
