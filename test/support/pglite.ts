import { PGlite } from "@electric-sql/pglite";
import { VALUE_PARSERS } from "../../storage/engine/postgres-pool.ts";
import type { PostgresPool, PostgresResult } from "../../storage/engine/postgres-pool.ts";
import { createTurns } from "../../storage/engine/turns.ts";
import type { SqlValue } from "../../storage/engine/database.ts";

/** An embedded PostgreSQL (compiled to WebAssembly) that lends its one connection to one borrower at a time. */
export interface PglitePool extends PostgresPool {
  /** Throws all tables away: a new server takes a second, a new schema a millisecond. */
  clear(): Promise<void>;
}

/** Starts the engine. `end` of the pool leaves it running, for the next database of the same file of tests. */
export async function createPglitePool(): Promise<PglitePool> {
  const server = await PGlite.create();
  const inTurn = createTurns(1);
  return {
    isSingle: true,
    connect() {
      const released = Promise.withResolvers<void>();
      const lent = Promise.withResolvers<Awaited<ReturnType<PostgresPool["connect"]>>>();
      const client = {
        query: (text: string, values?: SqlValue[]) => query(server, text, values),
        release: () => released.resolve(),
      };
      inTurn(async () => {
        lent.resolve(client);
        await released.promise;
      }).catch(lent.reject);
      return lent.promise;
    },
    end: async () => {},
    clear: async () => {
      await server.exec("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
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
