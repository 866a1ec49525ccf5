import type { Queries, Transaction } from "../../../engine/database.ts";

/** Remembers a former name of an owner's repository; whatever the name led to before is forgotten. */
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

/** A name under which an owner's repository was known once. */
export interface RepositoryRedirect {
  readonly ownerId: number;
  readonly name: string;
  readonly repositoryId: number;
}

/** Forgets a former name, because the owner has a repository of that name again. */
export async function deleteRepositoryRedirect(
  tx: Transaction,
  ownerId: number,
  name: string,
): Promise<void> {
  await tx.run(
    "DELETE FROM forge_repository_redirects WHERE owner_id = ? AND lower_name = ?",
    ownerId,
    name.toLowerCase(),
  );
}

/** The id of the repository that once had this name at this owner. */
export async function findRepositoryRedirect(
  db: Queries,
  ownerId: number,
  name: string,
): Promise<number | undefined> {
  const row = await db.get<{ id: number }>(
    "SELECT repository_id AS id FROM forge_repository_redirects WHERE owner_id = ? AND lower_name = ?",
    ownerId,
    name.toLowerCase(),
  );
  return row?.id;
}
