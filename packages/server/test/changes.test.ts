/** The channel of changes: what is told reaches every listener, and how far it has been heard is never overstated. */
import { connect, createServer, type Server, type Socket } from 'node:net';
import { sql } from 'kysely';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { type Changes, isHearing, type News, noChanges, parseNews, publish } from '../src/store/changes.ts';
import { openPostgresChanges } from '../src/store/open-changes.ts';
import { until } from './chat-world.ts';
import { databaseKinds, openTestDatabase } from './databases.ts';

const hears = (changes: Changes): boolean => isHearing(changes, performance.now());

function listen(changes: Changes): News[] {
  const heard: News[] = [];
  changes.subscribe((news) => void heard.push(news));
  return heard;
}

describe.each(databaseKinds)('changes on %s', async (kind) => {
  const { db, openChanges, close } = await openTestDatabase(kind);
  const changes = await openChanges();
  afterAll(close);

  test('reach every listener once the transaction commits, in order, and not before', async () => {
    await until(() => hears(changes));
    const [one, other] = [listen(changes), listen(changes)];
    await db.transaction().execute(async (transaction) => {
      await publish(transaction, { kind: 'user', id: 7 });
      await publish(transaction, { kind: 'session', id: 'x' });
      expect(one).toEqual([]);
    });
    await publish(db, { kind: 'account', id: 1 });
    const expected = [
      { kind: 'user', id: 7 },
      { kind: 'session', id: 'x' },
      { kind: 'account', id: 1 },
    ];
    await until(() => one.length >= 3 && other.length >= 3);
    expect([one, other]).toEqual([expected, expected]);
  });

  test('what is rolled back is not told', async () => {
    const heard = listen(changes);
    const rolledBack = db.transaction().execute(async (transaction) => {
      await publish(transaction, { kind: 'user', id: 8 });
      throw new Error('rolled back');
    });
    await expect(rolledBack).rejects.toThrow('rolled back');
    await publish(db, { kind: 'user', id: 9 });
    await until(() => heard.length > 0);
    expect(heard).toEqual([{ kind: 'user', id: 9 }]);
  });

  test('a change that was acknowledged has been heard when the channel says that it heard up to then', async () => {
    const heard = listen(changes);
    for (let id = 1; id <= 20; id++) {
      await publish(db, { kind: 'user', id });
      const acknowledgedMs = performance.now();
      await until(() => changes.heardUntil() > acknowledgedMs);
      expect(heard.at(-1)).toEqual({ kind: 'user', id });
    }
  });

  test('whoever has to can catch up with what they have changed themselves', async () => {
    await until(() => hears(changes));
    const heard = listen(changes);
    for (let id = 1; id <= 20; id++) {
      await publish(db, { kind: 'user', id });
      await Promise.all([changes.catchUp(), changes.catchUp()]);
      expect(heard).toHaveLength(id);
    }
  });

  test('a subscription that is disposed hears nothing more', async () => {
    const heard: News[] = [];
    const subscription = changes.subscribe((news) => void heard.push(news));
    const rest = listen(changes);
    subscription[Symbol.dispose]();
    await publish(db, { kind: 'user', id: 1 });
    await until(() => rest.length > 0);
    expect(heard).toEqual([]);
  });
});

test.each([
  ['{"kind":"user","id":7}', { kind: 'user', id: 7 }],
  ['{"kind":"session","id":"a"}', { kind: 'session', id: 'a' }],
  ['{"kind":"dashboard","id":7}', { kind: 'gap' }],
  ['{"kind":"user","id":"7"}', { kind: 'gap' }],
  ['{"kind":"user"', { kind: 'gap' }],
  ['', { kind: 'gap' }],
])('%s means %o', (payload, news) => {
  expect(parseNews(payload)).toEqual(news);
});

test('without a channel nothing is heard', () => {
  expect(hears(noChanges)).toBe(false);
});

describe('the connection that listens', async () => {
  const { db, store, close } = await openTestDatabase('postgres');
  const url = store.kind === 'postgres' ? store.url : '';
  const opened: (() => unknown)[] = [];
  afterEach(async () => {
    for (const undo of opened.splice(0).reverse()) await undo();
  });
  afterAll(close);

  /** A way to the database that can be told to misbehave. */
  async function openProxy(): Promise<{ url: string; freeze(): void; cut(): void; spoilProcessId(): void }> {
    const sockets = new Set<Socket>();
    let isFrozen = false;
    let isSpoiling = false;
    const target = new URL(url);
    const targetPort = Number(target.port);
    const server: Server = createServer((client) => {
      const database = connect(targetPort, target.hostname);
      for (const socket of [client, database]) {
        sockets.add(socket);
        socket
          .on('error', () => undefined)
          .on('close', () => {
            sockets.delete(socket);
            client.destroy();
            database.destroy();
          });
      }
      client.on('data', (bytes) => void (isFrozen || database.write(bytes)));
      database.on('data', (bytes) => {
        if (isSpoiling) spoil(bytes);
        if (!isFrozen) client.write(bytes);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const cut = (): void => {
      for (const socket of sockets) socket.destroy();
    };
    opened.push(() => {
      cut();
      return new Promise((resolve) => server.close(resolve));
    });
    const address = server.address();
    target.port = String(address === null || typeof address === 'string' ? '' : address.port);
    return {
      url: target.href,
      freeze: () => {
        isFrozen = true;
      },
      cut,
      spoilProcessId: () => {
        isSpoiling = true;
      },
    };
  }

  /** As a pooler does: the process id in BackendKeyData (`K`, length 12) is not the backend's. */
  function spoil(bytes: Buffer): void {
    const at = bytes.indexOf(Buffer.from([0x4b, 0, 0, 0, 12]));
    if (at >= 0) bytes.writeInt32BE(1, at + 5);
  }

  function open(through: string): { changes: Changes; errors: unknown[] } {
    const errors: unknown[] = [];
    const changes = openPostgresChanges(through, { onError: (error) => errors.push(error) });
    opened.push(() => changes[Symbol.asyncDispose]());
    return { changes, errors };
  }

  test('is made again when the database ends it, and listeners are told that they may have missed something', async () => {
    const { changes, errors } = open(url);
    await until(() => hears(changes));
    const heard = listen(changes);
    await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'inlay changes' and datname = current_database()`.execute(db);
    await until(() => changes.heardUntil() === Number.NEGATIVE_INFINITY);
    expect(errors.length).toBeGreaterThan(0);
    await until(() => hears(changes));
    expect(heard[0]).toEqual({ kind: 'gap' });
    await publish(db, { kind: 'user', id: 3 });
    await until(() => heard.length > 1);
    expect(heard.at(-1)).toEqual({ kind: 'user', id: 3 });
  });

  test('that says nothing more is not taken for one that hears, and is given up', async () => {
    const proxy = await openProxy();
    const { changes } = open(proxy.url);
    await until(() => hears(changes));
    proxy.freeze();
    const frozenMs = performance.now();
    await until(() => !hears(changes));
    expect(changes.heardUntil()).toBeLessThanOrEqual(frozenMs);
    await until(() => changes.heardUntil() === Number.NEGATIVE_INFINITY);
  });

  test('that is cut hears again by a new one', async () => {
    const proxy = await openProxy();
    const { changes } = open(proxy.url);
    await until(() => hears(changes));
    const heard = listen(changes);
    proxy.cut();
    await until(() => heard.length > 0 && hears(changes));
    expect(heard[0]).toEqual({ kind: 'gap' });
  });

  test('through a pooler is not relied on', async () => {
    const proxy = await openProxy();
    proxy.spoilProcessId();
    const { changes, errors } = open(proxy.url);
    await until(() => errors.length > 0);
    expect(String(errors[0])).toContain('pooler');
    expect(hears(changes)).toBe(false);
  });

  test('does not come about, and disposing does not wait for it', async () => {
    const { changes } = open('postgres://nobody@127.0.0.1:1/nothing');
    expect(hears(changes)).toBe(false);
    await changes[Symbol.asyncDispose]();
  });
});
