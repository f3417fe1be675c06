/** Reads from a store, without the server, what the calls of the kill suites have left in it. */
import { z } from 'zod';
import { type Query, queryPglite, queryPostgres } from '../raw-store.ts';
import { readParts, type StoredParts, userPrefix } from './calls.ts';

const users = z.array(
  z.object({ externalId: z.string(), email: z.string().nullable(), displayName: z.string().nullable() }),
);
const memberships = z.array(z.object({ externalId: z.string(), tenant: z.string(), name: z.string() }));
const values = z.array(z.object({ externalId: z.string(), tenant: z.string(), name: z.string(), value: z.unknown() }));
const definitions = z.array(z.object({ tenant: z.string(), name: z.string(), description: z.string().nullable() }));

async function read(query: Query): Promise<StoredParts> {
  const ours = `u.external_id like '${userPrefix}%'`;
  return readParts({
    users: users.parse(
      await query(
        `select external_id as "externalId", email, display_name as "displayName" from users u where ${ours}`,
      ),
    ),
    memberships: memberships.parse(
      await query(`select u.external_id as "externalId", coalesce(t.name, '') as tenant, g.name from user_groups m
        join users u on u.id = m.user_id join groups g on g.id = m.group_id
        left join embed_tenants t on t.id = g.embed_tenant_id where ${ours}`),
    ),
    values: values.parse(
      await query(`select u.external_id as "externalId", coalesce(t.name, '') as tenant, a.name, v.value
        from user_attribute_values v join users u on u.id = v.user_id join user_attributes a on a.id = v.attribute_id
        left join embed_tenants t on t.id = a.embed_tenant_id where ${ours}`),
    ),
    definitions: definitions.parse(
      await query(`select t.name as tenant, d.name, d.description from
        (select embed_tenant_id, name, description from groups union all
         select embed_tenant_id, name, description from user_attributes) d
        join embed_tenants t on t.id = d.embed_tenant_id`),
    ),
  });
}

/** What a PGlite folder holds whose process is dead. */
export const readPglite = (folder: string): Promise<StoredParts> => queryPglite(folder, read);

/** What a PostgreSQL database holds. */
export const readPostgres = (url: string): Promise<StoredParts> => queryPostgres(url, read);

/** Whether PostgreSQL still works for a server that is dead: a commit that was sent may still happen until it does not. */
export async function hasConnections(url: string): Promise<boolean> {
  const rows = await queryPostgres(url, (query) =>
    query(`select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
      and backend_type = 'client backend'`),
  );
  return rows.length > 0;
}
