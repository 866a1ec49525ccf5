import type { OrganizationRole } from "../../contract/permission.ts";
import type { GrantedOrganization, GrantedTeam, OpenedOrganization } from "../opened.ts";
import type { Queries, Transaction } from "../../../storage/engine/database.ts";
import { isMember, isOwner } from "../../../storage/tables/forge/accounts/orgs.ts";
import { findRedirect } from "../../../storage/tables/forge/accounts/redirects.ts";
import {
  findTeam,
  findTeamByName,
  isTeamMember,
} from "../../../storage/tables/forge/accounts/teams.ts";
import {
  findUserById,
  findUserByName,
  type ForgeUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import type { ForgeVisibility } from "../../../storage/tables/forge/accounts/user-facets.ts";
import { AppError } from "../../errors.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import { isVisibleTo } from "../accounts/users.service.ts";
import type { ForgeCaller } from "../caller.ts";
import { movedTo, notFound, userNotFound } from "../refusals.ts";
import { type TeamId, toTeamId } from "../../../storage/tables/forge/ids.ts";

/**
 * Grants an operation on the organization of a name. Throws `not_found` for one that the caller may not see, and `forbidden`
 * for a caller below the role and for a non-public one when the token is public-only. A former name redirects to the current
 * one.
 */
export async function grantOrganization(
  db: Queries,
  name: string,
  grant: GrantedOrganization["grant"],
): Promise<GrantedOrganization> {
  const named = await findUserByName(db, name);
  const formerId = named === undefined ? await findRedirect(db, name) : undefined;
  const found = named ?? (formerId === undefined ? undefined : await findUserById(db, formerId));
  if (found?.kind !== "organization") throw notFound();
  const opened = await open(db, found, grant.caller);
  if (named === undefined)
    throw movedTo(`/api/v1/orgs/${encodeURIComponent(found.name)}`, { org: found.name });
  return { ...assertRole(opened, grant.permission.role), grant };
}

/** Opens an organization again in the transaction of a change, so that the change is refused when a right changed since. */
export async function reopenOrganization(
  tx: Transaction,
  { organization: { id }, grant }: GrantedOrganization,
): Promise<GrantedOrganization> {
  const found = await findUserById(tx, id);
  if (found === undefined) throw notFound();
  return { ...assertRole(await open(tx, found, grant.caller), grant.permission.role), grant };
}

/** Returns what opens an organization again in the transaction of a change. */
export const reopening =
  (opened: GrantedOrganization) =>
  async (tx: Transaction): Promise<ForgeUser> =>
    (await reopenOrganization(tx, opened)).organization;

/** Refuses with `forbidden` a caller below a role. */
function assertRole<Opened extends OpenedOrganization>(
  opened: Opened,
  role: OrganizationRole,
): Opened {
  if (role === "owner") assertOwns(opened);
  if (role === "member" && !opened.isMember && !opened.isOwner)
    throw new AppError("forbidden", "Must be an organization member");
  return opened;
}

async function open(
  db: Queries,
  organization: ForgeUser,
  caller: ForgeCaller | undefined,
): Promise<OpenedOrganization> {
  const viewer = caller?.user;
  const belongs = viewer !== undefined && (await isMember(db, organization.id, viewer.id));
  if (!isVisibleTo(organization, viewer) && !belongs) throw notFound();
  if (isPublicOnly(caller) && organization.visibility !== "public")
    throw new AppError("forbidden", "token scope is limited to public orgs");
  const owns =
    viewer !== undefined && (viewer.isAdmin || (await isOwner(db, organization.id, viewer.id)));
  return { organization, isMember: belongs, isOwner: owns };
}

/**
 * Grants an operation on a team that the caller may see: by its visibility, as a member, or as an owner of the
 * organization. Refuses with `not_found` a caller who may not see it; with `forbidden` a member of the organization, a
 * public-only token, and a caller below the role.
 */
export async function grantTeam(
  db: Queries,
  id: number,
  grant: GrantedTeam["grant"],
): Promise<GrantedTeam> {
  const { caller, permission } = grant;
  const team = await findTeam(db, toTeamId(id));
  const organization = team && (await findUserById(db, team.orgId));
  if (team === undefined || organization === undefined) throw notFound();
  const opened = await open(db, organization, caller);
  const isInTeam = await isTeamMember(db, team.id, caller.user.id);
  if (!opened.isOwner && !isInTeam && !visibleTeams(opened).includes(team.visibility))
    throw opened.isMember ? new AppError("forbidden", "Must be a team member") : notFound();
  return { ...assertRole(opened, permission.role), team, grant };
}

/** Opens a team again in the transaction of a change, so that the change is refused when a right changed since. */
export const reopenTeam = (tx: Transaction, { team, grant }: GrantedTeam): Promise<GrantedTeam> =>
  grantTeam(tx, team.id, grant);

/** Returns the id of a team by its name; undefined when the caller may not see the organization or the team. */
export async function findVisibleTeamId(
  db: Queries,
  organization: ForgeUser,
  name: string,
  caller: ForgeCaller | undefined,
): Promise<TeamId | undefined> {
  const team = await findTeamByName(db, organization.id, name);
  if (team === undefined) return undefined;
  const opened = await open(db, organization, caller);
  const isInTeam = caller !== undefined && (await isTeamMember(db, team.id, caller.user.id));
  const isVisible = opened.isOwner || isInTeam || visibleTeams(opened).includes(team.visibility);
  return isVisible ? team.id : undefined;
}

/** Refuses with `forbidden` a caller who does not own the organization. */
export function assertOwns({ isOwner }: OpenedOrganization): void {
  if (!isOwner) throw notAnOwner();
}

/** Returns the visibilities of the teams that the caller may see without belonging to them. */
export function visibleTeams(opened: OpenedOrganization): readonly ForgeVisibility[] {
  if (opened.isOwner) return ["public", "limited", "private"];
  return opened.isMember ? ["public", "limited"] : ["public"];
}

/**
 * Finds a user in a path as an organization sees it: its members and owners also find a member who is hidden from
 * others, whom its lists show them. Throws `not_found` for an organization, and for one that is hidden from the caller.
 */
export async function findPersonOf(
  db: Queries,
  { organization, ...opened }: OpenedOrganization,
  name: string,
  caller: ForgeCaller | undefined,
): Promise<ForgeUser> {
  const user = await findUserByName(db, name);
  if (user?.kind !== "individual") throw userNotFound(name);
  if (isVisibleTo(user, caller?.user)) return user;
  const belongs = !isPublicOnly(caller) && (opened.isMember || opened.isOwner);
  if (!belongs || !(await isMember(db, organization.id, user.id))) throw userNotFound(name);
  return user;
}

/** Finds a user in a path. Throws `not_found` for an organization, and for one that is hidden from the caller. */
export async function findPerson(
  db: Queries,
  name: string,
  caller: ForgeCaller | undefined,
): Promise<ForgeUser> {
  const user = await findUserByName(db, name);
  if (user?.kind !== "individual" || !isVisibleTo(user, caller?.user)) throw userNotFound(name);
  return user;
}

const notAnOwner = () => new AppError("forbidden", "Must be an organization owner");
