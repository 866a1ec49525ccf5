import type { Database, Queries } from "../../../storage/engine/database.ts";
import { findUserByName, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import {
  type CollaboratorAccess,
  countCollaborators,
  deleteCollaborator,
  getCollaboratorAccess,
  listCollaborators,
  putCollaborator,
} from "../../../storage/tables/forge/repositories/collaborators.ts";
import { endUnreadable } from "../../../storage/tables/forge/repositories/unreadable.ts";
import { AppError } from "../../errors.ts";
import { toReader } from "../accounts/scopes.ts";
import { isVisibleTo } from "../accounts/users.service.ts";
import { assertNotBlocked } from "../accounts/not-blocked.ts";
import type { ForgeCaller } from "../caller.ts";
import { notFound } from "../refusals.ts";
import { toRows, type PageWindow } from "../page-window.ts";
import { findAccess, reaches } from "./access.ts";
import { reopenRepository } from "./open-repository.ts";
import type { Emit } from "../events.ts";
import type { AccessLevel, GrantedRepository } from "../opened.ts";

const permissions = { read: 1, write: 2, admin: 3 } as const satisfies Readonly<
  Record<string, CollaboratorAccess>
>;

/** Maximum number of collaborators of one repository: larger groups should use an organization with teams. */
const COLLABORATORS_MAX = 1_000;

/** The collaborators of repositories. */
export type Collaborators = ReturnType<typeof createCollaborators>;

export function createCollaborators({ db, emit }: { readonly db: Database; readonly emit: Emit }) {
  return {
    /**
     * Returns a page of the collaborators in the order in which they were added, and their count. Callers other than
     * administrators of the repository get only visible accounts.
     */
    async list(
      { repository, access }: GrantedRepository,
      window: PageWindow,
      caller: ForgeCaller,
    ): Promise<{ readonly users: readonly ForgeUser[]; readonly total: number }> {
      const seesAll = reaches(access, "admin");
      return listCollaborators(db, repository.id, {
        ...toRows(window),
        ...(seesAll ? {} : { shownTo: { reader: toReader(caller) } }),
      });
    },

    /** Throws `unprocessable` for an unknown name, `not_found` for a user who is not a collaborator. */
    async assertIsOne(opened: GrantedRepository, name: string, caller: ForgeCaller): Promise<void> {
      const user = await findPerson(db, opened, name, caller);
      if ((await getCollaboratorAccess(db, opened.repository.id, user.id)) === 0) throw notFound();
    },

    /**
     * Adds a collaborator or changes the permission of one: `read`, `write`, `admin`; empty is `write`. Throws
     * `unprocessable` for an unknown permission, for an unknown name, for an organization, an inactive account or the
     * owner, and when the repository has the maximum number of collaborators.
     */
    async put(
      opened: GrantedRepository,
      name: string,
      permission: string,
      caller: ForgeCaller,
    ): Promise<void> {
      await db.transaction(async (tx) => {
        const current = await reopenRepository(tx, opened);
        const { repository, owner } = current;
        const { id } = repository;
        const access = toAccess(permission);
        const user = await findPerson(tx, current, name, caller);
        if (user.id === owner.id)
          throw new AppError("unprocessable", "the owner of a repository cannot be a collaborator");
        await assertNotBlocked(tx, user.id, [owner.id]);
        await assertNotBlocked(tx, owner.id, [user.id]);
        if (!user.isActive)
          throw new AppError("unprocessable", "collaborator's account is inactive");
        const isNew = (await getCollaboratorAccess(tx, id, user.id)) === 0;
        if (isNew && (await countCollaborators(tx, id)) >= COLLABORATORS_MAX)
          throw new AppError(
            "unprocessable",
            `a repository has at most ${COLLABORATORS_MAX} collaborators`,
          );
        await putCollaborator(tx, id, { userId: user.id, access });
        const details = { repository, owner, actor: caller.user, collaborator: user };
        if (isNew) await emit(tx, "collaborator.added", details);
      });
    },

    /**
     * Removes a collaborator; idempotent. A user who can no longer read the repository stops watching it and is
     * unassigned from its issues. Throws `unprocessable` as `put` does.
     */
    async remove(opened: GrantedRepository, name: string, caller: ForgeCaller): Promise<void> {
      await db.transaction(async (tx) => {
        const current = await reopenRepository(tx, opened);
        const { repository } = current;
        const user = await findPerson(tx, current, name, caller);
        if (await deleteCollaborator(tx, repository.id, user.id))
          await endUnreadable(tx, { repositoryId: repository.id, userId: user.id });
      });
    },

    /**
     * Returns the permission of a user. Throws `not_found` for an unknown name, `forbidden` for another user's permission
     * unless the caller administers the repository.
     */
    async getPermission(
      opened: GrantedRepository,
      name: string,
      caller: ForgeCaller,
    ): Promise<{ readonly user: ForgeUser; readonly access: AccessLevel }> {
      const user = await findUserByName(db, name);
      const isSelf = user?.id === caller.user.id;
      if (!isSelf && !reaches(opened.access, "admin"))
        throw new AppError(
          "forbidden",
          "Only admins can query all permissions, repo admins can query all repo permissions, collaborators can query only their own",
        );
      if (user === undefined || (!isSelf && !(await isShown(db, opened, user, caller))))
        throw notFound();
      return { user, access: await findAccess(db, opened, user, "any") };
    },
  };

  /** Returns the user of a name. A user who is hidden from the caller counts as unknown. */
  async function findPerson(
    queries: Queries,
    opened: GrantedRepository,
    name: string,
    caller: ForgeCaller,
  ): Promise<ForgeUser> {
    const user = await findUserByName(queries, name);
    if (user?.kind !== "individual" || !(await isShown(queries, opened, user, caller)))
      throw new AppError("unprocessable", `user does not exist [uid: 0, name: ${name}]`);
    return user;
  }
}

/** Returns whether a caller may know of a user: by visibility, or as an administrator of what the user works on. */
async function isShown(
  queries: Queries,
  { repository, access }: GrantedRepository,
  user: ForgeUser,
  caller: ForgeCaller,
): Promise<boolean> {
  if (isVisibleTo(user, caller.user)) return true;
  if (!reaches(access, "admin")) return false;
  return (await getCollaboratorAccess(queries, repository.id, user.id)) !== 0;
}

function toAccess(permission: string): CollaboratorAccess {
  if (permission === "") return permissions.write;
  const access = Object.entries(permissions).find(([word]) => word === permission)?.[1];
  if (access === undefined)
    throw new AppError(
      "unprocessable",
      `invalid permission ${JSON.stringify(permission)}: read, write or admin`,
    );
  return access;
}
