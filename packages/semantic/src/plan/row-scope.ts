/** Where SQL over joined rows is being emitted: over which tree, for which request, and what it has come to need. */
import type { Interval } from '../model/data-model.ts';
import type { RowFilter } from '../policy/row-filter.ts';
import type { ResolvedExpression } from '../query/resolved-expression.ts';
import type { GroupRequest, GroupScope } from './group-scope.ts';
import type { JoinTree, NodePath } from './join-tree.ts';
import { switchUses } from './switch-dimension.ts';

/** What SQL over joined rows needs to stand beside it in FROM. */
export interface Needs {
  readonly nodes: Set<NodePath>;
  /** Columns that the leaf of a node has beside its table's own: their SQL by their quoted names. */
  readonly columns: Map<NodePath, Map<string, string>>;
  /** Further tables by their quoted aliases, with the whole of their join; each has one row, or none, for a joined row. */
  readonly extras: Map<string, string>;
}

/** No needs yet. */
export const newNeeds = (): Needs => ({ nodes: new Set(), columns: new Map(), extras: new Map() });

/** Adds needs to others. */
export function addNeeds(to: Needs, from: Needs): void {
  for (const node of from.nodes) to.nodes.add(node);
  for (const [alias, join] of from.extras) to.extras.set(alias, join);
  for (const [path, columns] of from.columns) {
    const known = to.columns.get(path) ?? new Map<string, string>();
    for (const [name, sql] of columns) known.set(name, sql);
    to.columns.set(path, known);
  }
}

/** A request as one tree sees it. */
export interface TreeRequest {
  readonly groups: GroupScope;
  readonly tree: JoinTree;
  /** The condition of the query, as sub-queries see it. */
  readonly where: ResolvedExpression | null;
  /** By node of this tree, a space, and the dimension's name. */
  readonly shifts: ReadonlyMap<string, Interval>;
  /** What a `switch` dimension stands for, by node, a space, and name: a value that the query fixes, or each in turn, as a key. */
  readonly switches: ReadonlyMap<string, { readonly fixed: string } | 'key'>;
  /** The view's masks by node, a space, and name: the rows that show the value, or null. */
  readonly viewMasks: ReadonlyMap<string, RowFilter | null>;
}

/** Where a piece of SQL over joined rows is being emitted. */
export interface RowScope {
  readonly request: TreeRequest;
  readonly needs: Needs;
  /** What reads, as the asking user knows it, for messages: a member's name, say. */
  readonly reader: string;
  /** `asked`: for a member of the query, with masks and shifts; `real`: for joins, primary keys and policies. */
  readonly reads: 'asked' | 'real';
  /** Inside the leaf of a node, where columns that leaves add are not there yet. */
  readonly isInLeaf: boolean;
}

/** A scope for a member of the query. */
export const askedScope = (request: TreeRequest, reader: string, needs: Needs = newNeeds()): RowScope => ({
  request,
  needs,
  reader,
  reads: 'asked',
  isInLeaf: false,
});

/** The same place, for what reads values as they are. */
export const realScope = (scope: RowScope, reader = scope.reader): RowScope => ({ ...scope, reader, reads: 'real' });

/** A request as one tree sees it: the members that it names are found there, or have no meaning there. */
export function treeRequest(
  tree: JoinTree,
  groups: GroupScope,
  { keys, where, asked = where, shifts }: Pick<GroupRequest, 'keys' | 'where' | 'asked' | 'shifts'>,
): TreeRequest {
  const located = <Value>(
    byMember: Iterable<readonly [string, Value]>,
    { together, inDoubt }: { together(one: Value, other: Value): Value; readonly inDoubt: boolean } = {
      together: (one) => one,
      inDoubt: false,
    },
  ): ReadonlyMap<string, Value> => {
    const found = new Map<string, Value>();
    for (const [id, value] of byMember) {
      const [path = '', member = ''] = id.split(' ');
      const place = groups.locate(tree, path);
      const node = place.path ?? (inDoubt ? place.inDoubt : null) ?? null;
      if (node === null) continue;
      const known = found.get(`${node} ${member}`);
      found.set(`${node} ${member}`, known === undefined ? value : together(known, value));
    }
    return found;
  };
  return {
    groups,
    tree,
    where: asked,
    shifts: located(shifts),
    switches: located(switchUses(keys, where)),
    // Two paths of the view may be one node here: masked by both, it is shown in no row. What may be masked is.
    viewMasks: located(groups.access.viewMasks, { together: () => null, inDoubt: true }),
  };
}
