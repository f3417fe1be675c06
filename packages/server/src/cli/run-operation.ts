/** A command that calls an operation of a running server, and prints the reply. */
import type { Operation } from '@inlay/contract/operation.ts';
import { pageRowsMax } from '@inlay/contract/page.ts';
import { type ParsedCall, parseCall } from './arguments.ts';
import type { ClientConfig } from './client-config.ts';
import { callOperation, pageSchema, readBodyFile } from './http-client.ts';
import { recordText, tableText } from './print.ts';

/** Where to print: standard output for the result, standard error for what is said of it. */
export interface Printer {
  out(text: string): void;
  say(text: string): void;
}

/** @throws ConfigError for wrong arguments, and for what the server refuses. */
export async function runOperation(
  config: ClientConfig,
  operation: Operation,
  args: readonly string[],
  print: Printer,
): Promise<void> {
  const call = await withBodyFile(operation, parseCall(operation, args));
  if (call.isAll) return printAll(config, operation, call, print);
  const reply = await callOperation(config, operation, call);
  if (reply === undefined) return print.say('Done.');
  if (call.isJson) return print.out(JSON.stringify(reply, null, 2));
  const page = pageSchema.safeParse(reply).data;
  if (page === undefined) return print.out(recordText(reply));
  printItems(page.items, print);
  if (page.pageInfo.hasNextPage) print.say(`There are more: --after ${page.pageInfo.endCursor}, or --all`);
}

/** An operation that takes a body gets one, be it empty, so that the server says what is missing. */
async function withBodyFile(operation: Operation, call: ParsedCall): Promise<ParsedCall> {
  if (operation.body === undefined) return call;
  const fromFile = call.bodyFile === undefined ? {} : await readBodyFile(call.bodyFile);
  return { ...call, body: { ...fromFile, ...call.body } };
}

async function printAll(config: ClientConfig, operation: Operation, call: ParsedCall, print: Printer): Promise<void> {
  const items: unknown[] = [];
  let query: Readonly<Record<string, string>> = { first: String(pageRowsMax), ...call.query };
  while (true) {
    const page = pageSchema.parse(await callOperation(config, operation, { ...call, query }));
    items.push(...page.items);
    const { hasNextPage, endCursor } = page.pageInfo;
    if (!hasNextPage || endCursor === null) break;
    query = { ...query, after: endCursor };
  }
  if (call.isJson) print.out(JSON.stringify({ items }, null, 2));
  else printItems(items, print);
}

function printItems(items: readonly unknown[], print: Printer): void {
  if (items.length === 0) print.say('There are none.');
  else print.out(tableText(items));
}
