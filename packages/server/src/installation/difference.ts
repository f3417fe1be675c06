/** What applying an installation file changed, or would change. Pure. */

import type { Entry, EntryKind } from './installation-entries.ts';
import type { InstallationAccount } from './installation-file.ts';

/** A field that is not as it was. A value that is not there is undefined. */
export interface FieldChange {
  readonly field: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** An entry that is new, or that has other fields than before. */
export type EntryChange =
  | { readonly kind: 'added'; readonly entry: Entry }
  | { readonly kind: 'changed'; readonly entry: Entry; readonly fields: readonly FieldChange[] };

/** The difference in one account. `unchanged` counts what the file declares and what was like that before. */
export interface Difference {
  readonly accountName: string;
  readonly changes: readonly EntryChange[];
  readonly unchanged: number;
}

/** The difference between the entries of an account before and after its part of the file was applied. */
export function differenceOf(
  account: InstallationAccount,
  before: readonly Entry[],
  after: readonly Entry[],
): Difference {
  const stored = new Map(before.map((entry) => [placeOf(entry), entry]));
  const declared = new Set(declaredPlaces(account));
  const changes = after.flatMap((entry): EntryChange[] => {
    const earlier = stored.get(placeOf(entry));
    if (earlier === undefined) return [{ kind: 'added', entry }];
    const fields = fieldChanges(earlier, entry);
    return fields.length === 0 ? [] : [{ kind: 'changed', entry, fields }];
  });
  return { accountName: account.name, changes, unchanged: declared.size - changes.length };
}

const placeOf = ({ kind, key }: { readonly kind: EntryKind; readonly key: string }): string => `${kind} ${key}`;

function* declaredPlaces(account: InstallationAccount): Generator<string> {
  yield placeOf({ kind: 'account', key: account.name });
  for (const { name } of account.userAttributes) yield placeOf({ kind: 'user-attribute', key: name });
  for (const { name } of account.groups) yield placeOf({ kind: 'group', key: name });
  for (const { id } of account.deployments) yield placeOf({ kind: 'deployment', key: String(id) });
  for (const { id } of account.agents) yield placeOf({ kind: 'agent', key: String(id) });
  for (const { username } of account.internalUsers) {
    yield placeOf({ kind: 'internal-user', key: username.toLowerCase() });
  }
}

function fieldChanges(before: Entry, after: Entry): readonly FieldChange[] {
  const names = new Set([...Object.keys(before.fields), ...Object.keys(after.fields)]);
  return [...names].flatMap((field) => {
    const change = { field, before: before.fields[field], after: after.fields[field] };
    return JSON.stringify(change.before) === JSON.stringify(change.after) ? [] : [change];
  });
}

const kindNames: Readonly<Record<EntryKind, string>> = {
  account: 'account',
  'user-attribute': 'user attribute',
  group: 'group',
  deployment: 'deployment',
  agent: 'agent',
  'internal-user': 'internal user',
};

/**
 * The difference for people, a line for everything added (`+`) and for every field changed (`~`), and how much is as it was.
 * The texts are the file's and the store's own, as JSON, so that none of them can break a line or steer the terminal.
 */
export function differenceLines({ accountName, changes, unchanged }: Difference): readonly string[] {
  const lines = changes.flatMap((change) => {
    const { kind, key, name } = change.entry;
    const called = `${kindNames[kind]} ${kind === 'deployment' || kind === 'agent' ? key : textOf(name)}`;
    if (change.kind === 'added') return [`  + ${called}`];
    return change.fields.map(
      ({ field, before, after }) => `  ~ ${called}: ${textOf(field)} ${show(before)} → ${show(after)}`,
    );
  });
  const summary =
    changes.length === 0 ? `nothing changed (${unchanged})` : `${changes.length} changed, ${unchanged} unchanged`;
  return [`Account ${accountName}: ${summary}`, ...lines];
}

const show = (value: unknown): string => (value === undefined || value === null ? 'none' : toJson(value));

/** A name as it is, unless it has characters that would be misread. */
const textOf = (name: string): string => (/^[\w@.+-]+$/.test(name) ? name : toJson(name));

/** JSON in which what is not seen is written as `\u009b`: JSON itself leaves some control characters, and all that change directions. */
const toJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from(
      { length: character.length },
      (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
