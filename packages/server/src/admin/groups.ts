/** Groups: the tenant-wide ones, and those that creator-mode calls have made in an embed tenant (service.md 4.2). */
import type { Group, GroupBody, GroupChanges, GroupQuery } from '@inlay/contract/admin/groups.ts';
import type { Page } from '@inlay/contract/page.ts';
import { type Kysely, sql } from 'kysely';
import { InlayError } from '../errors.ts';
import { contains, equals, filters, keysetPage } from '../store/keyset.ts';
import type { Schema } from '../store/schema.ts';
import { type AdminCall, change, differing, fieldsOf, orNameTaken } from './change.ts';
import { type CatalogueScope, inScope, tenantWideOf } from './scope.ts';

interface Row {
  readonly id: number;
  readonly name: string;
  readonly description: string | null;
  readonly user_count: number;
  readonly created_at: Date;
}

const columns = sql`g.id, g.name, g.description, g.created_at,
  (select count(*)::int from user_groups where group_id = g.id) as user_count`;

const toGroup = ({ id, name, description, user_count, created_at }: Row): Group => ({
  id,
  name,
  description,
  userCount: user_count,
  createdAt: created_at.toISOString(),
});

/** A page of the groups of a scope. @throws InlayError INVALID_CURSOR */
export function listGroups(db: Kysely<Schema>, scope: CatalogueScope, query: GroupQuery): Promise<Page<Group>> {
  return keysetPage<Row, Group, 'createdAt' | 'name'>(
    db,
    {
      columns,
      from: sql`groups g`,
      where: [
        ...inScope('g', scope),
        ...filters(equals(sql`g.name`, query.name), contains([sql`g.name`], query.search)),
      ],
      // Ids rise with the time of creation.
      sorts: { createdAt: 'id', name: { expression: sql`g.name`, type: 'text' } },
      id: { expression: sql`g.id`, type: 'integer' },
    },
    query,
    toGroup,
  );
}

/** @throws InlayError NOT_FOUND when the scope has no such group. */
export async function readGroup(db: Kysely<Schema>, scope: CatalogueScope, id: number): Promise<Group> {
  const { rows } = await sql<Row>`
    select ${columns} from groups g where g.id = ${id} and ${sql.join(inScope('g', scope), sql` and `)}`.execute(db);
  const row = rows[0];
  if (row === undefined) throw notFound();
  return toGroup(row);
}

/** Makes a tenant-wide group. @throws InlayError NAME_TAKEN */
export function createGroup(call: AdminCall, { name, description = null }: GroupBody): Promise<Group> {
  return change(call, async ({ tx, accountId, now, audit }) => {
    const { id } = await orNameTaken('A group of that name exists', () =>
      tx
        .insertInto('groups')
        .values({ account_id: accountId, name, description, created_at: now })
        .returning('id')
        .executeTakeFirstOrThrow(),
    );
    await audit('group.create', { kind: 'group', id, name });
    return { id, name, description, userCount: 0, createdAt: now.toISOString() };
  });
}

/** Changes a tenant-wide group; its members keep it. @throws InlayError NOT_FOUND, NAME_TAKEN */
export function updateGroup(call: AdminCall, id: number, wanted: GroupChanges): Promise<Group> {
  return change(call, async ({ tx, accountId, audit }) => {
    const stored = await tx
      .selectFrom('groups')
      .select(['name', 'description'])
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .where('embed_tenant_id', 'is', null)
      .forNoKeyUpdate()
      .executeTakeFirst();
    if (stored === undefined) throw notFound();
    const changes = differing(stored, { name: wanted.name, description: wanted.description });
    const fields = fieldsOf(changes);
    if (fields.length > 0) {
      await orNameTaken('A group of that name exists', () =>
        tx.updateTable('groups').set(changes).where('id', '=', id).execute(),
      );
      await audit('group.update', { kind: 'group', id, name: changes.name ?? stored.name }, { fields });
    }
    return readGroup(tx, tenantWideOf(accountId), id);
  });
}

const notFound = (): InlayError => new InlayError('NOT_FOUND', 'Group not found');
