/**
 * One stream in a process of its own: `ours` by the whole server, asked over HTTP at `/cubesql`; `floor` by a bare loop that takes the
 * chunks of DuckDB through JSON.stringify. Both go to a socket whose other end drops them. Prints milliseconds, the peak of memory, and
 * bytes.
 */
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { DuckDBInstance, JsonDuckDBValueConverter } from '@duckdb/node-api';
import { openBenchServer } from './open-server.ts';

const [who = '', folder = '', rows = ''] = process.argv.slice(2);
const threads = 4;
/** Asked first, so that what is opened once is open. */
const warmUpRows = 1000;

const yaml = `
cubes:
  - name: numbers
    sql_table: numbers
    dimensions:
      - { name: i, sql: "{CUBE}.i", type: number, primary_key: true }
      - { name: name, sql: "{CUBE}.name", type: string }
      - { name: amount, sql: "{CUBE}.amount", type: number }
      - { name: x, sql: "{CUBE}.x", type: number }
      - { name: at, sql: "{CUBE}.at", type: time }
      - { name: ok, sql: "{CUBE}.ok", type: boolean }
    access_policy: [{ group: platform_team, row_level: { filters: [{ member: i, operator: gte, values: ["0"] }] } }]
`;

/** Runs a stream of so many rows to its end. @returns its bytes */
type Stream = (rows: number) => Promise<number>;

/** Counts what comes, and drops it. */
async function dropped(socket: Socket): Promise<number> {
  let bytes = 0;
  let end = '';
  socket.on('data', (chunk) => {
    bytes += chunk.length;
    end = `${end}${chunk.subarray(-200).toString('latin1')}`.slice(-200);
  });
  await once(socket, 'close');
  // A stream that breaks off says so in its last line; what is refused has no lines.
  if (end.includes('{"error"') || !/\]\]\}\n/.test(end)) throw new Error(end);
  return bytes;
}

async function openOurs(stack: AsyncDisposableStack): Promise<Stream> {
  const server = stack.use(await openBenchServer());
  const model = join(folder, `model-${process.pid}`);
  await mkdir(model);
  await writeFile(join(model, 'numbers.yml'), yaml);
  const warehouse = JSON.stringify({ type: 'duckdb', folder });
  await server.context.db
    .updateTable('deployments')
    .set({ model_folder: model, agents_folder: null, warehouse })
    .where('id', '=', 1)
    .execute();
  const { hostname, port } = new URL(server.url);
  return async (count) => {
    const body = JSON.stringify({
      query: `SELECT i, name, amount, x, at, ok FROM numbers WHERE i < ${count}`,
      sessionSettings: { externalId: 'bench', groups: ['platform_team'] },
    });
    const socket = connect(Number(port), hostname);
    const head = [
      'POST /api/v1/deployments/1/cubesql HTTP/1.1',
      `host: ${hostname}`,
      `authorization: Api-Key ${server.apiKey}`,
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(body)}`,
      'connection: close',
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
    return dropped(socket);
  };
}

async function openFloor(stack: AsyncDisposableStack): Promise<Stream> {
  const instance = await DuckDBInstance.create(':memory:', { threads: String(threads) });
  stack.defer(() => instance.closeSync());
  const connection = await instance.connect();
  stack.defer(() => connection.closeSync());
  await connection.run(`CREATE VIEW numbers AS SELECT * FROM read_parquet('${folder}/numbers.parquet')`);
  return async (count) => {
    const received = Promise.withResolvers<number>();
    const server = createServer((socket) => received.resolve(dropped(socket))).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no TCP address');
    const socket = connect(address.port, '127.0.0.1');
    await once(socket, 'connect');
    const result = await connection.stream(`SELECT * FROM numbers WHERE i < ${count}`);
    for (
      let chunk = await result.fetchChunk();
      chunk !== null && chunk.rowCount > 0;
      chunk = await result.fetchChunk()
    ) {
      const line = `${JSON.stringify({ data: chunk.convertRows(JsonDuckDBValueConverter) })}\n`;
      if (!socket.write(line)) await once(socket, 'drain');
    }
    socket.end();
    server.close();
    return received.promise;
  };
}

await using stack = new AsyncDisposableStack();
const stream = await (who === 'ours' ? openOurs(stack) : openFloor(stack));
await stream(warmUpRows);
const startedMs = performance.now();
const before = process.cpuUsage();
const bytes = await stream(Number(rows));
const ms = performance.now() - startedMs;
const { user, system } = process.cpuUsage(before);
const peakRss = process.resourceUsage().maxRSS * 1024;
console.log(JSON.stringify({ ms, cpuMs: (user + system) / 1000, bytes, peakRss }));
