/** Calls of generate-session that must succeed, or must be refused without a trace. */
import { expect } from 'vitest';
import type { TestAccount } from '../../test-server.ts';
import { problemsOf } from '../http-check.ts';
import { dumpStore, memberOf, type SuiteWorld, tablesOfRefusals } from '../world.ts';

/** Mints, and expects that it works. */
export async function expectMinted(
  world: SuiteWorld,
  body: Record<string, unknown>,
  account: TestAccount = world.demo,
): Promise<void> {
  const reply = await world.mint(body, account);
  expect([reply.status, reply.text]).toEqual([200, expect.stringContaining('sessionId')]);
}

/** Calls, and expects this status and message, and that nothing in the store has changed. @returns the reply's body. */
export async function expectRefused(
  world: SuiteWorld,
  body: Record<string, unknown>,
  status: number,
  message: string | RegExp,
): Promise<unknown> {
  const before = await dumpStore(world.db, tablesOfRefusals);
  const reply = await world.mint(body);
  expect([reply.status, memberOf(reply.json, 'message')]).toEqual([
    status,
    typeof message === 'string' ? message : expect.stringMatching(message),
  ]);
  expect(problemsOf(reply)).toEqual([]);
  expect(await dumpStore(world.db, tablesOfRefusals), 'a call that fails changes nothing').toBe(before);
  return reply.json;
}

/** A call in creator mode. */
export const creatorCall = (embedTenantName: string, more: Record<string, unknown>): Record<string, unknown> => ({
  externalId: 'creator',
  creatorMode: true,
  embedTenantName,
  ...more,
});
