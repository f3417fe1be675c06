/** What a member is made of: the members that its SQL refers to, and what those refer to in turn. */
import type { CubeMember, DataModel, DimensionReference, SqlTemplate } from '../model/data-model.ts';

/** A member of a cube, wherever it is declared. */
export type MemberReference = DimensionReference;

/** All members that a member reads, directly or through others, without itself; by `cube.member`. */
export type MemberReads = (cube: string, member: string) => ReadonlyMap<string, MemberReference>;

const known = new WeakMap<DataModel, MemberReads>();

/** The reads of a model's members. They are looked up once per model and member: a model never changes. */
export function memberReads(model: DataModel): MemberReads {
  const before = known.get(model);
  if (before !== undefined) return before;
  const memory = new Map<string, ReadonlyMap<string, MemberReference>>();
  const reads: MemberReads = (cube, member) => {
    const name = `${cube}.${member}`;
    const found = memory.get(name);
    if (found !== undefined) return found;
    const all = new Map<string, MemberReference>();
    const queue: MemberReference[] = [{ cube, member }];
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      const declared = model.cubes.get(next.cube)?.members.get(next.member);
      for (const read of declared === undefined ? [] : directReads(declared)) {
        const key = `${read.cube}.${read.member}`;
        if (all.has(key)) continue;
        all.set(key, read);
        queue.push(read);
      }
    }
    all.delete(name);
    memory.set(name, all);
    return all;
  };
  known.set(model, reads);
  return reads;
}

const ofTemplate = (sql: SqlTemplate | null): readonly MemberReference[] =>
  (sql ?? []).flatMap((part) => (part.kind === 'member' ? [{ cube: part.cube, member: part.member }] : []));

/** The members that the SQL of a member names, its own cube's included. */
export function directReads(member: CubeMember): readonly MemberReference[] {
  if (member.kind === 'segment') return ofTemplate(member.sql);
  if (member.kind === 'dimension') {
    const { source } = member;
    switch (source.kind) {
      case 'sql':
        return ofTemplate(source.sql);
      case 'geo':
        return [...ofTemplate(source.latitude), ...ofTemplate(source.longitude)];
      case 'sub-query':
        return [{ cube: source.cube, member: source.measure }];
      case 'switch':
        return [];
    }
  }
  switch (member.aggregation) {
    case 'number':
      return ofTemplate(member.sql);
    case 'multi_stage': {
      const { sql, grain, timeShifts } = member;
      const stages =
        'cases' in sql
          ? [sql.switch, ...sql.cases.flatMap((it) => ofTemplate(it.sql)), ...ofTemplate(sql.otherwise)]
          : ofTemplate(sql);
      const shifted = timeShifts.flatMap(({ timeDimension }) => (timeDimension === null ? [] : [timeDimension]));
      return [...stages, ...(grain.kind === 'query' ? [] : grain.dimensions), ...shifted];
    }
    default:
      return [...ofTemplate(member.sql), ...member.filters.flatMap(ofTemplate)];
  }
}
