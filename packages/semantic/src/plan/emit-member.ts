/**
 * Members and SQL fragments of the model over joined rows → SQL text of a dialect. What a user may not read is replaced where it is
 * read: a mask stands in the leaf, so that no expression over it gets at the value.
 */
import type { Dimension, Interval, Mask, Segment, SqlTemplate } from '../model/data-model.ts';
import type { RowFilter } from '../policy/row-filter.ts';
import { SemanticError } from '../semantic-error.ts';
import { emitRowFilter } from './emit-row-filter.ts';
import { type NodePath, pathOf } from './join-tree.ts';
import { maskValue } from './mask-value.ts';
import { newNeeds, type RowScope, realScope } from './row-scope.ts';
import { shortName } from './short-name.ts';
import { subQuerySelect } from './sub-query.ts';
import { emitSwitch } from './switch-dimension.ts';
import { asType } from './typed-value.ts';
import { isMaskedElsewhere } from './view-masks.ts';

/** A member that is a value of one row. */
export type RowMember = Dimension | Segment;

/**
 * The SQL of a fragment that stands in the cube at `path`. What it reads is added to the scope's needs.
 * References end and stay few: loading a model checks that.
 */
export function emitTemplate(sql: SqlTemplate, path: NodePath, scope: RowScope): string {
  const { tree, groups } = scope.request;
  const { dialect } = groups.context;
  scope.needs.nodes.add(path);
  let text = '';
  for (const part of sql) {
    if (part.kind === 'text') text += part.text;
    else if (part.kind === 'literal') text += dialect.literal(part.value);
    else {
      const target = tree.refer(path, part.cube, scope.reader);
      scope.needs.nodes.add(target);
      if (part.kind === 'cube') text += dialect.quote(tree.alias(target));
      else {
        const member = tree.cube(target).members.get(part.member);
        if (member === undefined || member.kind === 'measure') {
          throw new Error(`${part.cube}.${part.member} is no value of a row`);
        }
        text += `(${emitValue(member, target, scope)})`;
      }
    }
  }
  return text;
}

/** The value of a member of the cube at `path`, of whatever type its SQL has; masked where the user may not read it. */
function emitValue(member: RowMember, path: NodePath, scope: RowScope): string {
  scope.needs.nodes.add(path);
  const masked = scope.reads === 'real' ? null : emitMasked(member, path, scope);
  const sql = masked ?? emitSource(member, path, scope);
  const shift = shiftOf(member, path, scope);
  return shift === null ? sql : shifted(member, sql, shift, scope);
}

/** The value as the model declares it, without a mask of its own. */
function emitSource(member: RowMember, path: NodePath, scope: RowScope): string {
  if (member.kind === 'segment') return emitTemplate(member.sql, path, scope);
  const { source } = member;
  const { dialect } = scope.request.groups.context;
  switch (source.kind) {
    case 'sql':
      return emitTemplate(source.sql, path, scope);
    case 'geo': {
      const [latitude, longitude] = [source.latitude, source.longitude].map((sql) =>
        dialect.text(`(${emitTemplate(sql, path, scope)})`),
      );
      return dialect.call('||', [dialect.call('||', [latitude ?? '', dialect.literal(',')]), longitude ?? '']);
    }
    case 'sub-query': {
      const { tree } = scope.request;
      const { extras } = scope.needs;
      const alias = dialect.quote(shortName(`${tree.alias(path)} ${member.name}`));
      if (!extras.has(alias)) {
        const own = realScope(scope);
        const on = tree.cube(path).primaryKey.map((key, at) => `${emitTyped(key, path, own)} = ${alias}.k${at}`);
        extras.set(alias, `LEFT JOIN (${subQuerySelect(source, path, scope)}) AS ${alias} ON ${on.join(' AND ')}`);
      }
      return `${alias}.m0`;
    }
    case 'switch':
      return emitSwitch(member, source.values, path, scope);
  }
}

/** The value of a member of the cube at `path` as its type says; times in UTC. */
export const emitTyped = (member: RowMember, path: NodePath, scope: RowScope): string =>
  asType(emitValue(member, path, scope), member.type, scope.request.groups.context.dialect);

/** The value of a time dimension as the wall clock in a zone shows it. */
export function emitLocalTime(member: RowMember, path: NodePath, scope: RowScope, timezone: string): string {
  const { dialect } = scope.request.groups.context;
  const shift = shiftOf(member, path, scope);
  if (shift === null) return dialect.localTime(emitTyped(member, path, scope), timezone);
  // Moved on the wall clock: a month from the first of a month is the first of the next, in every zone.
  const unshifted = { ...scope, request: { ...scope.request, shifts: new Map() } };
  return dialect.addInterval(dialect.localTime(emitTyped(member, path, unshifted), timezone), shift);
}

function shiftOf(member: RowMember, path: NodePath, scope: RowScope): Interval | null {
  if (scope.reads === 'real' || member.type !== 'time' || scope.request.shifts.size === 0) return null;
  return scope.request.shifts.get(`${path} ${member.name}`) ?? null;
}

function shifted(member: RowMember, sql: string, shift: Interval, scope: RowScope): string {
  const { dialect, timezone } = scope.request.groups.context;
  const time = dialect.time(`(${sql})`);
  if (timezone === 'UTC' || (member.kind === 'dimension' && member.isLocalTime))
    return dialect.addInterval(time, shift);
  return dialect.utcTime(dialect.addInterval(dialect.localTime(time, timezone), shift), timezone);
}

/** The value of a member that the user may not read in every row; null: nothing stands in its place. */
function emitMasked(member: RowMember, path: NodePath, scope: RowScope): string | null {
  const { groups, tree, viewMasks } = scope.request;
  const inCube = groups.access.cube(tree.cube(path)).masks.get(member.name);
  const named = viewMasks.get(`${path} ${member.name}`);
  const inView = named === undefined && isMaskedElsewhere(member, tree, path, groups) ? null : named;
  if (inCube === undefined && inView === undefined) return null;
  const { dialect } = groups.context;
  const hidden = () => emitMask(member, path, scope);
  /** A column that the leaf gets; inside the leaf, what would be in it. */
  const column = (kind: string, sql: () => string): string => {
    if (scope.isInLeaf) return sql();
    const name = dialect.quote(shortName(`${kind} ${member.name}`));
    const columns = scope.needs.columns.get(path) ?? new Map<string, string>();
    scope.needs.columns.set(path, columns);
    if (!columns.has(name)) columns.set(name, sql());
    return `${dialect.quote(tree.alias(path))}.${name}`;
  };
  // A view's rows are joined rows: inside a leaf there are none to look at.
  if (inCube === null || inView === null || (inView !== undefined && scope.isInLeaf)) return column('masked', hidden);
  /** A value where a condition holds, else the mask; a null needs no type of its own beside the value's. */
  const either = (condition: string, value: string, otherwise: () => string): string => {
    const isNull = member.mask === null || (member.mask.kind === 'literal' && member.mask.value === null);
    if (isNull) return `CASE WHEN ${condition} THEN ${value} END`;
    const mask = otherwise();
    // Exact where both are: as a double a long key would be its neighbours, too.
    const isAlike = member.type !== 'number' || isShortCount(member.mask);
    const kind = (sql: string, of: string) =>
      isAlike || dialect.sameKind === null ? sql : dialect.sameKind(sql, [of]);
    return `CASE WHEN ${condition} THEN ${kind(value, mask)} ELSE ${kind(mask, value)} END`;
  };
  // Where it is shown, what it reads may be masked in turn.
  let shown = inCube === undefined ? asType(emitSource(member, path, scope), member.type, dialect) : null;
  if (shown === null && inCube !== undefined) {
    const isShown = () => emitCubeFilter(inCube, path, leafScope(scope));
    const inLeaf = leafScope(scope);
    const real = asType(emitSource(member, path, inLeaf), member.type, dialect);
    const isOwn = inLeaf.needs.extras.size === 0 && [...inLeaf.needs.nodes].every((node) => node === path);
    shown = isOwn
      ? column('masked', () => either(isShown(), real, hidden))
      : either(column('full', isShown), asType(emitSource(member, path, scope), member.type, dialect), () =>
          column('mask', hidden),
        );
  }
  if (inView === undefined) return shown;
  return either(emitViewFilter(inView, scope), shown ?? 'NULL', () => column('mask', hidden));
}

/** Whether a mask stands beside a number of any kind, those without signs too. */
const isShortCount = (mask: Mask | null): boolean =>
  mask?.kind === 'literal' && Number.isInteger(mask.value) && Number(mask.value) >= 0 && Number(mask.value) < 1e9;

function emitMask(member: RowMember, path: NodePath, scope: RowScope): string {
  const { dialect } = scope.request.groups.context;
  if (member.mask?.kind === 'sql') {
    return asType(emitTemplate(member.mask.sql, path, realScope(leafScope(scope))), member.type, dialect);
  }
  return maskValue(member.mask?.value ?? null, member.type, dialect);
}

const leafScope = (scope: RowScope): RowScope => ({ ...scope, needs: newNeeds(), isInLeaf: true });

/** The SQL of a cube's row filter, inside its leaf. @throws Error when it reads another cube: loading a model checks that */
export function emitCubeFilter(filter: RowFilter, path: NodePath, scope: RowScope): string {
  const { tree, groups } = scope.request;
  const own = realScope(leafScope(scope), 'An access policy');
  const sql = emitRowFilter(filter, groups.context, (name) => {
    const member = tree.cube(path).members.get(name);
    if (member?.kind !== 'dimension') throw new Error('a row filter names no dimension');
    return { sql: emitTyped(member, path, own), type: member.type };
  });
  if (own.needs.extras.size > 0 || [...own.needs.nodes].some((node) => node !== path)) {
    throw new Error(`the row filter of ${tree.cube(path).name} reads another cube`);
  }
  return sql;
}

/** The SQL of a filter over members of the view, on the joined row. @throws SemanticError QUERY_NOT_PLANNABLE */
export function emitViewFilter(filter: RowFilter, scope: RowScope): string {
  const { tree, groups } = scope.request;
  const real = realScope(scope, 'An access policy');
  return emitRowFilter(filter, groups.context, (name) => {
    const found = groups.access.viewMember(name);
    if (found?.member.kind !== 'dimension') throw new Error('a row filter names no dimension');
    const { path } = groups.locate(tree, pathOf(found.path));
    if (path === null) {
      throw new SemanticError(
        'QUERY_NOT_PLANNABLE',
        `${scope.reader} cannot be asked here: an access policy reads data that no join leads to, or more than one way of joins.`,
      );
    }
    return { sql: emitTyped(found.member, path, real), type: found.member.type };
  });
}
