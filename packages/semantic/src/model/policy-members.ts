/** Which members an entry of a policy grants in full, and which masked. */
import type { PolicyEntryFile } from './policy-shapes.ts';
import { didYouMean } from './read-shape.ts';
import type { Reporter } from './report.ts';

/** The members that a policy may name. */
export interface PolicyMembers {
  readonly members: ReadonlySet<string>;
  /** Whether a name may be one that does not load, which was reported. */
  readonly isLost: (name: string) => boolean;
}

/** The members of an entry. */
export interface SplitMembers {
  readonly members: ReadonlySet<string>;
  readonly maskedMembers: ReadonlySet<string>;
  /** Those that `excludes` names, less those that are masked. */
  readonly excludedMembers: ReadonlySet<string>;
}

/**
 * Splits the members that an entry grants. Who is named by both lists is masked where `member_level` means it by `"*"` only, and in
 * full where `member_masking` does; to be named twice by name is an error.
 */
export function splitMembers(entry: PolicyEntryFile, owner: PolicyMembers, report: Reporter): SplitMembers {
  const level = selected(entry.member_level, '*', owner, report.under('member_level'));
  const { excludes = [] } = entry.member_level ?? {};
  const excluded = excludes === '*' ? owner.members : new Set(excludes);
  if (entry.member_masking === undefined) {
    return { members: level.members, maskedMembers: new Set(), excludedMembers: excluded };
  }
  const masking = selected(
    entry.member_masking,
    entry.member_masking.excludes === undefined ? [] : '*',
    owner,
    report.under('member_masking'),
  );
  if (
    !level.isNamed &&
    !masking.isNamed &&
    entry.member_level !== undefined &&
    level.members.size === owner.members.size
  ) {
    report.error(
      ['member_masking'],
      'the entry grants every member in full, and masks every member; leave one of them out',
      'key',
    );
  }
  const members = new Set(level.members);
  const maskedMembers = new Set<string>();
  for (const name of masking.members) {
    if (!level.members.has(name)) maskedMembers.add(name);
    else if (level.isNamed && masking.isNamed) {
      report.error(['member_masking'], `the entry grants ${name} both in full and masked`, 'key');
    } else if (!level.isNamed && (masking.isNamed || entry.member_level === undefined)) {
      maskedMembers.add(name);
      members.delete(name);
    }
  }
  return { members, maskedMembers, excludedMembers: excluded.difference(maskedMembers) };
}

/** `isNamed`: the members are named one by one. */
function selected(
  list: PolicyEntryFile['member_level'],
  preset: '*' | readonly string[],
  { members, isLost }: PolicyMembers,
  report: Reporter,
): { readonly members: ReadonlySet<string>; readonly isNamed: boolean } {
  const { includes = preset, excludes = [] } = list ?? {};
  for (const [key, names] of Object.entries({ includes, excludes })) {
    for (const [index, name] of names === '*' ? [] : [...names].entries()) {
      if (members.has(name) || isLost(name)) continue;
      report.error([key, index], `no member "${name}" here${didYouMean(name, members)}`);
    }
  }
  const included = includes === '*' ? members : new Set(includes);
  if (excludes === '*') return { members: new Set(), isNamed: false };
  return { members: included.difference(new Set(excludes)), isNamed: includes !== '*' };
}
