import { z } from "zod";
import type { Queries, Transaction } from "../../../engine/database.ts";
import { id, json, text, unread } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import type { RepositoryId } from "../ids.ts";
import { repositories } from "./repositories.ts";

const languages = defineTable("forge_repository_languages", {
  repositoryId: unread(id<RepositoryId>()),
  /** The commit that was counted. */
  commitId: text(),
  sizes: json(z.record(z.string(), z.int())),
});
/** The bytes of a repository by language. */
export type RepositoryLanguages = RecordOf<typeof languages>;

/** Returns the latest language statistics; undefined for a repository without any yet. */
export const findLanguages = (
  db: Queries,
  repositoryId: RepositoryId,
): Promise<RepositoryLanguages | undefined> => languages.find(db, { repositoryId });

/** Replaces the language statistics. `language` is the main language, or empty. */
export async function saveLanguages(
  tx: Transaction,
  repositoryId: RepositoryId,
  { commitId, sizes }: RepositoryLanguages,
  language: string,
): Promise<void> {
  await languages.upsert(
    tx,
    { repositoryId, commitId, sizes },
    "ON CONFLICT (repository_id) DO UPDATE SET commit_id = excluded.commit_id, sizes = excluded.sizes",
  );
  await repositories.update(tx, { id: repositoryId }, { language });
}
