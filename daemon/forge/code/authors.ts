import type { Queries } from "../../../storage/engine/database.ts";
import type { CommitObject } from "../../../storage/git/commit-objects.ts";
import { listVerifiedOwners } from "../../../storage/tables/forge/accounts/emails.ts";
import { type ForgeUser, listUsersByIds } from "../../../storage/tables/forge/accounts/users.ts";
import { isVisibleTo } from "../accounts/users.service.ts";

/** Accounts by the addresses in commits, in lower case. Only verified addresses count. */
export type Authors = ReadonlyMap<string, ForgeUser>;

/**
 * Returns the accounts of the authors and committers of commits that the viewer may see. Anyone can create a commit
 * with any address, so the response must not reveal that a hidden account has it.
 */
export async function findAuthors(
  db: Queries,
  commits: readonly Pick<CommitObject, "author" | "committer">[],
  viewer: ForgeUser | undefined,
): Promise<Authors> {
  const addresses = new Set(
    commits.flatMap(({ author, committer }) =>
      [author, committer].map(({ email }) => email.toLowerCase()),
    ),
  );
  const owners = await listVerifiedOwners(db, [...addresses]);
  const users = await listUsersByIds(db, [...owners.values()]);
  const byId = new Map(users.map((user) => [user.id, user]));
  const found = new Map<string, ForgeUser>();
  for (const [address, id] of owners) {
    const user = byId.get(id);
    if (user !== undefined && isVisibleTo(user, viewer)) found.set(address, user);
  }
  return found;
}
