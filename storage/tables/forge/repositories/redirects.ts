import type { Queries, Transaction } from "../../../engine/database.ts";
import { id, text } from "../../columns.ts";
import { defineTable } from "../../table.ts";
import type { UserId, RepositoryId } from "../ids.ts";

const redirects = defineTable("forge_repository_redirects", {
  ownerId: id<UserId>(),
  lowerName: text(),
  repositoryId: id<RepositoryId>(),
});

/** A former name of an owner's repository. */
export interface RepositoryRedirect {
  readonly ownerId: UserId;
  readonly name: string;
  readonly repositoryId: RepositoryId;
}

/** Adds the redirect of a former name and replaces an earlier redirect of that name. */
export async function putRepositoryRedirect(
  tx: Transaction,
  { ownerId, name, repositoryId }: RepositoryRedirect,
): Promise<void> {
  await redirects.upsert(
    tx,
    { ownerId, lowerName: name.toLowerCase(), repositoryId },
    "ON CONFLICT (owner_id, lower_name) DO UPDATE SET repository_id = excluded.repository_id",
  );
}

/** Deletes the redirect of a name that a repository of the owner has again. */
export async function deleteRepositoryRedirect(
  tx: Transaction,
  ownerId: UserId,
  name: string,
): Promise<void> {
  await redirects.delete(tx, { ownerId, lowerName: name.toLowerCase() });
}

/** Returns the id of the repository that formerly had this name. */
export async function findRepositoryRedirect(
  db: Queries,
  ownerId: UserId,
  name: string,
): Promise<RepositoryId | undefined> {
  return (await redirects.find(db, { ownerId, lowerName: name.toLowerCase() }))?.repositoryId;
}
