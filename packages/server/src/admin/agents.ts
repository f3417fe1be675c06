/** Agents: each answers over one deployment, at an address of its own (service.md 4.3). */
import type { AgentBody, AgentChanges, AgentQuery, AgentReply } from '@inlay/contract/admin/agents.ts';
import type { Page } from '@inlay/contract/page.ts';
import { type Kysely, sql } from 'kysely';
import { InlayError } from '../errors.ts';
import { idMax } from '../store/id.ts';
import { contains, equals, filters, keysetPage } from '../store/keyset.ts';
import type { Schema } from '../store/schema.ts';
import { type AdminCall, change } from './change.ts';
import { rename } from './rename.ts';

interface Row {
  readonly id: number;
  readonly name: string;
  readonly deployment_id: number;
  readonly account_name: string;
}

const columns = sql`a.id, a.name, a.deployment_id,
  (select name from accounts where id = a.account_id) as account_name`;

/** @param baseUrl the address of this server, without a trailing slash. */
const toReply =
  (baseUrl: string) =>
  ({ id, name, deployment_id, account_name }: Row): AgentReply => ({
    id,
    name,
    deploymentId: deployment_id,
    chatApiUrl: `${baseUrl}/api/v1/public/${account_name}/agents/${id}/chat/stream-chat-state`,
  });

/** A page of the agents of an account. @throws InlayError INVALID_CURSOR */
export function listAgents(
  db: Kysely<Schema>,
  { accountId, baseUrl }: { readonly accountId: number; readonly baseUrl: string },
  query: AgentQuery,
): Promise<Page<AgentReply>> {
  return keysetPage<Row, AgentReply, 'id' | 'name'>(
    db,
    {
      columns,
      from: sql`agents a`,
      where: [
        sql`a.account_id = ${accountId}`,
        ...filters(
          equals(sql`a.name`, query.name),
          equals(sql`a.deployment_id`, query.deploymentId),
          contains([sql`a.name`], query.search),
        ),
      ],
      sorts: { id: 'id', name: { expression: sql`a.name`, type: 'text' } },
      id: { expression: sql`a.id`, type: 'integer' },
    },
    query,
    toReply(baseUrl),
  );
}

/** @throws InlayError NOT_FOUND */
export async function readAgent(
  db: Kysely<Schema>,
  { accountId, baseUrl }: { readonly accountId: number; readonly baseUrl: string },
  id: number,
): Promise<AgentReply> {
  const { rows } = await sql<Row>`
    select ${columns} from agents a where a.id = ${id} and a.account_id = ${accountId}`.execute(db);
  const row = rows[0];
  if (row === undefined) throw notFound();
  return toReply(baseUrl)(row);
}

/** Makes an agent over a deployment of the account. @throws InlayError NOT_FOUND (the deployment) */
export function createAgent(call: AdminCall, baseUrl: string, { deploymentId, name }: AgentBody): Promise<AgentReply> {
  return change(call, async ({ tx, accountId, audit }) => {
    // Nobody, an installation file neither, takes a number meanwhile.
    await sql`lock table agents in share row exclusive mode`.execute(tx);
    const deployment = await tx
      .selectFrom('deployments')
      .select('id')
      .where('id', '=', deploymentId)
      .where('account_id', '=', accountId)
      .forKeyShare()
      .executeTakeFirst();
    if (deployment === undefined) throw new InlayError('NOT_FOUND', 'Deployment not found');
    const id = await unusedId(tx);
    await tx.insertInto('agents').values({ id, account_id: accountId, deployment_id: deploymentId, name }).execute();
    await audit('agent.create', { kind: 'agent', id, name }, { deploymentId });
    return readAgent(tx, { accountId, baseUrl }, id);
  });
}

/**
 * A number that no agent of the installation has or ever had, since the address of a deleted one may still be in use somewhere: one
 * more than the highest, or the lowest where an installation file has used the highest there is.
 */
async function unusedId(tx: Kysely<Schema>): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    select case when coalesce(max(id), 0) < ${idMax}::int then coalesce(max(id), 0) + 1
      else (select min(one.id) + 1 from (select 0 as id union all select id from agent_ids) one
            where not exists (select 1 from agent_ids next where next.id - 1 = one.id)) end as id
    from agent_ids`.execute(tx);
  const row = rows[0];
  if (row === undefined) throw new Error('An aggregate without groups gave no row.');
  return row.id;
}

/** Renames an agent. @throws InlayError NOT_FOUND */
export function updateAgent(call: AdminCall, baseUrl: string, id: number, wanted: AgentChanges): Promise<AgentReply> {
  return change(call, async (deed) => {
    await rename(deed, 'agent', id, wanted.name);
    return readAgent(deed.tx, { accountId: deed.accountId, baseUrl }, id);
  });
}

/** Deletes an agent with its threads. @throws InlayError NOT_FOUND */
export function deleteAgent(call: AdminCall, id: number): Promise<void> {
  return change(call, async ({ tx, accountId, audit }) => {
    const deleted = await tx
      .deleteFrom('agents')
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .returning('name')
      .executeTakeFirst();
    if (deleted === undefined) throw notFound();
    await audit('agent.delete', { kind: 'agent', id, name: deleted.name });
  });
}

const notFound = (): InlayError => new InlayError('NOT_FOUND', 'Agent not found');
