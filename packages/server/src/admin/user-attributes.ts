/** User attributes: the tenant-wide ones, and those that creator-mode calls have made in an embed tenant (service.md 4.2). */
import type {
  UserAttribute,
  UserAttributeBody,
  UserAttributeChanges,
  UserAttributeQuery,
} from '@inlay/contract/admin/user-attributes.ts';
import type { Page } from '@inlay/contract/page.ts';
import type { AttributeType, UserShapes } from '@inlay/contract/user.ts';
import { type Kysely, sql } from 'kysely';
import { InlayError } from '../errors.ts';
import { contains, equals, filters, keysetPage } from '../store/keyset.ts';
import type { Schema } from '../store/schema.ts';
import { problemOfDefault } from '../users/default-value.ts';
import { type AdminCall, change, differing, fieldsOf, orNameTaken } from './change.ts';
import { type CatalogueScope, inScope, tenantWideOf } from './scope.ts';

/** The shape of a value, under the limits of the process. */
type ValueShape = UserShapes['attributeValue'];

interface Row {
  readonly id: number;
  readonly name: string;
  readonly type: AttributeType;
  readonly display_name: string | null;
  readonly default_value: string | null;
  readonly description: string | null;
  readonly created_at: Date;
}

const columns = sql`a.id, a.name, a.type, a.display_name, a.default_value, a.description, a.created_at`;

const toUserAttribute = (row: Row): UserAttribute => ({
  id: row.id,
  name: row.name,
  type: row.type,
  displayName: row.display_name,
  defaultValue: row.default_value,
  description: row.description,
  createdAt: row.created_at.toISOString(),
});

/** A page of the attributes of a scope. @throws InlayError INVALID_CURSOR */
export function listUserAttributes(
  db: Kysely<Schema>,
  scope: CatalogueScope,
  query: UserAttributeQuery,
): Promise<Page<UserAttribute>> {
  return keysetPage<Row, UserAttribute, 'createdAt' | 'name'>(
    db,
    {
      columns,
      from: sql`user_attributes a`,
      where: [
        ...inScope('a', scope),
        ...filters(
          equals(sql`a.name`, query.name),
          equals(sql`a.type`, query.type),
          contains([sql`a.name`, sql`coalesce(a.display_name, '')`], query.search),
        ),
      ],
      // Ids rise with the time of creation.
      sorts: { createdAt: 'id', name: { expression: sql`a.name`, type: 'text' } },
      id: { expression: sql`a.id`, type: 'integer' },
    },
    query,
    toUserAttribute,
  );
}

/** @throws InlayError NOT_FOUND when the scope has no such attribute. */
export async function readUserAttribute(db: Kysely<Schema>, scope: CatalogueScope, id: number): Promise<UserAttribute> {
  const { rows } = await sql<Row>`
    select ${columns} from user_attributes a
    where a.id = ${id} and ${sql.join(inScope('a', scope), sql` and `)}`.execute(db);
  const row = rows[0];
  if (row === undefined) throw notFound();
  return toUserAttribute(row);
}

/** Defines a tenant-wide attribute. @throws InlayError NAME_TAKEN; for the default see {@link problemOfDefault} */
export function createUserAttribute(
  call: AdminCall,
  valueShape: ValueShape,
  body: UserAttributeBody,
): Promise<UserAttribute> {
  const { name, type, displayName = null, defaultValue = null, description = null } = body;
  requireDefault(type, defaultValue, valueShape);
  return change(call, async ({ tx, accountId, now, audit }) => {
    const row = await orNameTaken('A user attribute of that name exists', () =>
      tx
        .insertInto('user_attributes')
        .values({
          account_id: accountId,
          name,
          type,
          display_name: displayName,
          default_value: defaultValue,
          description,
          created_at: now,
        })
        .returning(['id', 'name', 'type', 'display_name', 'default_value', 'description', 'created_at'])
        .executeTakeFirstOrThrow(),
    );
    await audit('user-attribute.create', { kind: 'user-attribute', id: row.id, name }, { type });
    return toUserAttribute(row);
  });
}

/**
 * Changes a tenant-wide attribute. Its type never changes (service.md 4.1 rule 9).
 * @throws InlayError NOT_FOUND, NAME_TAKEN, ATTRIBUTE_TYPE_IMMUTABLE; for the default see {@link problemOfDefault}
 */
export function updateUserAttribute(
  call: AdminCall,
  valueShape: ValueShape,
  id: number,
  wanted: UserAttributeChanges,
): Promise<UserAttribute> {
  return change(call, async ({ tx, accountId, audit }) => {
    const stored = await tx
      .selectFrom('user_attributes')
      .select(['name', 'type', 'display_name', 'default_value', 'description'])
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .where('embed_tenant_id', 'is', null)
      .forNoKeyUpdate()
      .executeTakeFirst();
    if (stored === undefined) throw notFound();
    if (wanted.type !== undefined && wanted.type !== stored.type) {
      throw new InlayError(
        'ATTRIBUTE_TYPE_IMMUTABLE',
        `User attribute ${stored.name}: cannot change type from ${stored.type} to ${wanted.type}`,
      );
    }
    requireDefault(stored.type, wanted.defaultValue, valueShape);
    const changes = differing(stored, {
      name: wanted.name,
      display_name: wanted.displayName,
      default_value: wanted.defaultValue,
      description: wanted.description,
    });
    const fields = fieldsOf(changes);
    if (fields.length > 0) {
      await orNameTaken('A user attribute of that name exists', () =>
        tx.updateTable('user_attributes').set(changes).where('id', '=', id).execute(),
      );
      const object = { kind: 'user-attribute', id, name: changes.name ?? stored.name };
      await audit('user-attribute.update', object, { fields });
    }
    return readUserAttribute(tx, tenantWideOf(accountId), id);
  });
}

/** @throws InlayError with the code of what is wrong with a default */
function requireDefault(type: AttributeType, text: string | null | undefined, value: ValueShape): void {
  const problem = text === null || text === undefined ? null : problemOfDefault(type, text, value);
  if (problem === null) return;
  const { code, message } = problem;
  throw new InlayError(code, `The default value ${message}`, { issues: [{ path: 'defaultValue', message }] });
}

const notFound = (): InlayError => new InlayError('NOT_FOUND', 'User attribute not found');
