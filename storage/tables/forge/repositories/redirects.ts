import type { Queries, Transaction } from "../../../engine/database.ts";
import type { UserId, RepositoryId } from "../ids.ts";

/** Adds the redirect of a former name and replaces an earlier redirect of that name. */
export async function putRepositoryRedirect(
  tx: Transaction,
  { ownerId, name, repositoryId }: RepositoryRedirect,
): Promise<void> {
  await tx.run(
    `INSERT INTO forge_repository_redirects (owner_id, lower_name, repository_id) VALUES (?, ?, ?)
     ON CONFLICT (owner_id, lower_name) DO UPDATE SET repository_id = excluded.repository_id`,
    ownerId,
    name.toLowerCase(),
    repositoryId,
  );
}

/** A former name of an owner's repository. */
export interface RepositoryRedirect {
  readonly ownerId: UserId;
  readonly name: string;
  readonly repositoryId: RepositoryId;
}

/** Deletes the redirect of a name that a repository of the owner has again. */
export async function deleteRepositoryRedirect(
  tx: Transaction,
  ownerId: UserId,
  name: string,
): Promise<void> {
  await tx.run(
    "DELETE FROM forge_repository_redirects WHERE owner_id = ? AND lower_name = ?",
    ownerId,
    name.toLowerCase(),
  );
}

/** Returns the id of the repository that formerly had this name. */
export async function findRepositoryRedirect(
  db: Queries,
  ownerId: UserId,
  name: string,
): Promise<RepositoryId | undefined> {
  const row = await db.get<{ id: RepositoryId }>(
    "SELECT repository_id AS id FROM forge_repository_redirects WHERE owner_id = ? AND lower_name = ?",
    ownerId,
    name.toLowerCase(),
  );
  return row?.id;
}
