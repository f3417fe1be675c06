import { listSessions, readSession, revokeSession, revokeSessions } from '../../../admin/sessions.ts';
import type { Context } from '../../../context.ts';
import { manage } from '../../manage.ts';
import type { App } from '../../route.ts';

/** /api/v1/sessions (management-api.md). */
export function sessionRoutes(app: App, context: Context): void {
  const { db, clock } = context;
  const { sessions } = context.operations;
  manage(app, context, sessions.list, ({ accountId, query }) => listSessions(db, { accountId, now: clock() }, query));
  manage(app, context, sessions.get, ({ accountId, params }) =>
    readSession(db, { accountId, now: clock(), id: params.id }),
  );
  manage(app, context, sessions.revoke, (call) => revokeSession(call, call.params.id));
  manage(app, context, sessions.revokeMany, async (call) => ({ revoked: await revokeSessions(call, call.body) }));
}
