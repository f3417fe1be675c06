/** The one change of deployments and agents that the management API makes: another name. */
import { InlayError } from '../errors.ts';
import type { Change } from './change.ts';

/**
 * Gives a deployment or agent of the account another name, and audits that; without one, or with its own, nothing is written.
 * @throws InlayError NOT_FOUND
 */
export async function rename(
  { tx, accountId, audit }: Change,
  kind: 'deployment' | 'agent',
  id: number,
  name: string | undefined,
): Promise<void> {
  const table = kind === 'deployment' ? 'deployments' : 'agents';
  const stored = await tx
    .selectFrom(table)
    .select('name')
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (stored === undefined) {
    throw new InlayError('NOT_FOUND', kind === 'deployment' ? 'Deployment not found' : 'Agent not found');
  }
  if (name === undefined || name === stored.name) return;
  await tx.updateTable(table).set({ name }).where('id', '=', id).execute();
  await audit(`${kind}.update`, { kind, id, name }, { fields: ['name'] });
}
