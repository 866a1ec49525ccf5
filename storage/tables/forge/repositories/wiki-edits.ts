import type { Queries, Transaction } from "../../../engine/database.ts";
import { generated, id, now, oneOf, text } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import type { RepositoryId, UserId } from "../ids.ts";

const wikiEdits = defineTable("forge_wiki_edits", {
  id: generated(id<number>()),
  repositoryId: id<RepositoryId>(),
  actorId: id<UserId>(),
  /** The branch of the wiki, and the commit to which it moves. */
  ref: text(),
  commitId: text(),
  action: oneOf(["created", "edited", "deleted"]),
  page: text(),
  comment: text(),
  createdAt: now(),
});
/** The journal's entry of a change of a wiki page whose event is not published yet. Times are epoch milliseconds. */
export type WikiEdit = RecordOf<typeof wikiEdits>;

/** Adds an entry to the journal and returns its id. */
export async function insertWikiEdit(
  tx: Transaction,
  edit: Omit<WikiEdit, "id" | "createdAt">,
): Promise<number> {
  return (await wikiEdits.insert(tx, edit)).id;
}

/** Returns all entries, the oldest first. */
export function listWikiEdits(db: Queries): Promise<WikiEdit[]> {
  return wikiEdits.list(db, {}, { order: "id" });
}

export function findWikiEdit(db: Queries, editId: number): Promise<WikiEdit | undefined> {
  return wikiEdits.find(db, { id: editId });
}

/** Deletes an entry and returns whether it existed. */
export async function deleteWikiEdit(db: Queries, editId: number): Promise<boolean> {
  return (await wikiEdits.delete(db, { id: editId })) > 0;
}
