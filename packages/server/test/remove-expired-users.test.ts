import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { endRun, insertRun, writeMessage } from '../src/chat/thread-store.ts';
import { removeExpiredUsers } from '../src/users/remove-expired-users.ts';
import { databaseKinds, openTestDatabase } from './databases.ts';
import { seedAccount } from './seed.ts';

const now = new Date('2026-05-01T10:00:00Z');
const at = (seconds: number): Date => new Date(now.getTime() + seconds * 1000);

describe.each(databaseKinds)('the end of ephemeral users on %s', (kind) => {
  test('they go with all that was theirs, once nothing is being written for them; nobody else does', async () => {
    const { db, close } = await openTestDatabase(kind);
    try {
      const { accountId, deploymentId } = await seedAccount(db, 'shop', 1);
      await db
        .insertInto('agents')
        .values({ id: 1, account_id: accountId, deployment_id: deploymentId, name: 'analyst' })
        .execute();
      const makeUser = async (externalId: string, expiresAt: Date | null): Promise<number> => {
        const user = { account_id: accountId, kind: 'external' as const, external_id: externalId };
        const values = { ...user, expires_at: expiresAt };
        return (await db.insertInto('users').values(values).returning('id').executeTakeFirstOrThrow()).id;
      };
      const names = async () =>
        (await db.selectFrom('users').select('external_id').where('kind', '=', 'external').execute())
          .map(({ external_id }) => external_id)
          .sort();

      await makeUser('kept', null);
      await makeUser('later', at(1));
      const ended = await makeUser('ended', at(0));
      for (let number = 0; number < 450; number++) await makeUser(`ended-${number}`, at(-number));
      const owner = { accountId, userId: ended, agentId: 1 };
      const run = await insertRun(
        db,
        { owner, threadId: null, messageId: '1777629600000-message', input: 'private', title: 'private' },
        now,
      );
      if (run.kind === 'refused') throw new Error('The run was refused.');
      const { runId: id, threadId } = run;
      const message = { id: randomUUID(), role: 'assistant' as const, content: 'private', sort: 2 };
      const more = { graphPath: null, toolCall: null, isInProcess: false };
      await writeMessage(db, { id, threadId }, { ...message, ...more }, now);

      expect(await removeExpiredUsers(db, now)).toBe(450);
      expect(await names()).toEqual(['ended', 'kept', 'later']);
      await endRun(db, id, { state: 'completed', usage: null, error: null }, now);
      expect(await removeExpiredUsers(db, now)).toBe(1);
      expect(await names()).toEqual(['kept', 'later']);
      for (const table of ['threads', 'runs', 'messages'] as const) {
        expect(await db.selectFrom(table).selectAll().execute()).toEqual([]);
      }
      expect(await removeExpiredUsers(db, now)).toBe(0);
    } finally {
      await close();
    }
  });
});
