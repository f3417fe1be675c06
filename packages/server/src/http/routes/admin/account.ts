import { readAccount, updateAccount } from '../../../admin/account.ts';
import type { Context } from '../../../context.ts';
import { manage } from '../../manage.ts';
import type { App } from '../../route.ts';

/** /api/v1/account: the settings of the caller's account (management-api.md). */
export function accountRoutes(app: App, context: Context): void {
  const { db } = context;
  const { account } = context.operations;
  manage(app, context, account.get, ({ accountId }) => readAccount(db, accountId));
  manage(app, context, account.update, (call) => updateAccount(call, call.body));
}
