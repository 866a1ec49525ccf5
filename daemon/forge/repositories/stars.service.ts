import type { Database } from "../../../storage/engine/database.ts";
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
import type { GrantedRepository } from "../opened.ts";
import { reopenRepository } from "./open-repository.ts";
import { type RepositoryLists, type RepositoryPage } from "./repository-lists.service.ts";
import { getVisibleAccount } from "../accounts/users.service.ts";

/** Maximum number of repositories that one user can star. */
const STARS_MAX = 10_000;

export type Stars = ReturnType<typeof createStars>;

/** Stars of repositories, and the lists of repositories that users star and watch. */
export function createStars({
  db,
  lists,
}: {
  readonly db: Database;
  readonly lists: Pick<RepositoryLists, "toDetails">;
}) {
  return {
    /** Throws `not_found` unless the caller has starred the repository. */
    async assertStarred({ repository }: GrantedRepository, caller: ForgeCaller): Promise<void> {
      const star = { repositoryId: repository.id, userId: caller.user.id };
      if (!(await isStarred(db, star))) throw notFound();
    },

    /** Idempotent. */
    async star(opened: GrantedRepository, caller: ForgeCaller): Promise<void> {
      await db.transaction(async (tx) => {
        const { repository, owner } = await reopenRepository(tx, opened);
        await assertNotBlocked(tx, caller.user.id, [owner.id]);
        const user = await findUserById(tx, caller.user.id);
        if ((user?.starCount ?? 0) >= STARS_MAX)
          throw new AppError("forbidden", `you have starred ${STARS_MAX} repositories already`);
        await insertStar(tx, { repositoryId: repository.id, userId: caller.user.id });
      });
    },

    /** Idempotent. */
    async unstar(opened: GrantedRepository, caller: ForgeCaller): Promise<void> {
      await db.transaction(async (tx) => {
        const { repository } = await reopenRepository(tx, opened);
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
      { repository }: GrantedRepository,
      window: PageWindow,
      caller: ForgeCaller | undefined,
    ): Promise<UserPage> {
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
}
