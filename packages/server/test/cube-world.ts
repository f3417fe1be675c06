/** A server whose deployments have a small shop that Cube's own client is pointed at, and that client. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import cube, { type CubeApi } from '@cubejs-client/core';
import { inject } from 'vitest';
import {
  openSession,
  openTestServer,
  type TestAccount,
  type TestServer,
  type TestServerOptions,
} from './test-server.ts';

/** Orders of two merchants around the turn of 2024, one of them at 23:30 UTC; cubes that take a second to count, of which merchant 7 has one row and 8 two, and one that takes hours. */
const model = `
cubes:
  - name: orders
    title: Orders
    sql: >
      SELECT * FROM (VALUES
        (1, TIMESTAMP '2024-01-05 10:00:00', 'web', 10.5, 7),
        (2, TIMESTAMP '2024-01-31 23:30:00', 'web', 20.0, 7),
        (3, TIMESTAMP '2024-02-10 08:00:00', 'store', 5.0, 7),
        (4, TIMESTAMP '2024-04-01 00:00:00', NULL, 4.0, 7),
        (5, TIMESTAMP '2024-02-11 08:00:00', 'web', 100.0, 8)
      ) AS t(id, placed, channel, amount, merchant)
    joins:
      - { name: lines, relationship: one_to_many, sql: "{CUBE}.id = {lines}.order_id" }
    dimensions:
      - { name: id, sql: "{CUBE}.id", type: number, primary_key: true, public: true }
      - name: at
        sql: "{CUBE}.placed"
        type: time
        title: Ordered
        granularities: [{ name: fiscal_year, interval: 1 year, origin: "2024-04-01", title: Fiscal year }]
      - { name: channel, sql: "{CUBE}.channel", type: string, title: Channel, description: Where. }
      - { name: merchant, sql: "{CUBE}.merchant", type: number, title: Merchant }
      - { name: secret, sql: "{CUBE}.amount * 2", type: number }
    measures:
      - { name: count, type: count, title: Orders, drill_members: [id, channel, secret] }
      - { name: revenue, sql: "{CUBE}.amount", type: sum, title: Revenue, format: currency }
      - name: web_count
        type: count
        filters: [{ sql: "{CUBE}.channel = 'web'" }]
        drill_members: [id]
    segments:
      - { name: large, sql: "{CUBE}.amount > 8", title: Large }
    hierarchies: [{ name: place, title: Place, levels: [merchant, channel] }]
    access_policy:
      - group: merchant
        row_level:
          filters: [{ member: merchant, operator: equals, values: ["{ userAttributes.merchant_id }"] }]
        member_level: { excludes: [secret] }
      - { group: platform_team, row_level: { allow_all: true } }
  - name: lines
    sql: SELECT * FROM (VALUES (1, 1, 2), (2, 1, 3), (3, 3, 4)) AS t(id, order_id, quantity)
    dimensions: [{ name: id, sql: "{CUBE}.id", type: number, primary_key: true }]
    measures: [{ name: quantity, sql: "{CUBE}.quantity", type: sum }]
    access_policy: [{ group: "*", row_level: { allow_all: true } }]
  - name: slow
    sql: SELECT a.range AS id FROM range(10000000) a, range(15) b WHERE hash(a.range * b.range) = 7
    dimensions: [{ name: id, sql: "{CUBE}.id", type: number, primary_key: true }]
    measures: [{ name: count, type: count }]
    access_policy: [{ group: "*", row_level: { allow_all: true } }]
  - name: tardy
    sql: SELECT a.range AS id, 7 + b.range AS merchant FROM range(60000000) a, range(2) b WHERE hash(a.range) = 7 OR a.range <= b.range
    dimensions:
      - { name: id, sql: "{CUBE}.id", type: number, primary_key: true }
      - { name: merchant, sql: "{CUBE}.merchant", type: number }
    measures: [{ name: count, type: count }]
    access_policy:
      - group: merchant
        row_level: { filters: [{ member: merchant, operator: equals, values: ["{ userAttributes.merchant_id }"] }] }
  - name: endless
    extends: slow
    sql: SELECT a.range AS id FROM range(10000000) a, range(10000000) b WHERE hash(a.range * b.range) = 7
views:
  - name: sales
    title: Sales
    cubes: [{ join_path: orders, includes: [at, channel, count, revenue] }]
    folders: [{ name: Where, includes: [channel] }]
`;

/** The server, and ways to ask it. */
export interface CubeWorld {
  readonly server: TestServer;
  /** The deployment of the shop, in each account. */
  readonly shops: { readonly demo: TestAccount; readonly other: TestAccount };
  /** The base of the data API of a shop. */
  urlOf(account: TestAccount): string;
  /** Cube's client with this value of the Authorization header. */
  client(authorization: string, account?: TestAccount, headers?: Record<string, string>): CubeApi;
  /** A token of a merchant of a shop, as the Authorization header takes it. */
  merchant(id: number, account?: TestAccount): Promise<string>;
  close(): Promise<void>;
}

/** Opens it; close it. */
export async function openCubeWorld(options: TestServerOptions = {}): Promise<CubeWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'inlay-cube-'));
  await writeFile(join(folder, 'shop.yml'), model);
  const server = await openTestServer(options);
  const warehouse = JSON.stringify({ type: 'duckdb', folder: inject('demoDataFolder') });
  const open = async (account: TestAccount, id: number): Promise<TestAccount> => {
    const row = { id, account_id: account.accountId, name: 'shop', model_folder: folder, warehouse };
    await server.context.db.insertInto('deployments').values(row).execute();
    return { ...account, deploymentId: id };
  };
  const shops = { demo: await open(server.demo, 9), other: await open(server.other, 10) };
  const urlOf = ({ deploymentId }: TestAccount): string => `${server.url}/api/v1/deployments/${deploymentId}`;
  return {
    server,
    shops,
    urlOf,
    client: (authorization, account = shops.demo, headers = {}) =>
      cube(authorization, { apiUrl: urlOf(account), headers }),
    merchant: (id, account = shops.demo) =>
      openSession(server, account, {
        externalId: `merchant-${id}`,
        groups: ['merchant'],
        userAttributes: [{ name: 'merchant_id', value: id }],
      }),
    async close() {
      await server.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** Settings in the header in which an API key names its user. */
export const settingsHeader = (settings: object): Record<string, string> => ({
  'X-Inlay-Session-Settings': Buffer.from(JSON.stringify(settings)).toString('base64url'),
});
