/** What a deployment says of its warehouse → that warehouse, open. Deployments that name the same connection share its pool. */
import { InlayError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { WarehouseSettings } from '../store/schema.ts';
import type { Connection, Connections } from './connections-file.ts';
import { openDuckDb } from './duckdb.ts';
import type { Warehouse } from './warehouse.ts';

/** Threads of a DuckDB instance of which nothing else is said. */
const duckDbThreads = 4;

/** Opens warehouses. Each is closed by whoever opened it. */
export interface WarehouseOpener {
  /** @throws InlayError NOT_READY when its files cannot be read, or the operator's file does not name its connection */
  open(settings: WarehouseSettings): Promise<Warehouse>;
}

interface Shared {
  readonly warehouse: Promise<Warehouse>;
  users: number;
}

/** @param connections of the operator's file */
export function createWarehouseOpener(connections: Connections, log: Log): WarehouseOpener {
  const shared = new Map<string, Shared>();

  const openShared = async (name: string): Promise<Warehouse> => {
    const connection = connections.get(name);
    if (connection === undefined) {
      const cause = new Error(`INLAY_WAREHOUSES names no connection ${JSON.stringify(name)}`);
      throw new InlayError('NOT_READY', 'The warehouse of a deployment is not configured.', { cause });
    }
    const entry = shared.get(name) ?? { warehouse: openConnection(connection, log), users: 0 };
    shared.set(name, entry);
    entry.users += 1;
    const leave = async (): Promise<void> => {
      entry.users -= 1;
      if (entry.users > 0) return;
      if (shared.get(name) === entry) shared.delete(name);
      await entry.warehouse.then(
        (open) => open.close(),
        () => undefined,
      );
    };
    try {
      const warehouse = await entry.warehouse;
      let isClosed = false;
      return {
        ...warehouse,
        async close() {
          if (isClosed) return;
          isClosed = true;
          await leave();
        },
      };
    } catch (error) {
      await leave();
      throw error;
    }
  };

  return {
    open: (settings) =>
      'connection' in settings
        ? openShared(settings.connection)
        : openDuckDb({ folder: settings.folder, threads: duckDbThreads }),
  };
}

/** Drivers are loaded only where the operator names such a connection. */
async function openConnection(connection: Connection, log: Log): Promise<Warehouse> {
  if (connection.type === 'duckdb') return openDuckDb(connection.settings);
  if (connection.type === 'postgres') return (await import('./postgres.ts')).openPostgres(connection, log);
  return (await import('./clickhouse.ts')).openClickHouse(connection);
}
