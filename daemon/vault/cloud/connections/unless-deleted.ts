import { isConflict, type Queries } from "../../../../storage/engine/database.ts";
import {
  findConnectionById,
  type Connection,
} from "../../../../storage/tables/vault/connections.ts";
import { AppError } from "../../../errors.ts";

/** Runs work that writes rows of a connection. Throws `not_found` when the connection was deleted meanwhile. */
export async function unlessDeleted<T>(
  db: Queries,
  connection: Connection,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isConflict(error) || (await findConnectionById(db, connection.id)) !== undefined)
      throw error;
    throw new AppError("not_found", "Connection not found", { cause: error });
  }
}
