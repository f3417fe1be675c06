/**
 * `npm run fuzz:http -- --runs 50000 [--seed n] [--connections 8]`: generated request bodies against a real server. Whatever is
 * sent, no reply is a 500, each comes within its time and has the right shape, and the server lives after. A failure prints
 * what was sent and the seed that sends it again.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { callHttp, type HttpReply, problemsOf, replyDeadlineMs } from '../http-check.ts';
import { type ServerProcess, startServer } from '../server-process.ts';
import { knownValues, prepareBatch, resolveBody, resolvePath, runKey } from './known.ts';
import { bodyOperations, type FuzzRequest, requestOf } from './requests.ts';

/** Requests are generated in batches, each from a seed of its own, so that one can be sent again without those before. */
const batchRequests = 200;
const failuresShownMax = 20;
/** So many requests reach every operation with calls that succeed. */
const runsThatReachAll = 3000;
const shownCharacters = 600;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** A request that got what it must not get. */
interface Failure {
  readonly request: FuzzRequest;
  readonly problem: string;
  readonly batchSeed: number;
}

/** What is wrong with the reply to a request; empty when nothing is. */
function judge({ operation, caller }: FuzzRequest, reply: HttpReply): readonly string[] {
  const problems = [...problemsOf(reply)];
  if (reply.status >= 500) problems.push(`status ${reply.status}`);
  else if (!operation.statuses.includes(reply.status)) problems.push(`status ${reply.status} is not described`);
  if (caller === 'nobody' && reply.status < 400 && operation.id !== 'exchangeSession') problems.push('open to anybody');
  return problems;
}

/** How often each status came, for each operation. */
type Counts = Map<string, Map<number, number>>;

function count(counts: Counts, operation: string, status: number): void {
  const own = counts.get(operation) ?? new Map<number, number>();
  own.set(status, (own.get(status) ?? 0) + 1);
  counts.set(operation, own);
}

function total(counts: Counts): string {
  const sums = new Map<number, number>();
  for (const own of counts.values())
    for (const [status, times] of own) sums.set(status, (sums.get(status) ?? 0) + times);
  return written(sums);
}

const written = (own: ReadonlyMap<number, number>): string =>
  [...own]
    .toSorted(([a], [b]) => a - b)
    .map(([status, times]) => `${status}: ${times}`)
    .join(', ');

async function runBatch(
  url: string,
  requests: readonly FuzzRequest[],
  batchSeed: number,
  connections: number,
  counts: Counts,
): Promise<Failure[]> {
  const world = await prepareBatch(url);
  const credentials = { key: runKey, token: world.token, nobody: undefined };
  const failures: Failure[] = [];
  const queue = requests.values();
  const work = async (): Promise<void> => {
    for (const request of queue) {
      const authorization = credentials[request.caller];
      const headers = { ...request.call.headers, ...(authorization === undefined ? {} : { authorization }) };
      try {
        const reply = await callHttp(url, {
          ...request.call,
          path: resolvePath(request.call.path, world),
          body: resolveBody(request.call.body, world),
          headers,
        });
        count(counts, request.operation.id, reply.status);
        for (const problem of judge(request, reply))
          failures.push({ request, batchSeed, problem: `${problem}: ${reply.text.slice(0, shownCharacters)}` });
      } catch (error) {
        const isLate = error instanceof DOMException && error.name === 'TimeoutError';
        failures.push({
          request,
          batchSeed,
          problem: isLate ? `no reply within ${replyDeadlineMs} ms` : `no reply: ${String(error)}`,
        });
      }
    }
  };
  await Promise.all(Array.from({ length: connections }, work));
  return failures;
}

function show({ request, problem, batchSeed }: Failure): void {
  const { operation, caller, call } = request;
  say(`\nFAILED ${operation.id} as ${caller}: ${problem}`);
  say(`  ${call.method} ${call.path} ${JSON.stringify(call.headers)}`);
  say(
    `  body (${call.body.length} bytes): ${JSON.stringify(Buffer.from(call.body).toString('latin1').slice(0, shownCharacters))}`,
  );
  say(`  again: npm run fuzz:http -- --runs ${batchRequests} --seed ${batchSeed}`);
}

/** The server still does what it is there for, and has not met anything that it did not expect. */
async function isWell({ url, output }: ServerProcess): Promise<boolean> {
  const ready = await callHttp(url, { method: 'GET', path: '/readyz' });
  const unexpected = output()
    .split('\n')
    .filter((line) => line.includes('"request failed"'));
  for (const line of unexpected.slice(0, failuresShownMax)) say(`\nLOGGED ${line}`);
  await prepareBatch(url);
  return ready.status === 200 && unexpected.length === 0;
}

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: { runs: { type: 'string' }, seed: { type: 'string' }, connections: { type: 'string' } },
  });
  const runs = Number(values.runs ?? 3000);
  const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000_000));
  const connections = Number(values.connections ?? 8);
  const folder = await mkdtemp(join(tmpdir(), 'inlay-fuzz-'));
  let server: ServerProcess | undefined;
  try {
    server = await startServer({ INLAY_DATA_DIR: folder });
    const { url } = server;
    const description = await callHttp(url, { method: 'GET', path: '/api/openapi.json' });
    const { operations, schemas } = bodyOperations(description.json);
    const requests = requestOf(operations, { schemas, known: knownValues });
    say(`${runs} requests to ${operations.length} operations over ${connections} connections, seed ${seed}`);

    const counts: Counts = new Map();
    const failures: Failure[] = [];
    for (let done = 0; done < runs; done += batchRequests) {
      const batchSeed = seed + done / batchRequests;
      const batch = fc.sample(requests, { seed: batchSeed, numRuns: Math.min(batchRequests, runs - done) });
      failures.push(...(await runBatch(url, batch, batchSeed, connections, counts)));
      if ((done / batchRequests) % 25 === 24) {
        say(`${done + batchRequests} sent, ${failures.length} failed; ${total(counts)}`);
      }
      if (failures.length >= failuresShownMax) break;
    }
    for (const failure of failures.slice(0, failuresShownMax)) show(failure);
    // With so many, one that never succeeds shows that the generator does not reach it any more.
    const idle = [...counts].filter(([, own]) => ![200, 201, 204].some((status) => own.has(status)));
    if (runs >= runsThatReachAll) for (const [operation] of idle) say(`${operation} never succeeded`);
    const well = (await isWell(server)) && (runs < runsThatReachAll || idle.length === 0);
    for (const [operation, own] of counts) say(`${operation.padEnd(24)} ${written(own)}`);
    say(`\n${total(counts)}\nserver ${well ? 'well' : 'NOT WELL'}, ${failures.length} failed, seed ${seed}`);
    return failures.length === 0 && well;
  } finally {
    await server?.end('SIGKILL');
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

process.exitCode = (await main()) ? 0 : 1;
