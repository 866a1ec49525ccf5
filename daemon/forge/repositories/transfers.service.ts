import { type Database, isConflict, type Transaction } from "../../../storage/engine/database.ts";
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
import { type AccessLevel, assertScope, findAccess, reaches } from "./access.ts";
import { assertRoom } from "./create-repository.ts";
import type { OwnedRepository, RepositoryEvents } from "./events.ts";
import { toRepositoryPath } from "./names.ts";
import { enqueueCleanup, type FolderMoves } from "./folder-moves.ts";
import { getOwned, type RepositoryPath } from "./repositories.service.ts";
import type { RepositoryDetails } from "./repository.view.ts";
import { findPendingTransfer } from "./pending-transfer.ts";

/** Transfers of ownership. Every function throws `not_found` when the caller may not read the repository. */
export interface Transfers {
  /**
   * Transfers a repository at once when the caller may also accept it: as a site administrator, as the new owner, or
   * with the right to create repositories in the organization. Otherwise offers it and returns `isPending`. Refuses
   * with `forbidden` a caller who does not own it and teams of another organization; with `not_found` an unknown or
   * hidden new owner; with `conflict` a pending transfer; with `unprocessable` a taken name and unknown teams.
   */
  start(
    path: RepositoryPath,
    caller: ForgeCaller,
    transfer: { readonly newOwner: string; readonly teamIds: readonly number[] },
  ): Promise<{ readonly details: RepositoryDetails; readonly isPending: boolean }>;
  /**
   * Accepts an offer. Refuses with `forbidden` a caller who is not the recipient, and a recipient with the maximum
   * number of repositories.
   */
  accept(path: RepositoryPath, caller: ForgeCaller): Promise<RepositoryDetails>;
  /** Rejects or withdraws an offer. Its recipient and the owner of the repository may do this. */
  reject(path: RepositoryPath, caller: ForgeCaller): Promise<RepositoryDetails>;
}

export interface TransfersDeps {
  readonly db: Database;
  readonly files: RepositoryFiles;
  readonly moves: FolderMoves;
  readonly events: RepositoryEvents;
  readonly enqueue: Enqueue;
}

interface Opened extends OwnedRepository {
  readonly access: AccessLevel;
}

export function createTransfers({ db, files, moves, events, enqueue }: TransfersDeps): Transfers {
  return {
    async start(path, caller, { newOwner, teamIds: requestedTeamIds }) {
      const teamIds = requestedTeamIds.map(toTeamId);
      const opened = await open(path, caller, "/transfer");
      if (!reaches(opened.access, "owner")) throw notTheOwner();
      const recipient = await findRecipient(newOwner, caller.user);
      await assertTeams(recipient, teamIds);
      if ((await findTransfer(db, opened.repository.id)) !== undefined) throw inProgress(opened);
      await assertFree(opened, recipient);
      const { user: actor } = caller;
      const isPending = !(await mayDecideFor(recipient, actor));
      if (isPending)
        await db
          .transaction((tx) => offer(tx, opened, { recipient, teamIds }, actor))
          .catch((error: unknown) => {
            throw isConflict(error) ? inProgress(opened) : error;
          });
      else await hand(opened, recipient, actor, { teamIds });
      return { details: await loadDetails(opened.repository.id, caller), isPending };
    },

    async accept(path, caller) {
      const opened = await open(path, caller, "/transfer/accept");
      const transfer = await findTransfer(db, opened.repository.id);
      const recipient = transfer && (await findUserById(db, transfer.recipientId));
      if (transfer === undefined || recipient === undefined) throw notFound();
      const isTheirs = await isOfferedTo(db, opened.repository.id, caller.user.id);
      if (!isTheirs && !caller.user.isAdmin) throw notTheRecipient();
      await assertRoom(db, recipient, caller.user);
      await assertFree(opened, recipient);
      const { teamIds } = transfer;
      await hand(opened, recipient, caller.user, { teamIds, offeredTo: recipient.id });
      return loadDetails(opened.repository.id, caller);
    },

    async reject(path, caller) {
      const opened = await open(path, caller, "/transfer/reject");
      const { id } = opened.repository;
      if ((await findTransfer(db, id)) === undefined) throw notFound();
      const isTheirs = await isOfferedTo(db, id, caller.user.id);
      if (!isTheirs && !reaches(opened.access, "owner")) throw notTheRecipient();
      await db.transaction(async (tx) => {
        if (!(await deleteTransfer(tx, id))) throw notFound();
        await events.transferEnded?.(tx, opened);
      });
      const { repository, owner, access } = opened;
      const watchers = (await countWatchers(db, [id])).get(id) ?? 0;
      return { repository, owner, access, watchers, isSignedIn: true };
    },
  };

  async function open(path: RepositoryPath, caller: ForgeCaller, rest: string): Promise<Opened> {
    const toAddress = (current: RepositoryPath) =>
      `/api/v1/repos/${current.owner}/${current.repo}${rest}`;
    const found = await getOwned(db, path, caller.user, toAddress);
    const access = await findAccess(db, found, caller.user, "any");
    if (!reaches(access, "read")) throw notFound();
    assertScope(caller.scope, "write", found);
    return { repository: found.repository, owner: found.owner, access };
  }

  async function loadDetails(id: RepositoryId, caller: ForgeCaller): Promise<RepositoryDetails> {
    const repository = await findRepositoryById(db, id);
    const owner = repository && (await findUserById(db, repository.ownerId));
    if (repository === undefined || owner === undefined) throw notFound();
    const access = await findAccess(db, { repository, owner }, caller.user);
    const watchers = (await countWatchers(db, [id])).get(id) ?? 0;
    const transfer = await findPendingTransfer(db, id);
    return { repository, owner, access, watchers, isSignedIn: true, transfer };
  }

  async function findRecipient(name: string, viewer: ForgeUser): Promise<ForgeUser> {
    const recipient = await findUserByName(db, name);
    if (recipient === undefined || !(await isKnownTo(db, recipient, viewer))) throw noSuchOwner();
    return recipient;
  }

  /** Refuses teams of another organization. */
  async function assertTeams(recipient: ForgeUser, teamIds: readonly TeamId[]): Promise<void> {
    if (teamIds.length === 0) return;
    if (recipient.kind !== "organization")
      throw new AppError(
        "unprocessable",
        "Teams can only be added to organization-owned repositories",
      );
    const teams = new Map((await listTeamsByIds(db, teamIds)).map((team) => [team.id, team]));
    for (const id of teamIds) {
      const team = teams.get(id);
      if (team === undefined) throw new AppError("unprocessable", `team ${id} not found`);
      if (team.orgId !== recipient.id)
        throw new AppError("forbidden", `team ${id} belongs not to org ${recipient.id}`);
    }
  }

  async function mayDecideFor(recipient: ForgeUser, actor: ForgeUser): Promise<boolean> {
    if (actor.isAdmin || recipient.id === actor.id) return true;
    if (recipient.kind !== "organization") return false;
    return (await listRepositoryMakers(db, recipient.id)).includes(actor.id);
  }

  /** Refuses a name that the new owner already has, in the database or on disk. */
  async function assertFree({ repository }: OwnedRepository, recipient: ForgeUser): Promise<void> {
    if ((await findRepositoryByName(db, recipient.id, repository.name)) !== undefined)
      throw taken(recipient, repository.name);
    const place = toRepositoryPath(recipient.name, repository.name);
    await moves.completeAt(place);
    if (await files.exists(place))
      throw new AppError(
        "unprocessable",
        `repository files already exist [uname: ${recipient.name}, name: ${repository.name}]`,
      );
  }

  async function offer(
    tx: Transaction,
    opened: Opened,
    { recipient, teamIds }: { readonly recipient: ForgeUser; readonly teamIds: readonly TeamId[] },
    actor: ForgeUser,
  ): Promise<void> {
    const repository = await findRepositoryById(tx, opened.repository.id);
    // The repository may have been transferred during the check of names.
    if (repository?.ownerId !== opened.owner.id) throw notFound();
    await insertTransfer(tx, {
      repositoryId: repository.id,
      doerId: actor.id,
      recipientId: recipient.id,
      teamIds,
    });
    await events.offered?.(tx, { repository, owner: opened.owner, recipient, actor });
  }

  /** Changes the owner in the row, then moves the files. Recovery at startup completes it after a crash. */
  async function hand(
    opened: Opened,
    recipient: ForgeUser,
    actor: ForgeUser,
    {
      teamIds,
      offeredTo,
    }: {
      /** Teams of the recipient that get the repository. */
      readonly teamIds: readonly TeamId[];
      /** Transfers only if it is still offered to this account. */
      readonly offeredTo?: number;
    },
  ): Promise<void> {
    const { id, name } = opened.repository;
    try {
      await db.transaction(async (tx) => {
        const repository = await findRepositoryById(tx, id);
        const owner = await findUserById(tx, recipient.id);
        const isOffered =
          offeredTo === undefined || (await findTransfer(tx, id))?.recipientId === offeredTo;
        if (repository?.ownerId !== opened.owner.id || owner === undefined || !isOffered)
          throw notFound();
        await deleteTransfer(tx, id);
        await deleteCollaborator(tx, id, owner.id);
        await deleteTeamsOfRepository(tx, id);
        // A team may have been deleted since the offer.
        for (const team of await listTeamsByIds(tx, teamIds))
          if (team.orgId === owner.id) await insertTeamRepository(tx, team.id, id);
        await deleteRepositoryRedirect(tx, owner.id, repository.name);
        await putRepositoryRedirect(tx, {
          ownerId: opened.owner.id,
          name: repository.name,
          repositoryId: id,
        });
        await updateRepository(tx, id, {
          ownerId: owner.id,
          needsMove: true,
          updatedAt: tx.now,
        });
        // A package and its linked repository must have the same owner.
        await unlinkPackagesOf(tx, id);
        await deleteForeignLabels(tx, id);
        if (owner.kind === "individual")
          await insertWatch(tx, { repositoryId: id, userId: owner.id, createdAt: tx.now });
        await enqueueCleanup(enqueue, tx);
        const current = await findRepositoryById(tx, id);
        if (current !== undefined)
          await events.transferred?.(tx, {
            repository: current,
            owner,
            former: opened.owner,
            actor,
          });
      });
    } catch (error) {
      const isTaken = isConflict(error) && error.constraint?.includes("lower_name") === true;
      throw isTaken ? taken(recipient, name) : error;
    }
    await moves.complete(id);
  }
}

const notTheOwner = () => new AppError("forbidden", "user should be the owner of the repo");

const notTheRecipient = () => new AppError("forbidden", "permission denied");

const noSuchOwner = () =>
  new AppError("not_found", "The new owner does not exist or cannot be found");

const inProgress = ({ repository, owner }: OwnedRepository) =>
  new AppError(
    "conflict",
    `repository is already being transferred [uname: ${owner.name}, name: ${repository.name}]`,
  );

const taken = (owner: ForgeUser, name: string) =>
  new AppError("unprocessable", `repository already exists [uname: ${owner.name}, name: ${name}]`);
