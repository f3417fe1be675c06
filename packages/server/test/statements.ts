/** The statements that a piece of code sends, as texts: without the begin and the commit of a transaction. */
import type { Kysely, KyselyPlugin, RootOperationNode } from 'kysely';
import { PostgresQueryCompiler } from 'kysely';
import type { Schema } from '../src/store/schema.ts';

/** A way into the same store that notes every statement. */
export function noteStatements(db: Kysely<Schema>): { readonly db: Kysely<Schema>; readonly texts: string[] } {
  const texts: string[] = [];
  const plugin: KyselyPlugin = {
    transformQuery({ node, queryId }): RootOperationNode {
      texts.push(new PostgresQueryCompiler().compileQuery(node, queryId).sql);
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  return { db: db.withPlugin(plugin), texts };
}
