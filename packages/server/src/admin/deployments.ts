/** Deployments, as the management API may see and change them: no path of theirs leaves the store. */
import type { DeploymentChanges, DeploymentQuery, DeploymentReply } from '@inlay/contract/admin/deployments.ts';
import type { Page } from '@inlay/contract/page.ts';
import { type Kysely, sql } from 'kysely';
import { InlayError } from '../errors.ts';
import { publish } from '../store/changes.ts';
import { contains, equals, filters, keysetPage } from '../store/keyset.ts';
import type { Schema } from '../store/schema.ts';
import { type AdminCall, change } from './change.ts';
import { endSessions } from './end-sessions.ts';
import { rename } from './rename.ts';

interface Row {
  readonly id: number;
  readonly name: string;
  readonly warehouse_type: string;
  readonly agent_count: number;
}

const columns = sql`d.id, d.name, coalesce(d.warehouse->>'type', 'connection') as warehouse_type,
  (select count(*)::int from agents where deployment_id = d.id) as agent_count`;

const toReply = ({ id, name, warehouse_type, agent_count }: Row): DeploymentReply => ({
  id,
  name,
  warehouseType: warehouse_type,
  agentCount: agent_count,
});

/** A page of the deployments of an account. @throws InlayError INVALID_CURSOR */
export function listDeployments(
  db: Kysely<Schema>,
  accountId: number,
  query: DeploymentQuery,
): Promise<Page<DeploymentReply>> {
  return keysetPage<Row, DeploymentReply, 'id' | 'name'>(
    db,
    {
      columns,
      from: sql`deployments d`,
      where: [
        sql`d.account_id = ${accountId}`,
        ...filters(equals(sql`d.name`, query.name), contains([sql`d.name`], query.search)),
      ],
      sorts: { id: 'id', name: { expression: sql`d.name`, type: 'text' } },
      id: { expression: sql`d.id`, type: 'integer' },
    },
    query,
    toReply,
  );
}

/** @throws InlayError NOT_FOUND */
export async function readDeployment(db: Kysely<Schema>, accountId: number, id: number): Promise<DeploymentReply> {
  const { rows } = await sql<Row>`
    select ${columns} from deployments d where d.id = ${id} and d.account_id = ${accountId}`.execute(db);
  const row = rows[0];
  if (row === undefined) throw notFound();
  return toReply(row);
}

/** Renames a deployment. @throws InlayError NOT_FOUND */
export function updateDeployment(call: AdminCall, id: number, wanted: DeploymentChanges): Promise<DeploymentReply> {
  return change(call, async (deed) => {
    await rename(deed, 'deployment', id, wanted.name);
    return readDeployment(deed.tx, deed.accountId, id);
  });
}

/**
 * Deletes a deployment with its agents and their threads, revokes its sessions, and takes it out of the lists of API keys:
 * should an installation file use the number again, nothing of the old one opens the new one.
 * @throws InlayError NOT_FOUND
 */
export function deleteDeployment(call: AdminCall, id: number): Promise<void> {
  return change(call, async ({ tx, accountId, now, audit }) => {
    const deleted = await tx
      .deleteFrom('deployments')
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .returning('name')
      .executeTakeFirst();
    if (deleted === undefined) throw notFound();
    const revokedSessions = await endSessions(tx, { accountId, now }, { column: 'deployment_id', id });
    const { rows: keys } = await sql<{ id: number }>`
      update api_keys set deployment_ids = coalesce(
        (select jsonb_agg(one) from jsonb_array_elements(deployment_ids) as one where one <> to_jsonb(${id}::int)),
        '[]'::jsonb)
      where account_id = ${accountId} and deployment_ids @> to_jsonb(${id}::int)
      returning id`.execute(tx);
    const object = { kind: 'deployment', id, name: deleted.name };
    await audit('deployment.delete', object, { revokedSessions, changedKeys: keys.length });
    for (const key of keys) await publish(tx, { kind: 'api-key', id: key.id });
    await publish(tx, { kind: 'deployment', id });
  });
}

const notFound = (): InlayError => new InlayError('NOT_FOUND', 'Deployment not found');
