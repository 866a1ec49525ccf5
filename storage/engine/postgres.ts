import { StorageError } from "./database.ts";
import type { Database } from "./database.ts";

/** A database on a PostgreSQL server. */
export interface PostgresDatabase extends Database {
  readonly dialect: "postgres";
  /** Runs `work` while no other daemon runs one on the same database. */
  exclusively<T>(work: () => Promise<T>): Promise<T>;
}

export interface PostgresOptions {
  readonly url: string;
  readonly clock: () => number;
  readonly onStuck?: ((message: string) => void) | undefined;
}

/** Connects to a server. */
export function openPostgres(_options: PostgresOptions): Promise<PostgresDatabase> {
  throw new StorageError("failed", "PostgreSQL is not supported by this build");
}
