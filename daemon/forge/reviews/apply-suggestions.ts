import type { Database, Queries } from "../../../storage/engine/database.ts";
import { findFault } from "../../../storage/git/check-commit.ts";
import { findCommitId } from "../../../storage/git/commits.ts";
import type { Git } from "../../../storage/git/git.ts";
import type { CommitPerson } from "../../../storage/git/initial-commit.ts";
import { openQuarantine } from "../../../storage/git/object-quarantine.ts";
import { readBlob } from "../../../storage/git/objects.ts";
import { findEntries, type TreeEntry } from "../../../storage/git/trees.ts";
import { type TreeChange, writeCommit } from "../../../storage/git/write-commit.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { toCommentId, type UserId } from "../../../storage/tables/forge/ids.ts";
import type { ForgePull } from "../../../storage/tables/forge/pulls/pulls.ts";
import {
  findReviewLine,
  resolveReviewLine,
  type ReviewLine,
} from "../../../storage/tables/forge/pulls/review-lines.ts";
import { findReviewById } from "../../../storage/tables/forge/pulls/reviews.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import type { OwnedRepository } from "../events.ts";
import type { RunInFolder } from "../git/run-in-folder.ts";
import type { WriteRefs } from "../git/write-refs.ts";
import type { GrantedRepository } from "../opened.ts";
import { assertOpen, openHead, openPull, type OpenedPull } from "../pulls/open-pull.ts";
import type { PullRefs } from "../pulls/pull-refs.ts";
import { notFound } from "../refusals.ts";
import { createChangeLimiter } from "../repositories/transfer-limiter.ts";
import { createFollowIn } from "./followed-lines.ts";
import { findSuggestion, type Replacement, replaceLines } from "./suggestions.ts";

/** Largest file that a suggestion changes, in bytes. */
const FILE_BYTES_MAX = 8 * 1024 * 1024;

export interface SuggestionsRequest {
  readonly number: number;
  readonly commentIds: readonly number[];
  /** Empty for a text that names the file. */
  readonly message: string;
  readonly signal: AbortSignal;
}

export interface ApplySuggestionsDeps {
  readonly db: Database;
  readonly git: Git;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly newUuid: () => string;
  readonly runInFolder: RunInFolder;
  readonly refs: Pick<PullRefs, "bringHead">;
  readonly writeRefs: WriteRefs;
  readonly toCommitPerson: (user: ForgeUser) => CommitPerson;
}

/**
 * Applies suggestions of comments on lines in one commit on the head, as a push by the caller, and resolves their
 * conversations. Returns the commit. Refuses with `forbidden` a caller who may not push to the head, with `not_found` an
 * unknown comment, with `unprocessable` a closed pull request, a comment without a suggestion and two for one line, and with
 * `conflict` a line that was changed since and a head that moves meanwhile.
 */
export type ApplySuggestions = (
  opened: GrantedRepository,
  caller: ForgeCaller,
  request: SuggestionsRequest,
) => Promise<string>;

export function createApplySuggestions(deps: ApplySuggestionsDeps): ApplySuggestions {
  const { db, git, clock, newUuid, runInFolder, writeRefs, toCommitPerson } = deps;
  const limiter = createChangeLimiter();
  const followIn = createFollowIn(git);

  return async (opened, caller, request) => {
    const found = await openPull(db, opened, request.number);
    assertOpen(found);
    const head = await openHead(db, found.pull, caller.user);
    const suggestions = await findSuggestions(db, found, request.commentIds);
    const release = await limiter.acquire({ caller, address: "" }, request.signal);
    try {
      await deps.refs.bringHead(opened, found.pull);
      const changes = await toChanges(opened, found.pull, suggestions, request.signal);
      const message = toMessage(
        request.message,
        suggestions,
        await toTrailers(caller, suggestions),
      );
      const commit = await write(head, found.pull, changes, { user: caller.user, message });
      await db.transaction(async (tx) => {
        for (const { line } of suggestions)
          await resolveReviewLine(tx, line.commentId, caller.user.id);
      });
      return commit;
    } finally {
      release();
    }
  };

  /** Reads the files of suggestions in the head and returns them with the suggested lines. */
  async function toChanges(
    { repository }: OwnedRepository,
    { headCommit }: ForgePull,
    suggestions: readonly Suggestion[],
    signal: AbortSignal,
  ): Promise<readonly TreeChange[]> {
    const byPath = Map.groupBy(suggestions, ({ line }) => line.path);
    return runInFolder(repository, async (directory) => {
      const options = { directory, signal };
      const entries = await findEntries(git, headCommit, [...byPath.keys()], options);
      const changes: TreeChange[] = [];
      for (const [path, ofFile] of byPath) {
        const entry = entries.get(path);
        const replacements = await locateLines(directory, headCommit, ofFile);
        if (entry === undefined || !isFile(entry)) throw changed(path);
        const file = await readBlob(git, entry.id, { ...options, bytesMax: FILE_BYTES_MAX });
        const content = replaceLines(file, replacements);
        if (content === undefined) throw changed(path);
        changes.push({ kind: "write", path, isExecutable: entry.mode === "100755", content });
      }
      return changes;
    });
  }

  /** Finds where the lines of suggestions for one file are in the head. */
  async function locateLines(
    directory: string,
    headCommit: string,
    suggestions: readonly Suggestion[],
  ): Promise<readonly Replacement[]> {
    const found = new Map<number, Replacement>();
    for (const { line, lines } of suggestions) {
      const place = { from: line.commitId, to: headCommit, path: line.path };
      const [current] = await followIn(directory, place, [line.line]);
      if (current === undefined) throw changed(line.path);
      if (found.has(current))
        throw new AppError(
          "unprocessable",
          `two suggestions change line ${current} of ${line.path}`,
        );
      found.set(current, { line: current, lines });
    }
    return [...found.values()];
  }

  function write(
    head: OwnedRepository,
    { headBranch, headCommit }: ForgePull,
    changes: readonly TreeChange[],
    { user, message }: { readonly user: ForgeUser; readonly message: string },
  ): Promise<string> {
    const ref = `refs/heads/${headBranch}`;
    return runInFolder(head.repository, async (directory) => {
      if ((await findCommitId(git, directory, ref)) !== headCommit) throw moved();
      const key = newUuid();
      await using quarantine = await openQuarantine(directory, key);
      const person = {
        ...toCommitPerson(user),
        seconds: Math.floor(clock() / 1000),
        zone: "+0000",
      };
      const people = { author: person, committer: person };
      const written = { parent: headCommit, changes, key, quarantine, message, ...people };
      const commit = await writeCommit(git, directory, written);
      const paths = changes.map(({ path }) => path);
      const fault = await findFault(git, directory, {
        commit,
        from: headCommit,
        paths,
        key,
        quarantine,
      });
      if (fault !== undefined) throw new AppError("unprocessable", `git refuses a file: ${fault}`);
      const change = { ref, before: headCommit, after: commit };
      if ((await writeRefs(head, user, [change], { quarantine })) !== "written") throw moved();
      return commit;
    });
  }

  /** Returns a line for each author of a suggestion other than the caller. */
  async function toTrailers(
    { user }: ForgeCaller,
    suggestions: readonly Suggestion[],
  ): Promise<readonly string[]> {
    const ids = new Set<UserId>();
    for (const { line } of suggestions)
      if (line.authorId !== undefined && line.authorId !== user.id) ids.add(line.authorId);
    const trailers: string[] = [];
    for (const id of ids) {
      const author = await findUserById(db, id);
      if (author === undefined) continue;
      const { name, email } = toCommitPerson(author);
      trailers.push(`Co-authored-by: ${name} <${email}>`);
    }
    return trailers;
  }
}

interface Suggestion {
  readonly line: ReviewLine;
  /** The lines that replace it. */
  readonly lines: readonly string[];
}

async function findSuggestions(
  db: Queries,
  { issue }: OpenedPull,
  commentIds: readonly number[],
): Promise<readonly Suggestion[]> {
  const found: Suggestion[] = [];
  for (const id of new Set(commentIds)) {
    const line = await findReviewLine(db, toCommentId(id));
    const review = line && (await findReviewById(db, line.reviewId));
    if (line === undefined || line.issueId !== issue.id || review === undefined) throw notFound();
    if (review.state === "pending") throw notFound();
    const lines = findSuggestion(line.body);
    if (lines === undefined)
      throw new AppError("unprocessable", `comment ${id} has no block of the language suggestion`);
    if (line.side === "old")
      throw new AppError("unprocessable", `comment ${id} is about a line that the head removes`);
    found.push({ line, lines });
  }
  return found;
}

function toMessage(
  wanted: string,
  suggestions: readonly Suggestion[],
  trailers: readonly string[],
): string {
  const paths = [...new Set(suggestions.map(({ line }) => line.path))];
  const [path = ""] = paths;
  const noun = suggestions.length === 1 ? "suggestion" : "suggestions";
  const place = paths.length === 1 ? ` to ${path.replaceAll(/[\r\n]/g, " ")}` : "";
  const subject = wanted.trim() === "" ? `Apply ${noun}${place}` : wanted.trim();
  return [subject, ...(trailers.length === 0 ? [] : ["", ...trailers]), ""].join("\n");
}

/** Symbolic links and submodules have no lines. */
const isFile = ({ type, mode }: TreeEntry) => type === "blob" && mode.startsWith("100");

const changed = (path: string) =>
  new AppError("conflict", `the line of ${path} was changed after the suggestion`);
const moved = () => new AppError("conflict", "the branch was changed in the meantime, try again");
