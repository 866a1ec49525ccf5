import type { Database, Transaction } from "../../../storage/engine/database.ts";
import {
  ADMIN_ACCESS,
  countTeams,
  deleteTeam,
  deleteTeamMember,
  findTeamByName,
  type ForgeTeam,
  insertTeam,
  insertTeamMember,
  isTeamMember,
  listMembersOfTeam,
  listTeams,
  OWNER_ACCESS,
  type RepositoryUnit,
  updateTeam,
} from "../../../storage/tables/forge/accounts/teams.ts";
import { type ForgeUser, listUsersByIds } from "../../../storage/tables/forge/accounts/users.ts";
import type { ForgeVisibility } from "../../../storage/tables/forge/accounts/user-facets.ts";
import { endUnreadable } from "../../../storage/tables/forge/repositories/unreadable.ts";
import { AppError } from "../../errors.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import { type ForgeCaller, isSelf } from "../caller.ts";
import type { Emit } from "../events.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import type { GrantedOrganization, GrantedTeam } from "../opened.ts";
import { notFound } from "../refusals.ts";
import { assertNotLastOwner, endTeamMembership } from "./members.service.ts";
import {
  assertOwns,
  findPersonOf,
  reopenOrganization,
  reopenTeam,
  visibleTeams,
} from "./organization-access.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";

/** A team and the organization that it belongs to. */
export interface TeamDetails {
  readonly team: ForgeTeam;
  readonly organization: ForgeUser;
}

/** The permissions of a team: on whole repositories, or on their units. */
export interface TeamPermissions {
  /** 1 read, 2 write, 3 admin. */
  readonly access: number;
  /** Empty when the team administers its repositories. */
  readonly units: ReadonlyMap<RepositoryUnit, number>;
}

/** A team to be created. */
export interface NewTeam extends TeamPermissions {
  readonly name: string;
  readonly description: string;
  readonly includesAllRepositories: boolean;
  readonly canCreateRepositories: boolean;
  readonly visibility: ForgeVisibility;
}

/** Changes of a team. Undefined members stay unchanged. */
export type TeamEdit = { readonly [K in keyof NewTeam]?: NewTeam[K] | undefined };

/** Maximum number of teams of one organization. */
const TEAMS_MAX = 1_000;
/** Names that routes use as path segments. */
const reservedNames = new Set(["new", "search"]);

export type Teams = ReturnType<typeof createTeams>;

/** The teams of organizations. */
export function createTeams({ db, emit }: { readonly db: Database; readonly emit: Emit }) {
  return {
    /** Returns a page of the teams that the caller may see, the owners first, then by name, and their count. */
    async list(
      opened: GrantedOrganization,
      window: PageWindow,
      caller: ForgeCaller,
      search: { readonly term: string; readonly includesDescription: boolean } | undefined,
    ): Promise<{ readonly teams: readonly TeamDetails[]; readonly total: number }> {
      const { organization } = opened;
      // No stored text has a NUL.
      if (search?.term.includes("\0")) return { teams: [], total: 0 };
      const visibilities = visibleTeams(opened);
      const visibleTo = { memberId: caller.user.id, visibilities };
      const filter = { orgId: organization.id, visibleTo, ...search };
      const { teams, total } = await listTeams(db, filter, toRows(window));
      return { teams: teams.map((team) => ({ team, organization })), total };
    },

    /** Returns a page of the teams of the caller. */
    async listOwn(
      window: PageWindow,
      caller: ForgeCaller,
    ): Promise<{ readonly teams: readonly TeamDetails[]; readonly total: number }> {
      const filter = { memberId: caller.user.id, isPublicOnly: isPublicOnly(caller) };
      const { teams, total } = await listTeams(db, filter, toRows(window));
      const organizations = await listUsersByIds(
        db,
        teams.map(({ orgId }) => orgId),
      );
      return {
        teams: teams.flatMap((team) => {
          const organization = organizations.find(({ id }) => id === team.orgId);
          return organization === undefined ? [] : [{ team, organization }];
        }),
        total,
      };
    },

    /**
     * Throws `unprocessable` for a taken or reserved name, and when the organization has the maximum number of teams.
     */
    async create(opened: GrantedOrganization, input: NewTeam): Promise<TeamDetails> {
      assertUsableName(input.name);
      return db.transaction(async (tx) => {
        const { organization } = await reopenOrganization(tx, opened);
        const orgId = organization.id;
        await assertNameFree(tx, orgId, input.name);
        if ((await countTeams(tx, orgId)) >= TEAMS_MAX)
          throw new AppError("unprocessable", `an organization has at most ${TEAMS_MAX} teams`);
        return { team: await insertTeam(tx, { ...input, orgId }), organization };
      });
    },

    /**
     * Changes a team. The owners' team only accepts another description, as in the reference. Throws `unprocessable` for
     * a taken or reserved name.
     */
    async edit(opened: GrantedTeam, edit: TeamEdit): Promise<TeamDetails> {
      if (edit.name !== undefined) assertUsableName(edit.name);
      return db.transaction(async (tx) => {
        const { team: before, organization } = await reopenTeam(tx, opened);
        const team = applyEdit(before, edit);
        if (team.name.toLowerCase() !== before.name.toLowerCase())
          await assertNameFree(tx, organization.id, team.name);
        await updateTeam(tx, team);
        await endUnreadable(tx, { ownerId: organization.id });
        return { team, organization };
      });
    },

    /** Throws `unprocessable` for the owners' team, without which the organization would have no owner. */
    async remove(opened: GrantedTeam): Promise<void> {
      await db.transaction(async (tx) => {
        const { team } = await reopenTeam(tx, opened);
        if (team.access === OWNER_ACCESS)
          throw new AppError("unprocessable", "the team of the owners cannot be deleted");
        const members = (await listMembersOfTeam(tx, team.id, { limit: MEMBERS_MAX, offset: 0 }))
          .users;
        await deleteTeam(tx, team.id);
        for (const member of members) await endTeamMembership(tx, team.orgId, member);
      });
    },

    /** Returns a page of the members by name, and their count. Throws `not_found` when the caller is not a member. */
    async listMembers(
      opened: GrantedTeam,
      window: PageWindow,
    ): Promise<{ readonly users: readonly ForgeUser[]; readonly total: number }> {
      assertBelongs(opened);
      return listMembersOfTeam(db, opened.team.id, toRows(window));
    },

    async getMember(opened: GrantedTeam, name: string): Promise<ForgeUser> {
      assertBelongs(opened);
      const { team, grant } = opened;
      const user = await findPersonOf(db, opened, name, grant.caller);
      if (!(await isTeamMember(db, team.id, user.id))) throw notFound();
      return user;
    },

    /** Adds a member; idempotent. Throws `unprocessable` for an inactive account and when the team is full. */
    async addMember(opened: GrantedTeam, name: string): Promise<void> {
      const { caller } = opened.grant;
      await db.transaction(async (tx) => {
        const current = await reopenTeam(tx, opened);
        const { team, organization } = current;
        const user = await findPersonOf(tx, current, name, caller);
        if (!user.isActive) throw new AppError("unprocessable", "the user's account is inactive");
        const { total } = await listMembersOfTeam(tx, team.id, { limit: 1, offset: 0 });
        if (await isTeamMember(tx, team.id, user.id)) return;
        if (total >= MEMBERS_MAX)
          throw new AppError("unprocessable", `a team has at most ${MEMBERS_MAX} members`);
        await insertTeamMember(tx, team, user.id);
        const event = { team, organization, member: user, actor: caller.user };
        await emit(tx, "team.member_added", event);
      });
    },

    /**
     * Removes a member; idempotent. A user may leave a team without owning the organization. Throws `forbidden` for
     * another user's membership unless the caller owns it, and `unprocessable` for the last owner.
     */
    async removeMember(opened: GrantedTeam, name: string): Promise<void> {
      const { caller } = opened.grant;
      await db.transaction(async (tx) => {
        const current = await reopenTeam(tx, opened);
        const user = await findPersonOf(tx, current, name, caller);
        if (!isSelf(caller.user, user.id)) assertOwns(current);
        const { team } = current;
        if (team.access === OWNER_ACCESS) await assertNotLastOwner(tx, team.orgId, user.id);
        if (await deleteTeamMember(tx, team.id, user.id))
          await endTeamMembership(tx, team.orgId, user);
      });
    },
  };
}

/** Maximum number of members of one team. */
const MEMBERS_MAX = 1_000;

/** Refuses with `not_found` a caller who does not belong to the organization of a team. */
function assertBelongs({ isMember, isOwner }: GrantedTeam): void {
  if (!isMember && !isOwner) throw notFound();
}

function applyEdit(before: ForgeTeam, edit: TeamEdit): ForgeTeam {
  const description = edit.description ?? before.description;
  if (before.access === OWNER_ACCESS) return { ...before, description };
  const access = edit.access ?? before.access;
  const units = access >= ADMIN_ACCESS ? new Map() : (edit.units ?? before.units);
  if (access < ADMIN_ACCESS && units.size === 0) throw withoutUnits();
  return {
    ...before,
    description,
    name: edit.name ?? before.name,
    includesAllRepositories: edit.includesAllRepositories ?? before.includesAllRepositories,
    canCreateRepositories: edit.canCreateRepositories ?? before.canCreateRepositories,
    visibility: edit.visibility ?? before.visibility,
    access,
    units,
  };
}

function assertUsableName(name: string): void {
  if (reservedNames.has(name.toLowerCase()))
    throw new AppError("unprocessable", `name is reserved [name: ${name.toLowerCase()}]`);
}

/** The refusal of a team that neither administers its repositories nor has a permission on one of their units. */
export const withoutUnits = (): AppError =>
  new AppError("unprocessable", "units permission should not be empty");

async function assertNameFree(tx: Transaction, orgId: UserId, name: string): Promise<void> {
  if ((await findTeamByName(tx, orgId, name)) !== undefined)
    throw new AppError("unprocessable", `team already exists [org_id: ${orgId}, name: ${name}]`);
}
