import type { Database } from "../../../storage/engine/database.ts";
import { findCommitId } from "../../../storage/git/commits.ts";
import type { Git } from "../../../storage/git/git.ts";
import { fetchCommit } from "../../../storage/git/share-objects.ts";
import type { IssueId } from "../../../storage/tables/forge/ids.ts";
import { findIssueById } from "../../../storage/tables/forge/issues/issues.ts";
import { findPull, type ForgePull } from "../../../storage/tables/forge/pulls/pulls.ts";
import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { isRefName } from "../../contract/forge/repositories/rules.ts";
import type { OwnedRepository } from "../events.ts";
import type { RunInFolder } from "../git/run-in-folder.ts";

const HEADS = "refs/heads/";
/** How often a ref is written again because the head moved meanwhile. */
const WRITES_MAX = 5;
/** How long git waits for its lock on the ref: the request and a job, perhaps of another daemon, write it at once. Git's default is 100. */
const LOCK_WAIT_MS = 10_000;

/** Returns the ref by which git serves the head of a pull request. */
export const toPullRef = (number: number): string => `refs/pull/${number}/head`;

/** What a name in a request names: a branch, another kind of object, or nothing. */
export type FoundBranch =
  | { readonly kind: "branch"; readonly commitId: string }
  | { readonly kind: "other" | "missing" };

/** The branches of pull requests, and the refs that git serves for them. */
export type PullRefs = ReturnType<typeof createPullRefs>;

export function createPullRefs({
  db,
  git,
  runInFolder,
}: {
  readonly db: Database;
  readonly git: Git;
  readonly runInFolder: RunInFolder;
}) {
  return {
    /** Brings the commits of a head that was pushed to a fork into the base, before the job does. Has no effect on others. */
    async bringHead({ repository: base }: OwnedRepository, pull: ForgePull): Promise<void> {
      if (pull.state !== "checking" || pull.headRepositoryId === base.id) return;
      const found = await runInFolder(base, (directory) =>
        findCommitId(git, directory, pull.headCommit),
      );
      if (found === undefined) await writeHead(pull.issueId);
    },

    /** Finds a branch by name. A tag and the id of a commit are `other`. */
    findBranch: (repository: ForgeRepository, name: string): Promise<FoundBranch> =>
      runInFolder(repository, async (directory) => {
        if (!isRefName(name)) return { kind: "missing" };
        const commitId = await findCommitId(git, directory, `${HEADS}${name}`);
        if (commitId !== undefined) return { kind: "branch", commitId };
        const isId = /^[0-9a-f]{40,64}$/i.test(name);
        for (const other of [`refs/tags/${name}`, ...(isId ? [name] : [])])
          if ((await findCommitId(git, directory, other)) !== undefined) return { kind: "other" };
        return { kind: "missing" };
      }),

    writeHead,
  };

  /**
   * Points `refs/pull/N/head` to the head that the row has, with its objects. Idempotent. Of two daemons that write it at
   * once the later one reads the row again, so the ref is that of the row in the end.
   */
  async function writeHead(issueId: IssueId): Promise<void> {
    let written = "";
    for (let attempt = 1; attempt <= WRITES_MAX; attempt++) {
      const issue = await findIssueById(db, issueId);
      const pull = issue && (await findPull(db, issueId));
      const base = pull && (await findRepositoryById(db, pull.repositoryId));
      if (issue === undefined || pull === undefined || base === undefined) return;
      if (pull.headCommit === written) return;
      const { headRepositoryId } = pull;
      const head =
        headRepositoryId === undefined || headRepositoryId === base.id
          ? base
          : ((await findRepositoryById(db, headRepositoryId)) ?? base);
      await write(base, head, toPullRef(issue.number), pull.headCommit);
      written = pull.headCommit;
    }
  }

  async function write(
    base: ForgeRepository,
    head: ForgeRepository,
    ref: string,
    commit: string,
  ): Promise<void> {
    await runInFolder(base, async (directory) => {
      if ((await findCommitId(git, directory, commit)) === undefined)
        await runInFolder(head, (source) => fetchCommit(git, { source, commit }, { directory }));
      const config = { "core.filesRefLockTimeout": String(LOCK_WAIT_MS) };
      await git.run(["update-ref", ref, commit], { directory, config });
    });
  }
}
