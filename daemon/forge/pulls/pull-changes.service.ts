import type { Database } from "../../../storage/engine/database.ts";
import { findMergeBase } from "../../../storage/git/changed-paths.ts";
import { type DiffFile, type IgnoredSpace, toSpaceFlags } from "../../../storage/git/diff-files.ts";
import type { ForgePull } from "../../../storage/tables/forge/pulls/pulls.ts";
import { type CodeStream, streamGit } from "../code/code-stream.ts";
import type { CommitList, CommitParts, Commits } from "../code/commits.service.ts";
import { repository } from "../../contract/permission.ts";
import { grantRepository } from "../repositories/open-repository.ts";
import type { CodeAccess, CodeRequest, OpenedCode } from "../code/open-code.ts";
import type { OwnedRepository } from "../events.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { openPull } from "./open-pull.ts";
import type { PullRefs } from "./pull-refs.ts";
import type { PullFiles } from "./pull-files.ts";

/** A page of the files of a pull request. */
export interface PullFileList {
  readonly owned: OwnedRepository;
  /** The commit that has the files. */
  readonly headCommit: string;
  readonly files: readonly DiffFile[];
  readonly total: number;
}

/** What a pull request changes, from the merge base to its head. */
export type PullChanges = ReturnType<typeof createPullChanges>;

/** Creates the service. Every function refuses as `CodeAccess` does, and throws `not_found` for no pull request. */
export function createPullChanges({
  db,
  access,
  commits,
  files,
  refs,
}: {
  readonly db: Database;
  readonly access: CodeAccess;
  readonly commits: Commits;
  readonly files: PullFiles;
  readonly refs: Pick<PullRefs, "bringHead">;
}) {
  return {
    async listCommits(
      of: PullRequestOfCode,
      window: PageWindow,
      parts: CommitParts,
    ): Promise<CommitList> {
      const { pull, request } = await openChanged(of);
      const { headCommit: sha, mergeBase, baseCommit } = pull;
      const not = mergeBase === "" ? baseCommit : mergeBase;
      return commits.list(request, { sha, not, path: "", since: "", until: "" }, window, parts);
    },

    async listFiles(
      of: PullRequestOfCode,
      window: PageWindow,
      ignoredSpace: IgnoredSpace | undefined,
    ): Promise<PullFileList> {
      const { pull, request } = await openChanged(of);
      return access.read(request, async (code) => {
        const pair = { before: await findBase(code, pull), after: pull.headCommit };
        const { directory, signal } = code;
        const options = { directory, signal, ...(ignoredSpace && { ignoredSpace }) };
        const found = await files.list(code.owned.repository.id, pair, options);
        const { limit, offset } = toRows(window);
        return {
          owned: code.owned,
          headCommit: pull.headCommit,
          files: found.files.slice(offset, offset + limit),
          total: found.changedFiles,
        };
      });
    },

    /** Streams the changes as one diff; with `isBinary` it has the contents of binary files. */
    async diff(
      of: PullRequestOfCode,
      { isBinary, ignoredSpace }: DiffDetails,
    ): Promise<CodeStream> {
      const { pull, request } = await openChanged(of);
      return streamGit(access, request, async (code) => [
        "diff",
        "-p",
        "-M",
        ...(isBinary ? ["--binary"] : []),
        ...toSpaceFlags(ignoredSpace),
        await findBase(code, pull),
        pull.headCommit,
        "--",
      ]);
    },

    /** Streams the commits as mails, the oldest first. */
    async patch(of: PullRequestOfCode): Promise<CodeStream> {
      const { pull, request } = await openChanged(of);
      return streamGit(access, request, async (code) => [
        "format-patch",
        "--stdout",
        "--no-signature",
        `${await findBase(code, pull)}..${pull.headCommit}`,
      ]);
    },
  };

  /** Finds a pull request whose commits the base has. Refuses with `not_found` a caller who may not read the code. */
  async function openChanged({ number, request }: PullRequestOfCode): Promise<Changed> {
    const { caller, opened } = request;
    const { pull } = await openPull(db, opened, number);
    const permission = repository("code", "read");
    const code = await grantRepository(db, opened, { caller, permission, isChange: false });
    await refs.bringHead(opened, pull);
    return { pull, request: { ...request, opened: code } };
  }
}

interface DiffDetails {
  readonly isBinary: boolean;
  readonly ignoredSpace: IgnoredSpace | undefined;
}

/** A request for the changes of a pull request that the caller may read. */
export interface PullRequestOfCode {
  readonly number: number;
  readonly request: CodeRequest;
}

/** A pull request, and the request for the code of its base. */
interface Changed {
  readonly pull: ForgePull;
  readonly request: CodeRequest;
}

/** Returns where the changes begin. It is looked up while it is not computed yet. */
async function findBase(
  { git, directory, signal }: OpenedCode,
  { mergeBase, baseCommit, headCommit }: ForgePull,
): Promise<string> {
  if (mergeBase !== "") return mergeBase;
  const pair = { before: baseCommit, after: headCommit };
  return (await findMergeBase(git, pair, { directory, signal })) ?? baseCommit;
}
