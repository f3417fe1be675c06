/** Every route × every kind of credential → the status that follows from what the route says of itself. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RegisteredRoute } from '../../src/http/app.ts';
import { databaseKinds } from '../databases.ts';
import { type Authorization, type Credentials, isAccepted, makeCredentials } from './credentials.ts';
import { callHttp, type HttpReply, problemsOf } from './http-check.ts';
import { type RightCall, type RouteNeeds, routeTable } from './route-table.ts';
import { secretsIn } from './secrets-in.ts';
import { demoOnlyMark, dumpStore, memberOf, openSuiteWorld, type SuiteWorld } from './world.ts';

type Credential = Exclude<keyof Credentials, 'wrong'>;

/** The routes whose credential stands in the body or is not asked for. */
const isOpen = ({ credential }: RegisteredRoute): boolean => credential === 'none';

/** Paths that name something of the account: to others it does not exist. */
const namesSomething = ({ path }: RegisteredRoute): boolean => path.includes(':');

/** Paths that name something on one deployment. */
const namesDeployment = ({ path }: RegisteredRoute): boolean => /:(deploymentId|agentId)\b/.test(path);

/** What a valid credential gets for the right call: the status of the table, or why not (decisions 2 and 3, service.md 5). */
function expectedStatus(route: RegisteredRoute, needs: RouteNeeds, credential: Credential): number {
  const isToken = credential.startsWith('token');
  switch (route.credential) {
    case 'admin-key':
      if (isToken || !['adminKey', 'keyOfOtherAccount'].includes(credential)) return 403;
      return credential === 'keyOfOtherAccount' && namesSomething(route) ? 404 : needs.status;
    case 'api-key':
      if (isToken) return 403;
      break;
    case 'admin-role key':
      if (isToken || credential === 'memberKey' || credential === 'keyOfDeployment') return 403;
      break;
    default:
      if (credential === 'tokenOfOtherDeployment' || credential === 'tokenOfOtherAccount') return 404;
  }
  if (route.path.includes(':cloudRegion')) return 404;
  if (credential === 'keyOfOtherAccount') return namesSomething(route) ? 404 : needs.status;
  if (credential === 'keyOfOtherDeployment') return namesDeployment(route) ? 403 : needs.status;
  return needs.status;
}

/** The routes whose body, too, names something that only some keys may use, by what such a key gets. */
const ofTheBody: Readonly<Record<string, Partial<Record<Credential, number>>>> = {
  // The body names a deployment.
  'POST /api/v1/embed/generate-session': { keyOfOtherDeployment: 403, keyOfOtherAccount: 404 },
  'POST /api/v1/agents': { keyOfOtherAccount: 404 },
  // The body names a user.
  'POST /api/v1/sessions/revoke': { keyOfOtherAccount: 404 },
};

/** A token's user reads threads of its own scope only, so that a thread of the tenant-wide one is not its. */
function ofTheScope({ path }: RegisteredRoute, credential: Credential): number | undefined {
  if (credential !== 'tokenInCreatorMode' || path.includes(':cloudRegion')) return undefined;
  if (path.endsWith('/abort')) return 403;
  return path.endsWith('/:chatId') ? 404 : undefined;
}

describe.each(databaseKinds)('routes and credentials on %s', (kind) => {
  let world: SuiteWorld;
  let credentials: Credentials;
  let routes: readonly RegisteredRoute[];
  const replies: { readonly of: string; readonly reply: HttpReply }[] = [];
  beforeAll(async () => {
    world = await openSuiteWorld(kind, { startsAt: new Date('2026-05-01T10:00:00Z') });
    credentials = await makeCredentials(world);
    routes = world.server.routes.filter(({ method }) => method !== 'HEAD' && method !== 'OPTIONS');
  });
  afterAll(() => world.close());

  const nameOf = ({ method, path }: RegisteredRoute): string => `${method} ${path}`;
  const needsOf = (route: RegisteredRoute): RouteNeeds => {
    const needs = routeTable[nameOf(route)];
    if (needs === undefined) throw new Error(`${nameOf(route)} is not in route-table.ts`);
    return needs;
  };
  const addressOf = (route: RegisteredRoute, { params, search = '' }: RightCall): string =>
    route.path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? '')) + search;
  const send = async (route: RegisteredRoute, call: RightCall, authorization: Authorization, body?: string) => {
    const content = body ?? (call.body === undefined ? undefined : JSON.stringify(call.body));
    const reply = await callHttp(world.server.url, {
      method: route.method,
      path: addressOf(route, call),
      headers: {
        ...(content === undefined ? {} : { 'content-type': 'application/json' }),
        ...(authorization === undefined ? {} : { authorization }),
        ...call.headers,
      },
      ...(content === undefined ? {} : { body: content }),
    });
    replies.push({ of: nameOf(route), reply });
    expect(problemsOf(reply), nameOf(route)).toEqual([]);
    return reply;
  };

  test('the table has every route of the server and no other', () => {
    expect(Object.keys(routeTable).toSorted()).toEqual(routes.map(nameOf).toSorted());
    for (const { method, credential } of world.server.routes) {
      if (method === 'HEAD' || method === 'OPTIONS') expect(credential).toBe('none');
    }
  });

  test('the credentials are what they are called', async () => {
    for (const name of ['token', 'tokenInCreatorMode', 'tokenOfOtherDeployment', 'tokenOfOtherAccount'] as const) {
      expect([name, await isAccepted(world, credentials[name])]).toEqual([name, true]);
    }
  });

  test('what is no valid credential is 401 on every route, before anything else, and changes nothing', async () => {
    const found: string[] = [];
    const calls = new Map<RegisteredRoute, RightCall>();
    for (const route of routes.filter((one) => !isOpen(one))) calls.set(route, await needsOf(route).call(world, false));
    const before = await dumpStore(world.db);
    for (const [route, call] of calls) {
      for (const [what, authorization] of Object.entries(credentials.wrong)) {
        const { status } = await send(route, call, authorization);
        if (status !== 401) found.push(`${nameOf(route)} with ${what}: ${status}`);
      }
      // Nor do a broken body and a path that names nothing show through.
      const nowhere = { ...call, params: Object.fromEntries(Object.keys(call.params).map((name) => [name, '4711'])) };
      for (const what of ['no header', 'an unknown key', 'a revoked key', 'an expired token']) {
        const broken = call.body === undefined ? undefined : '{"half": ';
        const { status } = await send(route, nowhere, credentials.wrong[what], broken);
        if (status !== 401) found.push(`${nameOf(route)}, nowhere, with ${what}: ${status}`);
      }
    }
    expect(await dumpStore(world.db)).toBe(before);
    expect(found).toEqual([]);
  }, 120_000);

  test('a valid credential gets what the route is for, or the status that says why not', async () => {
    const found: string[] = [];
    const { wrong: _, ...valid } = credentials;
    for (const route of routes.filter((one) => !isOpen(one))) {
      const needs = needsOf(route);
      for (const credential of Object.keys(valid).filter((name): name is Credential => name in valid)) {
        const expected =
          ofTheScope(route, credential) ??
          ofTheBody[nameOf(route)]?.[credential] ??
          expectedStatus(route, needs, credential);
        const call = await needs.call(world, credential.startsWith('token'));
        const reply = await send(route, call, valid[credential]);
        if (reply.status !== expected) {
          found.push(
            `${nameOf(route)} with ${credential}: ${reply.status} in place of ${expected}: ${reply.text.slice(0, 200)}`,
          );
        }
        if (credential === 'keyOfOtherAccount' && reply.text.includes(demoOnlyMark)) {
          found.push(`${nameOf(route)} shows another account's things`);
        }
      }
    }
    expect(found).toEqual([]);
  }, 120_000);

  test('403 and 404 of the path come before the body, whatever it is', async () => {
    const found: string[] = [];
    const { wrong: _, ...valid } = credentials;
    for (const route of routes.filter((one) => !isOpen(one))) {
      const needs = needsOf(route);
      const call = await needs.call(world, false);
      if (call.body === undefined) continue;
      for (const credential of Object.keys(valid).filter((name): name is Credential => name in valid)) {
        const ofPath = expectedStatus(route, needs, credential);
        const expected = ofPath === 403 || ofPath === 404 ? ofPath : 400;
        const { status } = await send(route, call, valid[credential], '{"half": ');
        if (status !== expected) found.push(`${nameOf(route)} with ${credential}: ${status} in place of ${expected}`);
      }
    }
    expect(found).toEqual([]);
  }, 120_000);

  test('routes without a credential answer anybody', async () => {
    for (const route of routes.filter(isOpen)) {
      const needs = needsOf(route);
      const reply = await send(route, await needs.call(world, false), undefined);
      expect([nameOf(route), reply.status]).toEqual([nameOf(route), needs.status]);
    }
  });

  test('no reply of all these holds a secret, but the one that issued it', () => {
    // What is issued in a reply: a session's id, a token, a new key.
    const issues = (name: string): boolean =>
      /generate-session$|session\/token$|^POST \/api\/v1\/api-keys(\/:id\/rotate)?$/.test(name);
    expect(replies.length).toBeGreaterThan(500);
    for (const { of, reply } of replies) {
      const headers = JSON.stringify([...reply.headers]);
      expect([of, secretsIn(headers, world.secrets)]).toEqual([of, []]);
      if (!(issues(of) && reply.status < 300)) expect([of, secretsIn(reply.text, world.secrets)]).toEqual([of, []]);
    }
    expect(replies.filter(({ reply }) => memberOf(reply.json, 'code') === 'INTERNAL')).toEqual([]);
  });
});
