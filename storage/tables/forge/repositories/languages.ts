import { z } from "zod";
import type { Queries, Transaction } from "../../../engine/database.ts";
import { parseColumn } from "../../../engine/json-column.ts";
import type { RepositoryId } from "../ids.ts";

/** The bytes of a repository by language. */
export interface RepositoryLanguages {
  /** The commit that was counted. */
  readonly commitId: string;
  readonly sizes: Readonly<Record<string, number>>;
}

const sizesSchema = z.record(z.string(), z.int());

/** Returns the latest language statistics; undefined for a repository without any yet. */
export async function findLanguages(
  db: Queries,
  repositoryId: RepositoryId,
): Promise<RepositoryLanguages | undefined> {
  const row = await db.get<{ commit_id: string; sizes: string }>(
    "SELECT commit_id, sizes FROM forge_repository_languages WHERE repository_id = ?",
    repositoryId,
  );
  return (
    row && {
      commitId: row.commit_id,
      sizes: parseColumn(sizesSchema, row.sizes, "forge_repository_languages.sizes"),
    }
  );
}

/** Replaces the language statistics. `language` is the main language, or empty. */
export async function saveLanguages(
  tx: Transaction,
  repositoryId: RepositoryId,
  { commitId, sizes }: RepositoryLanguages,
  language: string,
): Promise<void> {
  await tx.run(
    `INSERT INTO forge_repository_languages (repository_id, commit_id, sizes) VALUES (?, ?, ?)
     ON CONFLICT (repository_id) DO UPDATE SET commit_id = excluded.commit_id, sizes = excluded.sizes`,
    repositoryId,
    commitId,
    JSON.stringify(sizes),
  );
  await tx.run("UPDATE forge_repositories SET language = ? WHERE id = ?", language, repositoryId);
}
