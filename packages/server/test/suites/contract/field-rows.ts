/** How the rows of the tables of fields are written: what is sent in one field, in an otherwise right call, and its status. */

/** A row: a body for generate-session on deployment 1, and the status that it gets. */
export interface FieldRow {
  readonly what: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly status: number;
}

type Body = Readonly<Record<string, unknown>>;

/** A call that is right. */
export const external = { externalId: 'fields' };
/** A call in creator mode that is right. */
export const creator = { creatorMode: true, embedTenantName: 'fields-tenant', ...external };
/** A call for an internal user that is right. */
export const internal = { internalId: 'analyst' };

/** One row for each value of a field, in the call `base`. */
export function field(name: string, status: number, values: readonly unknown[], base: Body = external): FieldRow[] {
  return values.map((value) => row(`${name} ${text(value)}`, status, { ...base, [name]: value }));
}

/** One row for each value of a member of an object that stands in a field. */
export function member(
  [name, key]: readonly [field: string, key: string],
  status: number,
  values: readonly unknown[],
): FieldRow[] {
  return values.map((value) => row(`${name}.${key} ${text(value)}`, status, { ...external, [name]: { [key]: value } }));
}

/** One row for each thing that is the only item of a field, in the call `base`. */
export function item(name: string, status: number, items: readonly unknown[], base: Body = external): FieldRow[] {
  return items.map((one) => row(`${name} of ${text(one)}`, status, { ...base, [name]: [one] }));
}

/** A row that says itself what it is. */
export const row = (what: string, status: number, body: Body): FieldRow => ({ what: what.slice(0, 90), status, body });

const text = (value: unknown): string => JSON.stringify(value) ?? 'left out';

const oneOfEach = { string: 'text', number: 7, boolean: true, object: { a: 1 }, array: ['a'] };

/** A value of each JSON type but this one. */
export const notA = (type: keyof typeof oneOfEach): readonly unknown[] =>
  Object.entries(oneOfEach).flatMap(([one, value]) => (one === type ? [] : [value]));

/** `count` names that differ. */
export const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `n${index}`);

/** A text of `count` bytes. */
export const bytes = (count: number): string => 'x'.repeat(count);

/** An object of so many levels. */
export const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) });
