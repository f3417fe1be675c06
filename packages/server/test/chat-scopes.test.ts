import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Caller, type ChatWorld, chatIdOf, openChatWorld } from './chat-world.ts';
import { databaseKinds } from './databases.ts';
import { answering } from './scripted-language-model.ts';

describe.each(databaseKinds)('threads and scopes on %s', (kind) => {
  let world: ChatWorld;
  /** One user in the tenant-wide scope, and in those of two embed tenants. */
  let scopes: Caller[];
  beforeAll(async () => {
    world = await openChatWorld(kind);
    const { ann } = world.callers;
    const values = ['acme-inc', 'globex'].map((name) => ({ name, account_id: ann.principal.accountId }));
    const tenants = await world.database.db.insertInto('embed_tenants').values(values).returning('id').execute();
    scopes = [ann, ...tenants.map(({ id }) => ({ ...ann, principal: { ...ann.principal, scopeId: id } }))];
  });
  afterAll(() => world.close());

  test('a thread is found in its own scope only', async () => {
    const chat = world.chat({ languageModel: answering() });
    for (const own of scopes) {
      const begun = chatIdOf(await chat.read(own, { input: 'mine' }));
      const empty = chatIdOf(await chat.read(own, {}));
      for (const chatId of [begun, empty]) {
        for (const other of scopes.filter((scope) => scope !== own)) {
          await expect(chat.open(other, { chatId })).rejects.toMatchObject({ code: 'NOT_FOUND' });
          await expect(chat.open(other, { chatId, input: 'x' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
          await expect(chat.abort(other, chatId)).rejects.toMatchObject({ code: 'THREAD_NOT_OWNED' });
        }
        await chat.read(own, { chatId });
        await chat.abort(own, chatId);
      }
    }
  });

  test('a messageId of another scope repeats nothing of it', async () => {
    const chat = world.chat({ languageModel: answering() });
    const messageId = '1777629600000-message';
    const [wide, acme] = scopes;
    if (wide === undefined || acme === undefined) throw new Error('not seeded');
    await chat.read(wide, { input: 'the same', messageId });
    await expect(chat.open(acme, { input: 'the same', messageId })).rejects.toMatchObject({
      code: 'MESSAGE_ID_REUSED',
    });
    await chat.read(wide, { input: 'the same', messageId });
  });

  test('an embed tenant that is deleted takes its threads along, and no other', async () => {
    const chat = world.chat({ languageModel: answering() });
    const chatIds: string[] = [];
    for (const own of scopes) chatIds.push(chatIdOf(await chat.read(own, { input: 'mine' })));
    const [, , globex] = scopes;
    await world.database.db
      .deleteFrom('embed_tenants')
      .where('id', '=', globex?.principal.scopeId ?? 0)
      .execute();
    const left = await world.database.db.selectFrom('threads').select('id').where('id', 'in', chatIds).execute();
    expect(left.map(({ id }) => id).sort()).toEqual(chatIds.slice(0, 2).sort());
  });
});
