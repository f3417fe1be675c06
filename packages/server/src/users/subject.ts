/** What the asking user is and holds at this moment, as access policies see it: the store is asked at every query. */
import type { AttributeType, AttributeValue } from '@inlay/contract/user.ts';
import type { Subject } from '@inlay/semantic/policy/subject.ts';
import { type Kysely, sql } from 'kysely';
import { InlayError } from '../errors.ts';
import type { Changes } from '../store/changes.ts';
import { createKeptReads, type Ending } from '../store/kept-reads.ts';
import type { Schema } from '../store/schema.ts';
import { parseDefaultValue } from './attribute-values.ts';
import type { Principal } from './principal.ts';
import { sessionScope, sessionStands } from './session-stands.ts';

interface SubjectRow {
  /** The end that the store knows of already. */
  readonly ends_at: Date | null;
  readonly timezone: string | null;
  readonly kind: 'external' | 'internal';
  /** The embed tenant that the session names, whether or not it is the scope. */
  readonly embed_tenant_name: string | null;
  readonly is_embed_tenant_scope: boolean;
  readonly groups: readonly string[];
  readonly attributes: readonly {
    readonly name: string;
    readonly type: AttributeType;
    readonly default_value: string | null;
    readonly is_stored: boolean;
    readonly value: AttributeValue;
  }[];
}

/** Whether external users may see cubes and views that no access policy protects. Internal users always may. */
export type UnprotectedRelations = 'deny' | 'allow';

/** Who asks, as access policies see it, and the time zone that the settings of the session name; null without one. */
export interface Asker {
  readonly subject: Subject;
  readonly timezone: string | null;
}

/** What users hold. */
export interface Askers {
  /**
   * The asker that `principal` is at the instant `now`: the names of groups and the attribute values of the scope that the session
   * works in, for an internal user always the tenant-wide ones. The default of a definition stands only where no value was ever
   * stored, and an explicit null stays null (http-api.md). An attribute without value and default is absent. One statement, or none
   * where nothing was written to the store since the last one.
   * @throws InlayError UNAUTHENTICATED when the user is gone, inactive or expired, or the session does not stand any more.
   */
  load(principal: Principal, now: Date): Promise<Asker>;
}

/** Users whose rights are kept in memory at most. */
const keptMax = 10_000;

/** Reads them from the store. @param options.unprotectedRelations left out: denied */
export function createAskers({
  db,
  changes,
  unprotectedRelations = 'deny',
}: {
  readonly db: Kysely<Schema>;
  readonly changes: Pick<Changes, 'writes'>;
  readonly unprotectedRelations?: UnprotectedRelations;
}): Askers {
  const kept = createKeptReads<Held>(changes, keptMax);
  return {
    async load(principal, now) {
      const { accountId, userId, sessionId, scopeId, securityContext } = principal;
      const key = JSON.stringify([accountId, userId, sessionId, scopeId]);
      const { kind, timezone, ...held } = await kept.get(key, now, () => readHeld(db, principal, now));
      const seesUnprotected = kind === 'internal' || unprotectedRelations === 'allow';
      return { subject: { ...held, securityContext, seesUnprotected }, timezone };
    },
  };
}

/** What the store says of an asker. */
type Held = Omit<Subject, 'securityContext' | 'seesUnprotected'> & Pick<SubjectRow, 'kind' | 'timezone'>;

async function readHeld(db: Kysely<Schema>, principal: Principal, now: Date): Promise<Ending<Held>> {
  // A session says where it works. Without one the principal does: nobody but an operator asks in the scope of an embed tenant so.
  const scope = principal.sessionId === null ? sql`${principal.scopeId}::int` : sessionScope;
  // 0 stands for tenant-wide, as in the indexes of groups and user_attributes.
  const { rows } = await sql<SubjectRow>`
    select u.kind, least(u.expires_at, s.ends_at) as ends_at, s.settings ->> 'timezone' as timezone, t.name as embed_tenant_name, p.scope <> 0 as is_embed_tenant_scope,
      coalesce(
        (select jsonb_agg(g.name order by g.name)
         from user_groups ug join groups g on g.id = ug.group_id
         where ug.user_id = u.id and g.account_id = u.account_id and coalesce(g.embed_tenant_id, 0) = p.scope),
        '[]'::jsonb) as groups,
      coalesce(
        (select jsonb_agg(jsonb_build_object('name', a.name, 'type', a.type, 'default_value', a.default_value,
                                             'is_stored', v.user_id is not null, 'value', v.value))
         from user_attributes a
         left join user_attribute_values v on v.attribute_id = a.id and v.user_id = u.id
         where a.account_id = u.account_id and coalesce(a.embed_tenant_id, 0) = p.scope
           and (v.user_id is not null or a.default_value is not null)),
        '[]'::jsonb) as attributes
    from users u
    left join sessions s on s.id = ${principal.sessionId}::uuid and s.user_id = u.id
    cross join lateral (
      select case when u.kind = 'internal' then 0 else coalesce(${scope}, 0) end as scope offset 0) p
    left join embed_tenants t on t.account_id = u.account_id and t.id = ${principal.sessionId === null ? scope : sql`s.embed_tenant_id`}
    where u.id = ${principal.userId} and u.account_id = ${principal.accountId}
      and u.is_active and (u.expires_at is null or u.expires_at > ${now})
      and (${principal.sessionId}::uuid is null or ${sessionStands(now)})`.execute(db);
  const row = rows[0];
  if (row === undefined) throw new InlayError('UNAUTHENTICATED', 'The user or the session has ended.');

  // Without a prototype a policy that names `constructor` or `__proto__` reads nothing.
  const userAttributes: Record<string, AttributeValue> = Object.create(null);
  for (const { name, type, default_value, is_stored, value } of row.attributes) {
    // An unreadable default gives null, which matches no row.
    userAttributes[name] = is_stored ? value : (parseDefaultValue(type, default_value ?? '') ?? null);
  }
  return {
    endsAt: row.ends_at,
    value: {
      kind: row.kind,
      timezone: row.timezone,
      groups: row.groups,
      userAttributes,
      embedTenantName: row.embed_tenant_name,
      isEmbedTenantScope: row.is_embed_tenant_scope,
    },
  };
}
