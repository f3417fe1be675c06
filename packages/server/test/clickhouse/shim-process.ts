/** The process of {@link startClickHouse}: the engine, and a server on the loopback in front of it. Ends with its parent. */
import { createServer } from 'node:http';
import { z } from 'zod';
import { createEngine } from './engine.ts';
import { createShim } from './shim.ts';

const [dataFolder = '', port = ''] = process.argv.slice(2);
const commandSchema = z.object({ failAs: z.enum(['tagged', 'plain', 'cut']) });

const shim = createShim(createEngine(dataFolder), (queryId) => process.send?.({ killed: queryId }));
process.on('message', (message: unknown) => shim.failAs(commandSchema.parse(message).failAs));
process.on('disconnect', () => process.exit());
const server = createServer((request, response) => void shim.serve(request, response));
server.listen(Number(port), '127.0.0.1', () => process.send?.({ listening: true }));
