import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import { isRefName } from "../../contract/forge/repositories/rules.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import type { OwnedRepository } from "../events.ts";
import { mergeUpstream, type TakeUpstream } from "../git/take-upstream.ts";
import type { GrantedRepository } from "../opened.ts";
import { notFound } from "../refusals.ts";
import { grantRepository } from "../repositories/open-repository.ts";

/** How a branch of a fork got the commits of its parent's. */
export type SyncOutcome = "up-to-date" | "fast-forward" | "merge";

export interface SyncOptions {
  /** Empty for the default branch of the fork. */
  readonly branch: string;
  /** Whether diverged branches are refused instead of merged. */
  readonly isFastForwardOnly: boolean;
}

/**
 * Updates a branch of a fork from the parent's branch of that name, as a push by the caller. Refuses with `unprocessable` a
 * repository that is not a fork, with `not_found` a branch that one of both lacks and a parent that the caller may not
 * read, with `invalid_argument` diverged branches under `isFastForwardOnly`, with `conflict` files that both sides changed
 * and a branch that moved meanwhile, and with `forbidden` a protected branch.
 */
export type SyncFork = (
  opened: GrantedRepository,
  options: SyncOptions,
  caller: ForgeCaller,
  signal: AbortSignal,
) => Promise<SyncOutcome>;

/** Conflicting paths that a refusal names. */
const NAMED_MAX = 20;

export function createForkSync({
  db,
  git,
  takeUpstream,
}: {
  readonly db: Database;
  readonly git: Git;
  readonly takeUpstream: TakeUpstream;
}): SyncFork {
  return async (opened, options, caller, signal) => {
    const parent = await openParent(opened, caller);
    const branch = options.branch === "" ? opened.repository.defaultBranch : options.branch;
    if (!isRefName(branch)) throw notFound();
    const target = { owned: opened, branch };
    const source = { owned: parent, branch };
    let outcome: SyncOutcome = "merge";
    const isMoved = await takeUpstream({ target, source, caller, signal }, async (combination) => {
      if (combination.isForward) {
        outcome = "fast-forward";
        return combination.upstream;
      }
      if (options.isFastForwardOnly)
        throw new AppError(
          "invalid_argument",
          "fast forward merge not possible: branch has diverged",
        );
      const name = `${parent.owner.name}/${parent.repository.name}`;
      const message = `Merge branch '${branch}' of ${name} into ${branch}\n`;
      const merged = await mergeUpstream(git, combination, message);
      if (merged.kind === "conflict") throw conflict(merged.paths);
      return merged.commit;
    });
    return isMoved ? outcome : "up-to-date";
  };

  async function openParent(
    { repository }: GrantedRepository,
    caller: ForgeCaller,
  ): Promise<OwnedRepository> {
    if (repository.forkOf === undefined)
      throw new AppError("unprocessable", "the repository is not a fork");
    const parent = await findRepositoryById(db, repository.forkOf);
    const owner = parent && (await findUserById(db, parent.ownerId));
    if (parent === undefined || owner === undefined) throw notFound();
    const permission = { kind: "repository", part: "code", level: "read" } as const;
    return grantRepository(
      db,
      { repository: parent, owner },
      { caller, permission, isChange: false },
    );
  }
}

function conflict(conflicting: readonly string[]): AppError {
  const paths = conflicting.slice(0, NAMED_MAX).join(", ");
  const more = conflicting.length > NAMED_MAX ? ", …" : "";
  return new AppError("conflict", `merge failed because of conflict: ${paths}${more}`);
}
