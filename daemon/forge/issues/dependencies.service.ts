import type { Database, Transaction } from "../../../storage/engine/database.ts";
import {
  countDependencies,
  deleteDependency,
  dependsOn,
  insertDependency,
  listDependencies,
} from "../../../storage/tables/forge/issues/dependencies.ts";
import type { ForgeIssue } from "../../../storage/tables/forge/issues/issues.ts";
import { insertEvents } from "../../../storage/tables/forge/issues/timeline.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import type { Emit } from "../events.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import { hasDependencies } from "../repositories/repository-settings.view.ts";
import { repository as repositoryPermission } from "../../contract/permission.ts";
import type { GrantedRepository, OpenedRepository } from "../opened.ts";
import {
  assertNotArchived,
  grantRepository,
  reopenRepository,
} from "../repositories/open-repository.ts";
import { findOwned, type RepositoryPath } from "../repositories/find-repository.ts";
import { canWrite, findPart, openIssue } from "./issue-access.ts";
import { type IssueDetails, loadIssueDetails } from "./issue-details.ts";
import { readIssues } from "./readable-issues.ts";

/** Maximum number of dependencies of one issue, in both directions: their lists are read as a whole. */
const DEPENDENCIES_MAX = 100;

/** An issue of a dependency with its repository. */
interface Side {
  readonly opened: OpenedRepository;
  readonly issue: ForgeIssue;
}

/** An issue of a repository. */
type IssuePath = RepositoryPath & { readonly index: number };

/**
 * The issue of a request and the issue of its body, which blocks the former (`blockers`) or is blocked by it (`blocked`).
 */
export interface IssuePair {
  readonly opened: GrantedRepository;
  readonly number: number;
  readonly other: IssuePath;
  readonly side: "blockers" | "blocked";
}

/** Dependencies between issues: an issue cannot be closed before its blockers. */
export type Dependencies = ReturnType<typeof createDependencies>;

/** Creates the service. Every function throws `not_found` when the caller may not read one of the issues. */
export function createDependencies({ db, emit }: { readonly db: Database; readonly emit: Emit }) {
  return {
    /** Lists the issues that block an issue, or with `blocked` those that it blocks, without those that the caller may not read. */
    async list(
      { opened, number, side }: Omit<IssuePair, "other">,
      caller: ForgeCaller | undefined,
      window: PageWindow,
    ): Promise<{ readonly issues: readonly IssueDetails[]; readonly total: number }> {
      if (!hasDependencies(opened.repository.settings)) throw notFound();
      const issue = await openIssue(db, opened, number);
      const found = await listDependencies(db, issue.id, side);
      const all = [...(await readIssues(db, caller, found)).values()];
      const { limit, offset } = toRows(window);
      return { issues: all.slice(offset, offset + limit), total: all.length };
    },

    /**
     * Adds a dependency. The caller must be able to write to the blocked issue and to read the other one. Throws
     * `conflict` when the dependency exists or would form a cycle.
     */
    add: (pair: IssuePair, caller: ForgeCaller) =>
      change(pair, caller, async (tx, sides) => {
        const pair = { issueId: sides.blocked.issue.id, blockerId: sides.blocker.issue.id };
        if (pair.issueId === pair.blockerId)
          throw new AppError("unprocessable", "an issue cannot depend on itself");
        const ids = `[issue id: ${pair.issueId}, dependency id: ${pair.blockerId}]`;
        if (await dependsOn(tx, { issueId: pair.blockerId, blockerId: pair.issueId }))
          throw new AppError("conflict", `circular dependencies exists ${ids}`);
        for (const id of [pair.issueId, pair.blockerId])
          if ((await countDependencies(tx, id)) >= DEPENDENCIES_MAX)
            throw new AppError(
              "unprocessable",
              `an issue has at most ${DEPENDENCIES_MAX} dependencies`,
            );
        if (!(await insertDependency(tx, pair)))
          throw new AppError("conflict", `issue dependency does already exist ${ids}`);
        return "add_dependency";
      }),

    /** Removes a dependency. Refuses with `not_found` when it does not exist. */
    remove: (pair: IssuePair, caller: ForgeCaller) =>
      change(pair, caller, async (tx, sides) => {
        const pair = { issueId: sides.blocked.issue.id, blockerId: sides.blocker.issue.id };
        if (!(await deleteDependency(tx, pair)))
          throw new AppError(
            "not_found",
            `issue dependency does not exist [issue id: ${pair.issueId}, dependency id: ${pair.blockerId}]`,
          );
        return "remove_dependency";
      }),
  };

  /** Changes a dependency and records it in both timelines. Returns the issue of the request. */
  async function change(
    { opened: place, number, other, side }: IssuePair,
    caller: ForgeCaller,
    write: (
      tx: Transaction,
      sides: { readonly blocked: Side; readonly blocker: Side },
    ) => Promise<"add_dependency" | "remove_dependency">,
  ): Promise<IssueDetails> {
    return db.transaction(async (tx) => {
      const opened = await reopenRepository(tx, place);
      const own = { opened, issue: await openIssue(tx, opened, number) };
      const named = await openNamed(tx, other, caller);
      const [blocked, blocker] = side === "blockers" ? [own, named] : [named, own];
      if (!hasDependencies(blocked.opened.repository.settings)) throw notFound();
      if (!canWrite(blocked.opened)) throw notFound();
      assertNotArchived(blocked.opened);
      const kind = await write(tx, { blocked, blocker });
      for (const [at, dependent] of [
        [blocked, blocker],
        [blocker, blocked],
      ] as const) {
        const details = { dependentIssueId: dependent.issue.id };
        await insertEvents(tx, at.issue.id, caller.user.id, [{ kind, details }]);
      }
      const { issue } = blocked;
      if (kind === "remove_dependency")
        await emit(tx, "issue.unblocked", { owned: blocked.opened, issue, actor: caller.user });
      return loadIssueDetails(tx, opened, own.issue, caller.user);
    });
  }

  /** Opens the issue of the body. A former name of its repository is not found, because a body cannot be redirected. */
  async function openNamed(tx: Transaction, path: IssuePath, caller: ForgeCaller): Promise<Side> {
    const owned = await findOwned(tx, path);
    if (owned === undefined || owned.isFormer) throw notFound();
    const part = (await findPart(tx, owned.repository.id, path)) ?? "issues";
    const permission = repositoryPermission(part, "read");
    const opened = await grantRepository(tx, owned, { caller, permission, isChange: false });
    return { opened, issue: await openIssue(tx, opened, path.index) };
  }
}
