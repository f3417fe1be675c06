/**
 * Compiles queries over one data model for one warehouse, and keeps the plans: a query that differs only in values, or is asked by
 * another user of the same rights, gets the SQL that was made before, with its own values bound.
 */
import { LRUCache } from 'lru-cache';
import { type CompiledQuery, type CompileOptions, compileResolved } from './compile-sql.ts';
import type { Dialect } from './dialects/dialect.ts';
import type { DataModel } from './model/data-model.ts';
import { type Parameter, type Slot, toParameter } from './plan/binder.ts';
import { createShapes, type StatementShape } from './plan/statement-shape.ts';
import type { PolicyOwner } from './policy/grants.ts';
import { observedRights } from './policy/observed-rights.ts';
import { type Rights, rightsOf } from './policy/rights.ts';
import type { Subject } from './policy/subject.ts';
import { likePattern } from './query/like-pattern.ts';
import { resolveStatement } from './query/resolve-statement.ts';
import type { Statement } from './query/statement.ts';
import { zoneNamed } from './query/zoned-time.ts';
import { parseSql } from './sql/parse-sql.ts';
import { placed } from './sql/refusal.ts';

/** Compiles queries over one data model. */
export interface Compiler {
  /** A text, as {@link import('./compile-sql.ts').compileSql} does it. @throws SemanticError */
  compile(sql: string, subject: Subject, options?: CompileOptions): CompiledQuery;
  /** A statement that is parsed already. @throws SemanticError */
  compileParsed(statement: Statement, subject: Subject, options?: Omit<CompileOptions, 'limits'>): CompiledQuery;
}

/** Plans that are kept; the longest unused go first. */
const plansMax = 1000;
/** Parsed texts that are kept, and the length of the longest, in UTF-16 code units. */
const parsedMax = 500;
const parsedCharactersMax = 8192;

/** SQL with what is to be bound: a value of the query by its number, or one of the policies by its place in the model. */
interface Plan {
  readonly compiled: CompiledQuery;
  /** By slot: the number of the query's value; null: it is bound by its origin, or is always the same. */
  readonly numbers: readonly (number | null)[];
}

/** The plans of one shape: what of the rights they depend on, and the plan for each kind of rights. */
interface Plans {
  readonly owners: readonly PolicyOwner[];
  readonly byRights: LRUCache<string, Plan>;
}

/** Rights that differ, of which the plans of one statement are kept. */
const rightsMax = 100;

/** Makes a compiler; nothing is kept yet. */
export function createCompiler(model: DataModel, dialect: Dialect): Compiler {
  const shapeOf = createShapes(model);
  const parsed = new LRUCache<string, Statement>({ max: parsedMax });
  const plans = new LRUCache<string, Plans>({ max: plansMax });

  const parse = (sql: string, options: CompileOptions): Statement => {
    const before = parsed.get(sql);
    if (before !== undefined) return before;
    const statement = parseSql(sql, options.limits);
    if (sql.length <= parsedCharactersMax) parsed.set(sql, statement);
    return statement;
  };

  const compileParsed = (
    statement: Statement,
    subject: Subject,
    options: Omit<CompileOptions, 'limits'> = {},
  ): CompiledQuery => {
    const timezone = zoneNamed(options.timezone);
    const rights = options.rights ?? rightsOf(model, subject);
    const resolved = resolveStatement(statement, { model, rights, timezone, now: options.now ?? new Date() });
    const shape = shapeOf(resolved);
    const key = `${timezone} ${shape.text}`;
    const known = plans.get(key);
    const plan = known?.byRights.get(rightsShape(rights, known.owners));
    if (plan !== undefined) return bindAnew(plan, shape, rights, known?.owners ?? []);

    const owners = new Map<string, PolicyOwner>();
    // Whatever the compiler asks of the rights it asks here, so these decide the SQL; what is visible is in the statement.
    const observed = observedRights(rights, (owner) => owners.set(owner.name, owner));
    const compiled = compileResolved(resolved, { model, rights: observed, dialect, timezone });
    keep(key, compiled, shape, [...owners.values()], rights);
    return compiled;
  };

  const keep = (
    key: string,
    compiled: CompiledQuery,
    shape: StatementShape,
    owners: readonly PolicyOwner[],
    rights: Rights,
  ): void => {
    const numbers = numbersOf(compiled.slots, shape);
    if (numbers === null) return;
    const before = plans.get(key);
    const isSame = before !== undefined && sameOwners(before.owners, owners);
    const entry = isSame ? before : { owners, byRights: new LRUCache<string, Plan>({ max: rightsMax }) };
    entry.byRights.set(rightsShape(rights, owners), { compiled, numbers });
    plans.set(key, entry);
  };

  return {
    compile: (sql, subject, options = {}) => placed(sql, () => compileParsed(parse(sql, options), subject, options)),
    compileParsed,
  };
}

const rightsShape = (rights: Rights, owners: readonly PolicyOwner[]): string =>
  JSON.stringify(owners.map((owner) => rights.shape(owner)));

const sameOwners = (one: readonly PolicyOwner[], other: readonly PolicyOwner[]): boolean =>
  one.length === other.length && one.every((owner, at) => owner === other[at] || owner.name === other[at]?.name);

/**
 * Which slot is bound to which value of the query. Null when the SQL cannot be bound anew: a value that the shape leaves out is bound
 * nowhere, so it may have decided something; or something is bound that the query does not say, so it was made of what it says.
 */
function numbersOf(slots: readonly Slot[], { values, written }: StatementShape): readonly (number | null)[] | null {
  const numbers = slots.map(({ origin, type, value }) => {
    const number = origin === null ? values.findIndex((it) => it.type === type && it.value === value) : -1;
    return number === -1 ? null : number;
  });
  const isMade = slots.some(
    ({ origin, type, value }, at) => origin === null && numbers[at] === null && !written.has(`${type} ${value}`),
  );
  if (isMade && values.length > 0) return null;
  return values.every((_, number) => numbers.includes(number)) ? numbers : null;
}

/** The plan with the values of this statement and of this user. */
function bindAnew(
  { compiled, numbers }: Plan,
  { values }: StatementShape,
  rights: Rights,
  owners: readonly PolicyOwner[],
): CompiledQuery {
  const ofPolicies = new Map(owners.flatMap((owner) => [...rights.values(owner)]));
  const slots = compiled.slots.map((slot, at): Slot => {
    const number = numbers[at] ?? null;
    const ofQuery = number === null ? undefined : values[number];
    if (ofQuery !== undefined) return { ...slot, value: ofQuery.value };
    if (slot.origin === null) return slot;
    const value = ofPolicies.get(slot.origin);
    if (value === undefined) throw new Error(`no value for ${slot.origin}`);
    return { ...slot, value: boundAs(slot, value) };
  });
  return { ...compiled, slots, parameters: slots.map(({ value }) => value) };
}

/** A policy's value as the slot takes it. */
function boundAs({ type, pattern }: Slot, value: Parameters<typeof toParameter>[0]): Parameter {
  if (pattern !== null) return likePattern(String(value), pattern);
  return toParameter(value, type === 'time' ? 'time' : 'string').value;
}
