/** service.md 4.1, the table of the body, and decisions 2 and 4: what each field takes, and what it does not. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { databaseKinds } from '../../databases.ts';
import { problemsOf } from '../http-check.ts';
import { dumpStore, memberOf, openSuiteWorld, type SuiteWorld, suiteAttributes, tablesOfRefusals } from '../world.ts';
import { bytes, names } from './field-rows.ts';
import { scopeFieldRows } from './scope-field-rows.ts';
import { userFieldRows } from './user-field-rows.ts';

/** Values of each type, to be offered to attributes of each type (service.md 2.3). Null clears any. */
const typedValues: readonly (readonly [value: unknown, takenBy: readonly string[]])[] = [
  ['text', ['string']],
  ['', ['string']],
  ['7', ['string']],
  [7, ['number']],
  [-0.5, ['number']],
  [true, ['boolean']],
  [false, ['boolean']],
  [['a', 'b'], ['string_array']],
  [[1, 2.5], ['number_array']],
  [[], ['string_array', 'number_array']],
  [null, Object.values(suiteAttributes)],
];

describe.each(databaseKinds)('the body of generate-session on %s', (kind) => {
  let world: SuiteWorld;
  beforeAll(async () => {
    world = await openSuiteWorld(kind);
  });
  afterAll(() => world.close());

  test.each([...userFieldRows, ...scopeFieldRows])('$what: $status', async ({ body, status }) => {
    const before = status === 200 ? '' : await dumpStore(world.db, tablesOfRefusals);
    const reply = await world.mint(body);
    expect(reply.status, reply.text).toBe(status);
    expect(problemsOf(reply)).toEqual([]);
    if (reply.status === 200) {
      expect(reply.json).toEqual({ sessionId: expect.stringMatching(/^\S{20,}$/) });
    } else expect(await dumpStore(world.db, tablesOfRefusals), 'a call that fails changes nothing').toBe(before);
  });

  test.each(
    Object.entries(suiteAttributes).flatMap(([name, type]) =>
      typedValues.map(([value, takenBy]) => ({ name, value, status: takenBy.includes(type) ? 200 : 400 })),
    ),
  )('$name takes $value: $status', async ({ name, value, status }) => {
    const reply = await world.mint({ externalId: 'typed', userAttributes: [{ name, value }] });
    expect(reply.status, reply.text).toBe(status);
    expect(problemsOf(reply)).toEqual([]);
  });

  test('500 groups may be asked for, 501 not; a name of 128 characters may, of 129 not', async () => {
    const asked = async (groups: readonly string[]) => {
      const reply = await world.mint({ externalId: 'fields', groups });
      return { status: reply.status, message: String(memberOf(reply.json, 'message')) };
    };
    const notFound = /^Groups with names .* not found$/s;
    expect(await asked(names(500))).toEqual({ status: 400, message: expect.stringMatching(notFound) });
    expect(await asked(names(501))).toEqual({ status: 400, message: expect.not.stringMatching(notFound) });
    expect(await asked([bytes(128)])).toEqual({ status: 400, message: expect.stringMatching(notFound) });
    expect(await asked([bytes(129)])).toEqual({ status: 400, message: expect.not.stringMatching(notFound) });
  });

  test('a role points to groups', async () => {
    const reply = await world.mint({ externalId: 'fields', roles: ['admin'] });
    expect(String(memberOf(reply.json, 'message'))).toMatch(/groups/);
  });
});
