/** The end of a user, external or internal. */
import { InlayError } from '../errors.ts';
import { publish } from '../store/changes.ts';
import { type AdminCall, change } from './change.ts';

/**
 * Deletes a user of the kind with sessions, threads, and the memberships and values of every scope.
 * @throws InlayError NOT_FOUND
 */
export function deleteUser(call: AdminCall, kind: 'external' | 'internal', id: number): Promise<void> {
  return change(call, async ({ tx, accountId, audit }) => {
    const deleted = await tx
      .deleteFrom('users')
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .where('kind', '=', kind)
      .returning(['external_id', 'username'])
      .executeTakeFirst();
    if (deleted === undefined) {
      throw new InlayError('NOT_FOUND', kind === 'external' ? 'External user not found' : 'Internal user not found');
    }
    const object = { kind: `${kind}-user`, id, name: deleted.external_id ?? deleted.username };
    await audit(`${kind}-user.delete`, object);
    await publish(tx, { kind: 'user', id });
  });
}
