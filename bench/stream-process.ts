/**
 * One stream in a process of its own: `ours` by the warehouse, `floor` by a bare loop that takes the chunks of DuckDB through
 * JSON.stringify, both as lines to a socket whose other end drops them. Prints milliseconds, the peak of memory, and bytes.
 */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { DuckDBInstance, JsonDuckDBValueConverter } from '@duckdb/node-api';
import { openDuckDb } from '../packages/server/src/warehouse/duckdb.ts';

const [who = '', folder = '', rows = ''] = process.argv.slice(2);
const threads = 4;
const sql = `SELECT * FROM numbers LIMIT ${Number(rows)}`;

async function* ourLines(): AsyncGenerator<unknown> {
  const warehouse = await openDuckDb({ folder, threads });
  const signal = new AbortController().signal;
  const stream = await warehouse.stream({ sql, parameters: [] }, { signal, timeoutMs: 600_000 });
  for await (const data of stream.rows()) yield { data };
  await warehouse.close();
}

async function* bareLines(): AsyncGenerator<unknown> {
  const instance = await DuckDBInstance.create(':memory:', { threads: String(threads) });
  const connection = await instance.connect();
  await connection.run(`CREATE VIEW numbers AS SELECT * FROM read_parquet('${folder}/numbers.parquet')`);
  const result = await connection.stream(sql);
  for (let chunk = await result.fetchChunk(); chunk !== null && chunk.rowCount > 0; chunk = await result.fetchChunk()) {
    yield { data: chunk.convertRows(JsonDuckDBValueConverter) };
  }
}

const server = createServer((socket) => void socket.resume()).listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
if (address === null || typeof address === 'string') throw new Error('no TCP address');
const socket = connect(address.port, '127.0.0.1');
await once(socket, 'connect');

let bytes = 0;
const startedMs = performance.now();
for await (const line of who === 'ours' ? ourLines() : bareLines()) {
  const text = `${JSON.stringify(line)}\n`;
  bytes += text.length;
  if (!socket.write(text)) await once(socket, 'drain');
}
socket.end();
await once(socket, 'close');
const ms = performance.now() - startedMs;
server.close();
console.log(JSON.stringify({ ms, bytes, peakRss: process.resourceUsage().maxRSS * 1024 }));
