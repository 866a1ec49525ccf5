import type { Queries } from "../../../storage/engine/database.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import type { RepositoryId } from "../../../storage/tables/forge/ids.ts";
import {
  findRepositoryById,
  type RepositorySettings,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { AppError } from "../../errors.ts";
import { isStillSignedIn } from "../accounts/authentication.ts";
import type { ForgeCaller } from "../caller.ts";
import type { RefChange } from "../events.ts";
import type { OpenedRepository } from "../opened.ts";
import { notFound } from "../refusals.ts";
import { assertScope, findAccess, isPublic, reaches } from "../repositories/access.ts";
import { mayEditHead } from "../repositories/maintainer-edit.ts";
import { findOwned, getOwned } from "../repositories/find-repository.ts";
import { keepsCode, keepsPulls, keepsWiki } from "../repositories/repository-settings.view.ts";

const HEADS = "refs/heads/";
/** Branches that one push changes without the right to write. */
const EDITED_MAX = 20;

/** The repository that a git client names, and who asks. */
export interface TransferRequest {
  readonly ownerName: string;
  /** With or without `.git`. */
  readonly name: string;
  readonly caller: ForgeCaller | undefined;
}

/** What of a repository is transferred. */
export interface TransferPart {
  readonly unit: "repo.code" | "repo.wiki";
  /** Ends the name of the repository, without regard to case. */
  readonly ending: RegExp;
  readonly keeps: (settings: RepositorySettings) => boolean;
}

const CODE: TransferPart = { unit: "repo.code", ending: /\.git$/i, keeps: keepsCode };
/** The wiki of a repository, which git reaches as `NAME.wiki.git`. No repository can have such a name. */
export const WIKI: TransferPart = {
  unit: "repo.wiki",
  ending: /\.wiki(?:\.git)?$/i,
  keeps: keepsWiki,
};

/**
 * What a transfer does: a clone reads, a push writes, and a push for review proposes. Who may write may also propose. A push
 * is opened as a proposal, because its refs are not known yet.
 */
export type TransferLevel = "read" | "write" | "propose";

export type TransferAccess = ReturnType<typeof createTransferAccess>;

/**
 * Who may transfer the code of a repository with git or Git LFS. Refuses with `unauthenticated` an anonymous caller who might
 * get access with credentials, with `not_found` a repository that the caller may not read, and with `forbidden` a transfer
 * that the permission or the scope of the token does not allow.
 */
export function createTransferAccess(db: Queries, part: TransferPart = CODE) {
  return {
    /**
     * Returns the repository if the caller may transfer its code; a former name is followed.
     * @param toAddress the address to which a request for a former name is redirected instead
     */
    async open(
      request: TransferRequest,
      level: TransferLevel,
      toAddress?: (current: { readonly owner: string; readonly repo: string }) => string,
    ): Promise<OpenedRepository> {
      const { caller } = request;
      const found = await findVisible(request, toAddress);
      if (found === undefined) {
        // An anonymous caller must not learn whether the repository exists.
        throw caller === undefined ? needsCredentials() : notFound();
      }
      const mayEdit =
        part === CODE &&
        level === "propose" &&
        (await mayEditHead(db, caller?.user, found.repository));
      assertAllowed(found, { part, level: mayEdit ? "edit" : level, caller });
      return found;
    },

    /**
     * Checks again whether a running push is allowed and returns the reason for a refusal; a rename of the repository
     * does not matter.
     * @param changes the refs that a push without the right to write may move if they are heads of pull requests
     */
    async findPushRefusal(
      id: RepositoryId,
      caller: ForgeCaller,
      level: "write" | "propose",
      changes: readonly RefChange[],
    ): Promise<string | undefined> {
      if (!(await isStillSignedIn(db, caller))) return "the credentials were revoked";
      const repository = await findRepositoryById(db, id);
      const owner = repository && (await findUserById(db, repository.ownerId));
      if (repository === undefined || owner === undefined) return "repository not found";
      const access = await findAccess(db, { repository, owner }, caller.user, part.unit);
      const isEdit =
        part === CODE &&
        level === "write" &&
        !reaches(access, "write") &&
        (await editsHeads(id, caller, changes));
      try {
        assertAllowed(
          { repository, owner, access },
          { part, level: isEdit ? "edit" : level, caller },
        );
        return undefined;
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        return error.code === "forbidden" ? error.message : "repository not found";
      }
    },
  };

  /** Returns whether a person may make changes to branches as the maintainer of their bases. They delete none. */
  async function editsHeads(
    id: RepositoryId,
    { user }: ForgeCaller,
    changes: readonly RefChange[],
  ): Promise<boolean> {
    if (changes.length > EDITED_MAX) return false;
    for (const { ref, after } of changes)
      if (
        after === undefined ||
        !ref.startsWith(HEADS) ||
        !(await mayEditHead(db, user, { id }, ref.slice(HEADS.length)))
      )
        return false;
    return changes.length > 0;
  }

  async function findVisible(
    { ownerName, name, caller }: TransferRequest,
    toAddress: Parameters<typeof getOwned>[3] | undefined,
  ): Promise<OpenedRepository | undefined> {
    try {
      const path = { owner: ownerName, repo: name.replace(part.ending, "") };
      const owned =
        toAddress === undefined
          ? await findOwned(db, path)
          : await getOwned(db, path, caller?.user, toAddress);
      if (owned === undefined) return undefined;
      const access = await findAccess(db, owned, caller?.user, part.unit);
      return reaches(access, "read") ? { ...owned, access } : undefined;
    } catch (error) {
      if (error instanceof AppError && error.code === "not_found") return undefined;
      throw error;
    }
  }
}

function assertAllowed(
  found: OpenedRepository,
  {
    part,
    level,
    caller,
  }: {
    readonly part: TransferPart;
    readonly level: TransferLevel | "edit";
    readonly caller: ForgeCaller | undefined;
  },
): void {
  const isPush = level !== "read";
  // A repository without code takes no pushes, and only a public one is served to fetches.
  const isServed = part === CODE && !isPush && isPublic(found);
  if (!part.keeps(found.repository.settings) && !isServed)
    throw caller === undefined ? needsCredentials() : notFound();
  if (isPush && caller === undefined) throw needsCredentials();
  assertScope(caller?.scope, isPush ? "write" : "read", found);
  const isOpenToReaders =
    part === CODE && (level === "edit" || (level === "propose" && mayPropose(found, caller)));
  const needed = isPush && !isOpenToReaders ? "write" : "read";
  if (!reaches(found.access, needed))
    throw new AppError("forbidden", "you may not push to this repository");
  if (isPush && found.repository.isMirror)
    throw new AppError(
      "forbidden",
      "the repository is a mirror: it can be cloned, but not pushed to",
    );
  if (isPush && found.repository.archivedAt !== undefined)
    throw new AppError(
      "forbidden",
      "the repository is archived: it can be cloned, but not pushed to",
    );
}

/** A pull request is a person's: jobs and deploy keys open none. */
function mayPropose({ repository }: OpenedRepository, caller: ForgeCaller | undefined): boolean {
  const { task, deployKey } = caller?.user ?? {};
  return keepsPulls(repository.settings) && task === undefined && deployKey === undefined;
}

/** The refusal of an anonymous caller, which makes git ask for credentials. */
export const needsCredentials = (): AppError =>
  new AppError("unauthenticated", "authentication required");
