/** JSON queries as calls of the data API send them. */
import { queriesMax } from '@inlay/contract/data.ts';
import { InlayError } from '../errors.ts';
import { isDeeperThan, jsonDepthMax } from '../json-depth.ts';

/** JSON of a URL, no deeper than that of a body may be. @throws InlayError QUERY_INVALID */
export function jsonOf(text: string): unknown {
  const value = parse(text);
  if (isDeeperThan(jsonDepthMax, value)) {
    throw new InlayError('QUERY_INVALID', `The query has more than ${jsonDepthMax} levels.`);
  }
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InlayError('QUERY_INVALID', 'The query is not JSON.');
  }
}

/** The queries of one call. @throws InlayError QUERY_INVALID for none, or too many */
export function queriesOf(query: unknown): readonly unknown[] {
  const queries: readonly unknown[] = Array.isArray(query) ? query : [query];
  if (queries.length > 0 && queries.length <= queriesMax) return queries;
  throw new InlayError('QUERY_INVALID', `A call has 1 to ${queriesMax} queries.`);
}
