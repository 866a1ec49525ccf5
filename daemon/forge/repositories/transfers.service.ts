import {
  type Database,
  isConflict,
  type Queries,
  type Transaction,
} from "../../../storage/engine/database.ts";
import type { RepositoryFiles } from "../../../storage/git/repository-files.ts";
import {
  deleteTeamsOfRepository,
  insertTeamRepository,
} from "../../../storage/tables/forge/accounts/team-access.ts";
import { listTeamsByIds } from "../../../storage/tables/forge/accounts/teams.ts";
import { unlinkPackagesOf } from "../../../storage/tables/forge/packages/packages.ts";
import {
  findRepositoryById,
  findRepositoryByName,
  updateRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import {
  deleteRepositoryRedirect,
  putRepositoryRedirect,
} from "../../../storage/tables/forge/repositories/redirects.ts";
import {
  deleteTransfer,
  findTransfer,
  insertTransfer,
  isOfferedTo,
  listRepositoryMakers,
} from "../../../storage/tables/forge/repositories/transfers.ts";
import { deleteCollaborator } from "../../../storage/tables/forge/repositories/collaborators.ts";
import { countWatchers, insertWatch } from "../../../storage/tables/forge/repositories/watches.ts";
import { endUnreadable } from "../../../storage/tables/forge/repositories/unreadable.ts";
import {
  findUserById,
  findUserByName,
  type ForgeUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import { type TeamId, type RepositoryId, toTeamId } from "../../../storage/tables/forge/ids.ts";
import { deleteForeignLabels } from "../../../storage/tables/forge/repositories/labels.ts";
import { AppError } from "../../errors.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import { isKnownTo } from "../accounts/users.service.ts";
import type { ForgeCaller } from "../caller.ts";
import { notFound } from "../refusals.ts";
import { findAccess, reaches } from "./access.ts";
import type { GrantedRepository } from "../opened.ts";
import { assertRoom } from "./create-repository.ts";
import type { OwnedRepository, Emit } from "../events.ts";
import { toRepositoryPath } from "./names.ts";
import { enqueueCleanup, type FolderMoves } from "./folder-moves.ts";
import { reopenRepository } from "./open-repository.ts";
import type { RepositoryDetails } from "./repository.view.ts";
import { findPendingTransfer } from "./pending-transfer.ts";

export type Transfers = ReturnType<typeof createTransfers>;

export interface TransfersDeps {
  readonly db: Database;
  readonly files: RepositoryFiles;
  readonly moves: FolderMoves;
  readonly emit: Emit;
  readonly enqueue: Enqueue;
}

/** Transfers of ownership. */
export function createTransfers({ db, files, moves, emit, enqueue }: TransfersDeps) {
  return {
    /**
     * Transfers a repository at once when the caller may also accept it: as a site administrator, as the new owner, or
     * with the right to create repositories in the organization. Otherwise offers it and returns `isPending`. Refuses
     * with `forbidden` teams of another organization, and a new owner with the maximum number
     * of repositories; with `not_found` an unknown or
     * hidden new owner; with `conflict` a pending transfer; with `unprocessable` a taken name and unknown teams.
     */
    async start(
      place: GrantedRepository,
      caller: ForgeCaller,
      {
        newOwner,
        teamIds: requestedTeamIds,
      }: { readonly newOwner: string; readonly teamIds: readonly number[] },
    ): Promise<{ readonly details: RepositoryDetails; readonly isPending: boolean }> {
      const teamIds = requestedTeamIds.map(toTeamId);
      const { user: actor } = caller;
      await assertFolderFree(await prepare(db));
      const { id, isPending } = await db
        .transaction(async (tx) => {
          const { opened, recipient } = await prepare(tx);
          if (!(await mayDecideFor(tx, recipient, actor))) {
            await offer(tx, opened, { recipient, teamIds }, actor);
            return { id: opened.repository.id, isPending: true };
          }
          await assertRoom(tx, recipient, actor);
          await hand(tx, opened, recipient, { actor, teamIds });
          return { id: opened.repository.id, isPending: false };
        })
        .catch((error: unknown) => {
          throw toTaken(error, newOwner, place.repository.name);
        });
      if (!isPending) await moves.complete(id);
      return { details: await loadDetails(id, caller), isPending };

      /** Checks everything about the transfer that the database knows. */
      async function prepare(queries: Queries) {
        const opened = await reopenRepository(queries, place);
        const recipient = await findRecipient(queries, newOwner, actor);
        await assertTeams(queries, recipient, teamIds);
        if ((await findTransfer(queries, opened.repository.id)) !== undefined)
          throw inProgress(opened);
        await assertNameFree(queries, opened, recipient);
        return { opened, recipient };
      }
    },

    /**
     * Accepts an offer. Refuses with `forbidden` a caller who is not the recipient, and a recipient with the maximum
     * number of repositories.
     */
    async accept(place: GrantedRepository, caller: ForgeCaller): Promise<RepositoryDetails> {
      await assertFolderFree(await prepare(db));
      const id = await db
        .transaction(async (tx) => {
          const { opened, recipient, teamIds } = await prepare(tx);
          await hand(tx, opened, recipient, { actor: caller.user, teamIds });
          return opened.repository.id;
        })
        .catch((error: unknown) => {
          throw toTaken(error, "the new owner", place.repository.name);
        });
      await moves.complete(id);
      return loadDetails(id, caller);

      async function prepare(queries: Queries) {
        const opened = await reopenRepository(queries, place);
        const transfer = await findTransfer(queries, opened.repository.id);
        const recipient = transfer && (await findUserById(queries, transfer.recipientId));
        if (transfer === undefined || recipient === undefined) throw notFound();
        const isTheirs = await isOfferedTo(queries, opened.repository.id, caller.user.id);
        if (!isTheirs && !caller.user.isAdmin) throw notTheRecipient();
        await assertRoom(queries, recipient, caller.user);
        await assertNameFree(queries, opened, recipient);
        return { opened, recipient, teamIds: transfer.teamIds };
      }
    },

    /** Rejects or withdraws an offer. Its recipient and the owner of the repository may do this. */
    reject: (place: GrantedRepository, caller: ForgeCaller): Promise<RepositoryDetails> =>
      db.transaction(async (tx) => {
        const opened = await reopenRepository(tx, place);
        const { repository, owner, access } = opened;
        const { id } = repository;
        if ((await findTransfer(tx, id)) === undefined) throw notFound();
        const isTheirs = await isOfferedTo(tx, id, caller.user.id);
        if (!isTheirs && !reaches(access, "owner")) throw notTheRecipient();
        await deleteTransfer(tx, id);
        await endUnreadable(tx, { repositoryId: id });
        await emit(tx, "repository.transfer_ended", opened);
        const watchers = (await countWatchers(tx, [id])).get(id) ?? 0;
        return { repository, owner, access, watchers, isSignedIn: true };
      }),
  };

  async function loadDetails(id: RepositoryId, caller: ForgeCaller): Promise<RepositoryDetails> {
    const repository = await findRepositoryById(db, id);
    const owner = repository && (await findUserById(db, repository.ownerId));
    if (repository === undefined || owner === undefined) throw notFound();
    const access = await findAccess(db, { repository, owner }, caller.user);
    const watchers = (await countWatchers(db, [id])).get(id) ?? 0;
    const transfer = await findPendingTransfer(db, id);
    return { repository, owner, access, watchers, isSignedIn: true, transfer };
  }

  /** Refuses a name whose folder the new owner already has on disk. */
  async function assertFolderFree({
    opened,
    recipient,
  }: {
    readonly opened: OwnedRepository;
    readonly recipient: ForgeUser;
  }): Promise<void> {
    const { name } = opened.repository;
    const place = toRepositoryPath(recipient.name, name);
    await moves.completeAt(place);
    if (await files.exists(place))
      throw new AppError(
        "unprocessable",
        `repository files already exist [uname: ${recipient.name}, name: ${name}]`,
      );
  }

  async function offer(
    tx: Transaction,
    { repository, owner }: OwnedRepository,
    { recipient, teamIds }: { readonly recipient: ForgeUser; readonly teamIds: readonly TeamId[] },
    actor: ForgeUser,
  ): Promise<void> {
    await insertTransfer(tx, {
      repositoryId: repository.id,
      doerId: actor.id,
      recipientId: recipient.id,
      teamIds,
    });
    await emit(tx, "repository.offered", { repository, owner, recipient, actor });
  }

  /** Changes the owner in the row. The files are moved after the commit; recovery at startup completes it after a crash. */
  async function hand(
    tx: Transaction,
    { repository, owner: former }: OwnedRepository,
    owner: ForgeUser,
    {
      actor,
      teamIds,
    }: {
      readonly actor: ForgeUser;
      /** Teams of the new owner that get the repository. */
      readonly teamIds: readonly TeamId[];
    },
  ): Promise<void> {
    const { id, name } = repository;
    await deleteTransfer(tx, id);
    await deleteCollaborator(tx, id, owner.id);
    await deleteTeamsOfRepository(tx, id);
    // A team may have been deleted since the offer.
    for (const team of await listTeamsByIds(tx, teamIds))
      if (team.orgId === owner.id) await insertTeamRepository(tx, team.id, id);
    await deleteRepositoryRedirect(tx, owner.id, name);
    await putRepositoryRedirect(tx, { ownerId: former.id, name, repositoryId: id });
    await updateRepository(tx, id, { ownerId: owner.id, needsMove: true, updatedAt: tx.now });
    // A package and its linked repository must have the same owner.
    await unlinkPackagesOf(tx, id);
    await deleteForeignLabels(tx, id);
    await endUnreadable(tx, { repositoryId: id });
    if (owner.kind === "individual")
      await insertWatch(tx, { repositoryId: id, userId: owner.id, createdAt: tx.now });
    await enqueueCleanup(enqueue, tx);
    const current = await findRepositoryById(tx, id);
    if (current !== undefined)
      await emit(tx, "repository.transferred", { repository: current, owner, former, actor });
  }
}

async function findRecipient(
  queries: Queries,
  name: string,
  viewer: ForgeUser,
): Promise<ForgeUser> {
  const recipient = await findUserByName(queries, name);
  if (recipient === undefined || !(await isKnownTo(queries, recipient, viewer)))
    throw noSuchOwner();
  return recipient;
}

/** Refuses teams of another organization. */
async function assertTeams(
  queries: Queries,
  recipient: ForgeUser,
  teamIds: readonly TeamId[],
): Promise<void> {
  if (teamIds.length === 0) return;
  if (recipient.kind !== "organization")
    throw new AppError(
      "unprocessable",
      "Teams can only be added to organization-owned repositories",
    );
  const teams = new Map((await listTeamsByIds(queries, teamIds)).map((team) => [team.id, team]));
  for (const id of teamIds) {
    const team = teams.get(id);
    if (team === undefined) throw new AppError("unprocessable", `team ${id} not found`);
    if (team.orgId !== recipient.id)
      throw new AppError("forbidden", `team ${id} belongs not to org ${recipient.id}`);
  }
}

async function mayDecideFor(
  queries: Queries,
  recipient: ForgeUser,
  actor: ForgeUser,
): Promise<boolean> {
  if (actor.isAdmin || recipient.id === actor.id) return true;
  if (recipient.kind !== "organization") return false;
  return (await listRepositoryMakers(queries, recipient.id)).includes(actor.id);
}

/** Refuses a name that the new owner already has. */
async function assertNameFree(
  queries: Queries,
  { repository }: OwnedRepository,
  recipient: ForgeUser,
): Promise<void> {
  if ((await findRepositoryByName(queries, recipient.id, repository.name)) !== undefined)
    throw taken(recipient.name, repository.name);
}

const notTheRecipient = () => new AppError("forbidden", "permission denied");

const noSuchOwner = () =>
  new AppError("not_found", "The new owner does not exist or cannot be found");

const inProgress = ({ repository, owner }: OwnedRepository) =>
  new AppError(
    "conflict",
    `repository is already being transferred [uname: ${owner.name}, name: ${repository.name}]`,
  );

/** The refusal of a name that the new owner got while the transfer was recorded. */
const toTaken = (error: unknown, owner: string, name: string) =>
  isConflict(error) && error.constraint?.includes("lower_name") === true
    ? taken(owner, name)
    : error;

const taken = (owner: string, name: string) =>
  new AppError("unprocessable", `repository already exists [uname: ${owner}, name: ${name}]`);
