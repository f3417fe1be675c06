/** What of a data model a user may see: all of it, or what matches a search. */
import type { RelationMetadata } from '@inlay/semantic/policy/metadata.ts';
import { visibleMetadata } from '@inlay/semantic/policy/visible-metadata.ts';
import { openDoor, type QueryDependencies, type QueryScope } from './run-query.ts';

/**
 * The relations and members that the user may see, views before cubes.
 * @throws InlayError UNAUTHENTICATED or NOT_FOUND
 */
export async function readMetadata(
  dependencies: QueryDependencies,
  query: QueryScope,
): Promise<readonly RelationMetadata[]> {
  const { deployment, subject } = await openDoor(dependencies, query);
  return visibleMetadata(deployment.dataModel, subject);
}

/**
 * The same, but only the relations that match `searchQuery`, best first; empty when nothing matches.
 * @throws InlayError UNAUTHENTICATED or NOT_FOUND
 */
export async function searchMetadata(
  dependencies: QueryDependencies,
  query: QueryScope & { readonly searchQuery: string },
): Promise<readonly RelationMetadata[]> {
  const { deployment, subject } = await openDoor(dependencies, query);
  return deployment.searchRelations(visibleMetadata(deployment.dataModel, subject), query.searchQuery);
}
