/** An agent over a data model whose one query takes hours, so that stopping it can be timed. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from '../../packages/server/src/context.ts';
import type { Warehouse } from '../../packages/server/src/warehouse/warehouse.ts';

const model = `
cubes:
  - name: endless
    sql: SELECT a.range AS id FROM range(10000000) a, range(10000000) b WHERE hash(a.range * b.range) = 7
    dimensions: [{ name: id, sql: "{CUBE}.id", type: number, primary_key: true }]
    measures: [{ name: count, type: count }]
    access_policy: [{ group: merchant, row_level: { allow_all: true } }]
`;

/** The input of the tool call that runs it. */
export const endlessQuery = {
  sqlQuery: 'SELECT MEASURE(count) FROM endless',
  queryTitle: 'Count',
  description: '',
  userRequest: 'count',
};

/** Adds deployment and agent 9 to the demo's account, unless they are there. @returns the deployment's warehouse */
export async function addEndlessAgent({ db, config, deployments }: Context): Promise<Warehouse> {
  const folder = join(config.dataFolder, 'endless-model');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'endless.yml'), model);
  const [account] = await db.selectFrom('accounts').select('id').execute();
  const of = { id: 9, account_id: account?.id ?? 0, name: 'endless' };
  const warehouse = JSON.stringify({ type: 'duckdb', folder: join(config.dataFolder, 'storefront') });
  await db
    .insertInto('deployments')
    .values({ ...of, model_folder: folder, warehouse })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await db
    .insertInto('agents')
    .values({ ...of, deployment_id: 9 })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return (await deployments.get(of.account_id, 9, null)).warehouse;
}
