import type { Database, Queries } from "../../../storage/engine/database.ts";
import {
  deleteStar,
  insertStar,
  isStarred,
  listMarkedRepositories,
  listMarkingUsers,
  type RepositoryMark,
} from "../../../storage/tables/forge/repositories/stars.ts";
import type { UserPage } from "../../../storage/tables/forge/accounts/user-lists.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import { isPublicOnly, toReader } from "../accounts/scopes.ts";
import { assertNotBlocked } from "../accounts/not-blocked.ts";
import type { ForgeCaller } from "../caller.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import { assertScope, findAccess, reaches } from "./access.ts";
import type { OwnedRepository } from "../events.ts";
import { getOwned, type RepositoryPath } from "./repositories.service.ts";
import { type RepositoryLists, type RepositoryPage } from "./repository-lists.service.ts";
import { getVisibleAccount } from "../accounts/users.service.ts";

/** Maximum number of repositories that one user can star. */
const STARS_MAX = 10_000;

export type Stars = ReturnType<typeof createStars>;

/**
 * Stars of repositories, and the lists of repositories that users star and watch. A hidden repository is reported as
 * missing.
 */
export function createStars({
  db,
  lists,
}: {
  readonly db: Database;
  readonly lists: Pick<RepositoryLists, "toDetails">;
}) {
  return {
    /** Throws `not_found` unless the caller has starred the repository. */
    async assertStarred(path: RepositoryPath, caller: ForgeCaller): Promise<void> {
      const { repository } = await open(db, path, caller, "read");
      const star = { repositoryId: repository.id, userId: caller.user.id };
      if (!(await isStarred(db, star))) throw notFound();
    },

    /** Idempotent. */
    async star(path: RepositoryPath, caller: ForgeCaller): Promise<void> {
      await db.transaction(async (tx) => {
        const { repository, owner } = await open(tx, path, caller, "write");
        await assertNotBlocked(tx, caller.user.id, [owner.id]);
        const user = await findUserById(tx, caller.user.id);
        if ((user?.starCount ?? 0) >= STARS_MAX)
          throw new AppError("forbidden", `you have starred ${STARS_MAX} repositories already`);
        await insertStar(tx, { repositoryId: repository.id, userId: caller.user.id });
      });
    },

    /** Idempotent. */
    async unstar(path: RepositoryPath, caller: ForgeCaller): Promise<void> {
      await db.transaction(async (tx) => {
        const { repository } = await open(tx, path, caller, "write");
        await deleteStar(tx, { repositoryId: repository.id, userId: caller.user.id });
      });
    },

    /** Returns a page of the repositories that the caller starred or watches and may still read. */
    listOwn: (
      mark: RepositoryMark,
      window: PageWindow,
      caller: ForgeCaller,
    ): Promise<RepositoryPage> => listOf(mark, caller.user, window, caller),

    /**
     * Returns a page of the repositories that a user starred or watches. Other callers get only public ones. Throws
     * `not_found` for a user who is hidden from the caller.
     */
    async listOfUser(
      mark: RepositoryMark,
      name: string,
      window: PageWindow,
      caller: ForgeCaller,
    ): Promise<RepositoryPage> {
      return listOf(mark, await getVisibleAccount(db, name, caller), window, caller);
    },

    /** Returns a page of the users who starred or watch a repository and whom the caller may see. */
    async listUsers(
      mark: RepositoryMark,
      path: RepositoryPath,
      window: PageWindow,
      caller: ForgeCaller | undefined,
    ): Promise<UserPage> {
      const { repository } = await open(db, path, caller, "read");
      const options = { reader: toReader(caller), window: toRows(window) };
      return listMarkingUsers(db, mark, repository.id, options);
    },
  };

  async function listOf(
    mark: RepositoryMark,
    { id }: ForgeUser,
    window: PageWindow,
    caller: ForgeCaller,
  ): Promise<RepositoryPage> {
    const { repositories, total } = await listMarkedRepositories(db, mark, id, {
      reader: caller.user,
      isPublicOnly: isPublicOnly(caller) || id !== caller.user.id,
      window: toRows(window),
    });
    return { repositories: await lists.toDetails(repositories, caller), total };
  }

  async function open(
    queries: Queries,
    path: RepositoryPath,
    caller: ForgeCaller | undefined,
    level: "read" | "write",
  ): Promise<OwnedRepository> {
    const owned = await getOwned(
      queries,
      path,
      caller?.user,
      (current) => `/api/v1/repos/${current.owner}/${current.repo}`,
    );
    if (!reaches(await findAccess(queries, owned, caller?.user, "any"), "read")) throw notFound();
    assertScope(caller?.scope, level, owned);
    return owned;
  }
}
