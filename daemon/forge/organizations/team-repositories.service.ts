import type { Database, Queries, Transaction } from "../../../storage/engine/database.ts";
import { isMember, isOwner } from "../../../storage/tables/forge/accounts/orgs.ts";
import {
  deleteTeamRepository,
  insertTeamRepository,
} from "../../../storage/tables/forge/accounts/team-access.ts";
import {
  findTeamByName,
  type ForgeTeam,
  isTeamMember,
  listTeams,
} from "../../../storage/tables/forge/accounts/teams.ts";
import type { UserId, RepositoryId } from "../../../storage/tables/forge/ids.ts";
import { findRepositoryByName } from "../../../storage/tables/forge/repositories/repositories.ts";
import { endUnreadable } from "../../../storage/tables/forge/repositories/unreadable.ts";
import { AppError } from "../../errors.ts";
import { repository as repositoryPermission } from "../../contract/permission.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import type { ForgeCaller } from "../caller.ts";
import { grantRepository, reopenRepository } from "../repositories/open-repository.ts";
import type { GrantedRepository, GrantedTeam, OpenedRepository } from "../opened.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import { assertScope, findAccess, isPublic, reaches } from "../repositories/access.ts";
import { noAdministrator } from "../repositories/access.ts";
import type { RepositoryLists, RepositoryPage } from "../repositories/repository-lists.service.ts";
import { reopenTeam, visibleTeams } from "./organization-access.ts";
import type { TeamDetails } from "./teams.service.ts";

export type TeamRepositories = ReturnType<typeof createTeamRepositories>;

/** The path of a repository below that of a team. */
interface TeamRepositoryPath {
  readonly org: string;
  readonly repo: string;
}

/**
 * The repositories of teams. Every function throws `not_found` for a repository that the caller may not see.
 * Changes throw `forbidden` unless the caller administers the repository and owns the organization, or the organization
 * lets administrators of repositories change teams.
 */
export function createTeamRepositories({
  db,
  lists,
}: {
  readonly db: Database;
  readonly lists: RepositoryLists;
}) {
  return {
    /** Returns a page of the repositories of a team that the caller may read, by name, and their count. */
    async list({ team, grant }: GrantedTeam, window: PageWindow): Promise<RepositoryPage> {
      const all = { term: "", includesDescription: false, isPublicOnly: false } as const;
      const filter = { ...all, teamId: team.id, sort: "alpha", descending: false } as const;
      return lists.search(filter, window, grant.caller);
    },

    /** Throws `not_found` for a repository that the team does not have, or that the caller may not read. */
    async get(
      { team, organization, grant: { caller } }: GrantedTeam,
      path: TeamRepositoryPath,
    ): Promise<GrantedRepository> {
      assertOrganization(organization.lowerName, path.org);
      const repository = await findRepositoryByName(db, organization.id, path.repo);
      if (repository === undefined || !(await has(db, team, repository.id))) throw notFound();
      const grant = { caller, permission: repositoryPermission("any", "read"), isChange: false };
      const opened = await grantRepository(db, { repository, owner: organization }, grant);
      // The scope of the route is that of organizations.
      assertScope(caller.scope, "read", opened);
      return opened;
    },

    /** Adds a repository of the organization to a team; idempotent. */
    async add(opened: GrantedTeam, path: TeamRepositoryPath): Promise<void> {
      await db.transaction(async (tx) => {
        const { team, repositoryId } = await openBoth(tx, opened, path);
        await insertTeamRepository(tx, team.id, repositoryId);
      });
    },

    /** Removes a repository from a team; idempotent. A team that includes all repositories keeps it. */
    async remove(opened: GrantedTeam, path: TeamRepositoryPath): Promise<void> {
      await db.transaction(async (tx) => {
        const { team, repositoryId } = await openBoth(tx, opened, path);
        await remove(tx, team, repositoryId);
      });
    },

    /** Returns a page of the teams that have a repository and that the caller may see. */
    async listTeamsOf(
      opened: GrantedRepository,
      window: PageWindow,
      caller: ForgeCaller,
    ): Promise<{ readonly teams: readonly TeamDetails[]; readonly total: number }> {
      assertHasTeams(opened, caller, "read");
      const { repository, owner } = opened;
      const visibilities = await findVisibilities(opened, caller);
      const visibleTo = { memberId: caller.user.id, visibilities };
      const filter = { orgId: owner.id, repositoryId: repository.id, visibleTo };
      const { teams, total } = await listTeams(db, filter, toRows(window));
      return { teams: teams.map((team) => ({ team, organization: owner })), total };
    },

    /** Returns a team by name. Throws `not_found` for one that does not have the repository or is hidden from the caller. */
    async getTeamOf(
      opened: GrantedRepository,
      name: string,
      caller: ForgeCaller,
    ): Promise<TeamDetails> {
      assertHasTeams(opened, caller, "read");
      const { repository, owner } = opened;
      const team = await getTeam(db, owner.id, name);
      const isVisible =
        (await findVisibilities(opened, caller)).includes(team.visibility) ||
        (await isTeamMember(db, team.id, caller.user.id));
      if (!isVisible) throw noSuchTeam(owner.id, name);
      if (!(await has(db, team, repository.id))) throw notFound();
      return { team, organization: owner };
    },

    /** Throws `unprocessable` when the team has the repository already, or does not have the one to remove. */
    async change(
      place: GrantedRepository,
      name: string,
      isAdded: boolean,
      caller: ForgeCaller,
    ): Promise<void> {
      await db.transaction(async (tx) => {
        const opened = await reopenRepository(tx, place);
        assertHasTeams(opened, caller, "write");
        await assertMayChange(tx, opened, caller);
        const { repository, owner } = opened;
        const team = await getTeam(tx, owner.id, name);
        const isPresent = await has(tx, team, repository.id);
        if (isAdded && isPresent)
          throw new AppError("unprocessable", `team '${team.name}' is already added to repo`);
        if (!isAdded && !isPresent)
          throw new AppError("unprocessable", `team '${team.name}' was not added to repo`);
        if (isAdded) await insertTeamRepository(tx, team.id, repository.id);
        else await remove(tx, team, repository.id);
      });
    },
  };

  async function remove(
    tx: Transaction,
    team: ForgeTeam,
    repositoryId: RepositoryId,
  ): Promise<void> {
    await deleteTeamRepository(tx, team.id, repositoryId);
    await endUnreadable(tx, { repositoryId });
  }

  async function has(
    queries: Database | Transaction,
    team: ForgeTeam,
    repositoryId: RepositoryId,
  ): Promise<boolean> {
    if (team.includesAllRepositories) return true;
    const filter = { orgId: team.orgId, repositoryId };
    const { teams } = await listTeams(queries, filter, { limit: 1_000, offset: 0 });
    return teams.some(({ id }) => id === team.id);
  }

  async function openBoth(tx: Transaction, opened: GrantedTeam, path: TeamRepositoryPath) {
    const { team, organization, grant } = await reopenTeam(tx, opened);
    const { caller } = grant;
    assertOrganization(organization.lowerName, path.org);
    const repository = await findRepositoryByName(tx, organization.id, path.repo);
    const owned = repository && { repository, owner: organization };
    if (owned === undefined) throw notFound();
    // The scope of the route is that of organizations.
    if (isPublicOnly(caller) && !isPublic(owned)) throw notFound();
    const access = await findAccess(tx, owned, caller.user, "any");
    if (!reaches(access, "read")) throw notFound();
    await assertMayChange(tx, { ...owned, access }, caller);
    return { team, repositoryId: owned.repository.id };
  }

  /** Refuses with `not_found` a repository that no organization owns, and with `forbidden` by the scope of the token. */
  function assertHasTeams(
    opened: OpenedRepository,
    caller: ForgeCaller,
    level: "read" | "write",
  ): void {
    assertScope(caller.scope, level, opened);
    if (opened.owner.kind !== "organization")
      throw new AppError("not_found", "repo is not owned by an organization");
  }

  async function assertMayChange(
    tx: Transaction,
    opened: OpenedRepository,
    caller: ForgeCaller,
  ): Promise<void> {
    if (!reaches(opened.access, "admin")) throw noAdministrator();
    const { owner } = opened;
    const { user } = caller;
    const mayChange =
      user.isAdmin || owner.repoAdminChangeTeamAccess || (await isOwner(tx, owner.id, user.id));
    if (!mayChange) throw new AppError("forbidden", "Must be an organization owner");
  }

  async function getTeam(queries: Queries, orgId: UserId, name: string): Promise<ForgeTeam> {
    const team = await findTeamByName(queries, orgId, name);
    if (team === undefined) throw noSuchTeam(orgId, name);
    return team;
  }

  /** Administrators of the repository see its teams. */
  async function findVisibilities({ owner, access }: OpenedRepository, { user }: ForgeCaller) {
    const standing = {
      organization: owner,
      isMember: await isMember(db, owner.id, user.id),
      isOwner: reaches(access, "admin"),
    };
    return visibleTeams(standing);
  }
}

const noSuchTeam = (orgId: UserId, name: string) =>
  new AppError("not_found", `team does not exist [org_id ${orgId}, team_id 0, name: ${name}]`);

/** A team only has repositories of its own organization. */
function assertOrganization(lowerName: string, named: string): void {
  if (named.toLowerCase() !== lowerName) throw notFound();
}
