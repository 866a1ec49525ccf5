import { z } from "zod";
import type { Queries, Transaction } from "../../../engine/database.ts";
import { parseColumn } from "../../../engine/json-column.ts";

/** The bytes of a repository by language. */
export interface RepositoryLanguages {
  /** The commit that was counted. */
  readonly commitId: string;
  readonly sizes: Readonly<Record<string, number>>;
}

const sizesSchema = z.record(z.string(), z.int());

/** Returns what was counted last; undefined for a repository that was not counted yet. */
export async function findLanguages(
  db: Queries,
  repositoryId: number,
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

/** Replaces what was counted. `language` is the main one, empty for none. */
export async function saveLanguages(
  tx: Transaction,
  repositoryId: number,
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
