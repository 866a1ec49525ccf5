import type { z } from "zod";
import type { SqlValue } from "../../engine/database.ts";

// Ids of rows. A brand prevents the use of one table's id as another's; endpoints brand the ids in their paths.

/** An account of the vault. */
export type AccountId = string & z.$brand<"AccountId">;
/** A user's connection to a storage. */
export type ConnectionId = string & z.$brand<"ConnectionId">;
/** A document, and its upload until then. */
export type DocumentId = string & z.$brand<"DocumentId">;

/** Returns the id in a column that references an account. */
export const toAccountId = (column: SqlValue | undefined): AccountId => String(column) as AccountId;
/** Returns the id in a column that references a connection. */
export const toConnectionId = (column: SqlValue | undefined): ConnectionId =>
  String(column) as ConnectionId;
/** Returns the id in a new UUID, or in a column that references a document. */
export const toDocumentId = (text: SqlValue | undefined): DocumentId => String(text) as DocumentId;
