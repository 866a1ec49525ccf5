import { setTimeout as sleep } from "node:timers/promises";
import { allEnded } from "../../../storage/git/git.ts";
import { type CommitObject, readCommitObjects } from "../../../storage/git/commit-objects.ts";
import { type LastCommit, toTitle } from "../../../storage/git/last-commits.ts";
import { findFault } from "../../../storage/git/check-commit.ts";
import { applyPatch } from "../../../storage/git/apply-patch.ts";
import { type ObjectQuarantine, openQuarantine } from "../../../storage/git/object-quarantine.ts";
import { findEntries, type TreeEntry } from "../../../storage/git/trees.ts";
import {
  type DatedPerson,
  type TreeChange,
  writeCommit,
} from "../../../storage/git/write-commit.ts";
import { createLocks } from "../../../storage/locks.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { BLOB_BYTES_MAX } from "../../contract/forge/code/objects.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import type { WriteRefs } from "../git/write-refs.ts";
import type { OwnedRepository } from "../events.ts";
import { toRequestTime } from "../urls.ts";
import { assertWritten } from "./branches.service.ts";
import type { ContentsEntry } from "./folder-listings.ts";
import { type FileOperation, planChanges } from "./file-operations.ts";
import type { CodeAccess, CodeRequest, OpenedCode } from "./open-code.ts";
import { findRevision, type Revision } from "./revisions.ts";

/** Author, committer, message and branches of a write. Empty texts are absent. */
export interface CommitWish {
  readonly message: string;
  readonly branch: string;
  readonly newBranch: string;
  /** Moves an existing `newBranch`. */
  readonly isForced: boolean;
  readonly author: { readonly name: string; readonly email: string };
  readonly committer: { readonly name: string; readonly email: string };
  /** RFC 3339; the current time when it is absent. */
  readonly authoredAt: string | undefined;
  readonly committedAt: string | undefined;
  readonly isSignedOff: boolean;
}

/** A commit that changed files. */
export interface FilesChanged {
  readonly owned: OwnedRepository;
  readonly revision: Revision;
  readonly commit: CommitObject;
  /** The files after the change, in the order of the operations; undefined for those that were deleted. */
  readonly files: readonly (ContentsEntry | undefined)[];
}

/** Decides by the head of a branch what a commit changes, and writes objects into the quarantine if it needs some. */
type PlanCommit = (
  code: OpenedCode,
  head: string | undefined,
  quarantine: ObjectQuarantine,
) => Promise<{
  readonly changes: readonly TreeChange[];
  /** The tree that the changes begin with, instead of the head's. */
  readonly tree?: string;
  /** Paths that the commit may write, of which some are checked as a push is. */
  readonly checked: readonly string[];
  /** The default message. */
  readonly title: string;
}>;

export interface FileChangesDeps {
  readonly access: CodeAccess;
  readonly writeRefs: WriteRefs;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly newId: () => string;
  /** Returns the name and address that the commits of a user have. */
  readonly toCommitPerson: (user: ForgeUser) => { readonly name: string; readonly email: string };
}

/**
 * Maximum number of attempts: a push may move the branch after it was read, and then the operations are checked again.
 */
const ATTEMPTS_MAX = 5;
/** Wait before the second attempt, doubled for each later one: another daemon may be writing, and its lock binds only itself. */
const FIRST_WAIT_MS = 50;
const HEADS = "refs/heads/";

/** Changes of files through the API. */
export type FileChanges = ReturnType<typeof createFileChanges>;

export function createFileChanges({
  access,
  writeRefs,
  clock,
  newId,
  toCommitPerson,
}: FileChangesDeps) {
  const { withLocks } = createLocks();
  return {
    /**
     * Applies the operations in one commit and moves a branch to it, which counts as a push. Of two concurrent writes to
     * one version of a file one succeeds. Refuses as `CodeAccess.write` does; with `not_found` a missing branch or file,
     * with `unprocessable` a `sha` that is not the file's, a file that exists, a path that is malformed or below a file,
     * a new branch that exists, and an unknown operation; with `conflict` a branch that keeps moving.
     */
    async change(
      request: CodeRequest & { readonly caller: ForgeCaller },
      operations: readonly FileOperation[],
      wish: CommitWish,
    ): Promise<FilesChanged> {
      return commit(request, wish, operations, async (code, head) => {
        const changes = await planChanges(code, head, operations);
        const written = changes.filter(({ kind }) => kind === "write").map(({ path }) => path);
        return { changes, checked: written, title: describe(operations) };
      });
    },

    /**
     * Applies a patch as `change` applies operations. Refuses with `unprocessable` one that git refuses, or that changes
     * nothing.
     */
    async applyPatch(
      request: CodeRequest & { readonly caller: ForgeCaller },
      patch: string,
      wish: CommitWish,
    ): Promise<FilesChanged> {
      return commit(request, wish, [], async (code, head, quarantine) => {
        const { git, directory } = code;
        if (head === undefined) throw new AppError("unprocessable", "the repository is empty");
        const outcome = await applyPatch(git, directory, head, patch, quarantine);
        if (outcome.kind === "refused")
          throw new AppError("unprocessable", `git refuses the patch: ${outcome.reason}`);
        // Which files it changes is in the patch: git checks all that it adds.
        const checked = [".gitmodules"];
        return { changes: [], tree: outcome.tree, checked, title: "apply-patch" };
      });
    },
  };

  /** Commits what `plan` decides on by the head of the branch, until the branch has not moved meanwhile. */
  async function commit(
    request: CodeRequest & { readonly caller: ForgeCaller },
    wish: CommitWish,
    operations: readonly FileOperation[],
    plan: PlanCommit,
  ): Promise<FilesChanged> {
    const toBranch = ({ defaultBranch }: ForgeRepository) =>
      wish.branch === "" ? defaultBranch : wish.branch;
    const toTarget = (repository: ForgeRepository) =>
      wish.newBranch === "" ? toBranch(repository) : wish.newBranch;
    const work = async (code: OpenedCode): Promise<FilesChanged> => {
      const { repository } = code.owned;
      const branch = toBranch(repository);
      const target = toTarget(repository);
      return withLocks([`${repository.id} ${target}`], async () => {
        for (let attempt = 1; ; attempt += 1) {
          const place = { branch, target };
          const changed = await tryChange(code, request.caller, { operations, wish, place, plan });
          if (changed !== undefined) return changed;
          if (attempt === ATTEMPTS_MAX)
            throw new AppError("conflict", "the branch was changed in the meantime, try again");
          await sleep(FIRST_WAIT_MS * 2 ** (attempt - 1));
        }
      });
    };
    return access.write(request, work, toTarget);
  }

  /** Returns undefined when the branch was moved in between. */
  async function tryChange(
    code: OpenedCode,
    { user }: ForgeCaller,
    {
      operations,
      wish,
      place: { branch, target },
      plan,
    }: {
      readonly operations: readonly FileOperation[];
      readonly wish: CommitWish;
      readonly place: { readonly branch: string; readonly target: string };
      readonly plan: PlanCommit;
    },
  ): Promise<FilesChanged | undefined> {
    const { git, directory, owned } = code;
    const head = await getHead(code, branch);
    const before = target === branch ? head : await findFree(code, target, wish.isForced);
    const key = newId();
    await using quarantine = await openQuarantine(directory, key);
    const { changes, tree, checked: paths, title } = await plan(code, head, quarantine);
    const id = await writeCommit(git, directory, {
      parent: head,
      ...(tree === undefined ? {} : { tree }),
      changes,
      key,
      quarantine,
      ...toSignatures(user, wish),
      message: toMessage(title, wish, user),
    });
    const checked = { commit: id, from: head, paths, key, quarantine };
    const fault = await findFault(git, directory, checked);
    if (fault !== undefined) throw new AppError("unprocessable", `git refuses a file: ${fault}`);
    const ref = HEADS + target;
    const outcome = await writeRefs(owned, user, [{ ref, before, after: id }], { quarantine });
    if (outcome === "stale") return undefined;
    assertWritten(
      outcome,
      () => new AppError("conflict", "the branch was changed in the meantime"),
    );
    return await toChanged(code, id, target, operations, changes);
  }

  function toSignatures(user: ForgeUser, wish: CommitWish) {
    const own = toCommitPerson(user);
    const toPerson = (
      person: CommitWish["author"],
      other: CommitWish["author"],
      at: string | undefined,
    ): DatedPerson => {
      const name = clean(person.name) || clean(other.name) || own.name;
      const email = clean(person.email) || clean(other.email) || own.email;
      return { name, email, ...toDate(at, clock()) };
    };
    return {
      author: toPerson(wish.author, wish.committer, wish.authoredAt),
      committer: toPerson(wish.committer, wish.author, wish.committedAt),
    };
  }

  function toMessage(title: string, wish: CommitWish, user: ForgeUser): string {
    const text = wish.message.trim() === "" ? title : wish.message.trim();
    if (!wish.isSignedOff) return `${text}\n`;
    const { committer } = toSignatures(user, wish);
    return `${text}\n\nSigned-off-by: ${committer.name} <${committer.email}>\n`;
  }
}

async function getHead(code: OpenedCode, branch: string): Promise<string | undefined> {
  const found = await findRevision(code, HEADS + branch);
  if (found === undefined && !code.owned.repository.isEmpty)
    throw new AppError(
      "not_found",
      `branch does not exist [repo_id: ${code.owned.repository.id} name: ${branch}]`,
    );
  return found?.commitId;
}

/** Returns the commit of the branch to create or move; refuses an existing branch unless it may be moved. */
async function findFree(
  code: OpenedCode,
  branch: string,
  isForced: boolean,
): Promise<string | undefined> {
  const found = await findRevision(code, HEADS + branch);
  if (found !== undefined && !isForced)
    throw new AppError("unprocessable", `branch already exists [name: ${branch}]`);
  return found?.commitId;
}

async function toChanged(
  { git, directory, signal, owned }: OpenedCode,
  id: string,
  branch: string,
  operations: readonly FileOperation[],
  changes: readonly TreeChange[],
): Promise<FilesChanged> {
  const options = { directory, signal };
  const paths = operations.map(({ path }) => path);
  const [[commit], entries] = await allEnded([
    readCommitObjects(git, [id], options),
    findEntries(git, id, paths, options),
  ]);
  if (commit === undefined) throw new Error("a commit that was written is missing");
  const { author, committer, message } = commit;
  const last = {
    ...{ id, authoredAt: author.at, committedAt: committer.at },
    title: toTitle(message),
  };
  const written = new Map(
    changes.map((change) => [change.path, change.kind === "write" ? change.content : undefined]),
  );
  return {
    owned,
    revision: { kind: "branch", name: branch, commitId: id },
    commit,
    files: operations.map(({ path, kind }) =>
      kind === "delete" ? undefined : toFile(entries.get(path), last, written.get(path)),
    ),
  };
}

function toFile(
  entry: TreeEntry | undefined,
  last: LastCommit,
  content: Buffer | object | undefined,
): ContentsEntry | undefined {
  if (entry === undefined) return undefined;
  const isShown = Buffer.isBuffer(content) && content.byteLength <= BLOB_BYTES_MAX;
  return { entry, last, content: isShown ? content : undefined };
}

/** Returns the default message of a commit. */
function describe(operations: readonly FileOperation[]): string {
  const lines = (
    [
      ["create", "Add"],
      ["update", "Update"],
      ["delete", "Delete"],
    ] as const
  ).flatMap(([kind, word]) => {
    const paths = operations.filter((each) => each.kind === kind).map(({ path }) => path);
    return paths.length === 0 ? [] : [`${word} ${paths.join(", ")}`];
  });
  return lines.join("\n");
}

/** Returns a time of a request in git's format; `now` if the request has none. */
function toDate(time: string | undefined, now: number): Pick<DatedPerson, "seconds" | "zone"> {
  const epochMs = toRequestTime(time);
  if (time === undefined || epochMs === undefined)
    return { seconds: Math.floor(now / 1000), zone: "+0000" };
  const zone = /([+-]\d\d):(\d\d)$/.exec(time);
  const seconds = Math.max(Math.floor(epochMs / 1000), 0);
  return { seconds, zone: zone === null ? "+0000" : `${zone[1]}${zone[2]}` };
}

/** Removes the characters that delimit fields in git's format. */
function clean(text: string): string {
  return (
    text
      .toWellFormed()
      // oxlint-disable-next-line no-control-regex -- removes control characters
      .replace(/[<>\u0000-\u001f\u007f]/g, "")
      .trim()
  );
}
