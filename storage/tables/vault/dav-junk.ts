import type { Queries, Transaction } from "../../engine/database.ts";
import { bytes, integer, text, textId } from "../columns.ts";
import { sql } from "../condition.ts";
import { defineTable, type RecordOf } from "../table.ts";
import type { AccountId } from "./ids.ts";

const junk = defineTable("vault_dav_junk", {
  userId: textId<AccountId>(),
  /** SHA-256 of the id of the connection, or `documents`, and the path below it. */
  placeHash: text(),
  content: bytes(),
  /** Epoch milliseconds. */
  modifiedAt: integer(),
});
/** A file in which Finder or Explorer notes how it shows a folder. */
export type DavJunk = RecordOf<typeof junk>;

/** The bytes of a row, with what a database adds to it. */
const COST = "LENGTH(content) + 512";

/** Returns the file of a user at a place. */
export const findDavJunk = (
  db: Queries,
  userId: AccountId,
  placeHash: string,
): Promise<DavJunk | undefined> => junk.find(db, { userId, placeHash });

/** Writes a file in the place of an earlier one, and deletes the oldest files of its user until the others have at most `bytesMax`. */
export async function putDavJunk(tx: Transaction, file: DavJunk, bytesMax: number): Promise<void> {
  await junk.upsert(
    tx,
    file,
    "ON CONFLICT (user_id, place_hash) DO UPDATE SET content = excluded.content, modified_at = excluded.modified_at",
  );
  const { userId, placeHash } = file;
  const others = await tx.all<{ place_hash: string; cost: number }>(
    `SELECT place_hash, ${COST} AS cost FROM vault_dav_junk
     WHERE user_id = ? AND place_hash <> ? ORDER BY modified_at DESC, place_hash`,
    userId,
    placeHash,
  );
  let sum = 0;
  const kept = others.filter(({ cost }) => (sum += cost) <= bytesMax).length;
  const excess = others.slice(kept).map((each) => each.place_hash);
  if (excess.length > 0) await junk.delete(tx, { userId, placeHash: excess });
}

/** Deletes a file; returns whether it existed. */
export const deleteDavJunk = async (
  db: Queries,
  userId: AccountId,
  placeHash: string,
): Promise<boolean> => (await junk.delete(db, { userId, placeHash })) > 0;

/** Deletes the files of the users who have written least recently, until those of all users have at most `bytesMax`. */
export async function boundDavJunk(db: Queries, bytesMax: number): Promise<void> {
  const users = await db.all<{ user_id: AccountId; cost: number; latest: number }>(
    `SELECT user_id, CAST(SUM(${COST}) AS BIGINT) AS cost, MAX(modified_at) AS latest
     FROM vault_dav_junk GROUP BY user_id ORDER BY latest DESC, user_id`,
  );
  let sum = 0;
  for (const { user_id: userId, cost, latest } of users) {
    sum += Number(cost);
    if (sum > bytesMax)
      await junk.delete(db, sql`user_id = ${userId} AND modified_at <= ${latest}`);
  }
}
