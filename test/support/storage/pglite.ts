import { PGlite } from "@electric-sql/pglite";
import { VALUE_PARSERS } from "../../../storage/engine/postgres-pool.ts";
import type { PostgresPool, PostgresResult } from "../../../storage/engine/postgres-pool.ts";
import { createSemaphore } from "../../../storage/locks.ts";
import type { SqlValue } from "../../../storage/engine/database.ts";

/** An embedded PostgreSQL (compiled to WebAssembly). It starts in a second; a schema of its own takes a millisecond. */
export interface PgliteServer {
  /** An empty schema, dropped at the pool's end. The server's one connection goes to one borrower at a time. */
  createPool(): Promise<PostgresPool>;
}

/** Starts the engine; it ends with the process. */
export async function createPgliteServer(): Promise<PgliteServer> {
  const server = await PGlite.create();
  const withConnection = createSemaphore({ permits: 1 });
  let schemas = 0;
  let current: string | undefined;

  /** Lends the connection until `released`; the next borrower may be of another schema. */
  function lend(schema: string): ReturnType<PostgresPool["connect"]> {
    const released = Promise.withResolvers<void>();
    const lent = Promise.withResolvers<Awaited<ReturnType<PostgresPool["connect"]>>>();
    withConnection(async () => {
      if (current !== schema) await server.exec(`SET search_path TO ${schema}`);
      current = schema;
      lent.resolve({
        query: (text, values) => query(server, text, values),
        release: () => released.resolve(),
      });
      await released.promise;
    }).catch(lent.reject);
    return lent.promise;
  }

  return {
    async createPool() {
      const schema = `schema_${++schemas}`;
      await withConnection(() => server.exec(`CREATE SCHEMA ${schema}`));
      return {
        isSingle: true,
        connect: () => lend(schema),
        end: async () => {
          await withConnection(() => server.exec(`DROP SCHEMA ${schema} CASCADE`));
        },
      };
    },
  };
}

async function query(server: PGlite, text: string, values?: SqlValue[]): Promise<PostgresResult> {
  const options = { parsers: { ...VALUE_PARSERS } };
  const results =
    values === undefined
      ? await server.exec(text, options)
      : [await server.query<object>(text, values, options)];
  const last = results.at(-1);
  return { rows: last?.rows ?? [], changes: last?.affectedRows ?? 0 };
}
