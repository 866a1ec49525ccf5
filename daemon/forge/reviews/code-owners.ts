import type { Database, Queries } from "../../../storage/engine/database.ts";
import { findMergeBase, readChangedPaths } from "../../../storage/git/changed-paths.ts";
import type { Git } from "../../../storage/git/git.ts";
import { withObjectSession } from "../../../storage/git/object-session.ts";
import { findTeamByName, type ForgeTeam } from "../../../storage/tables/forge/accounts/teams.ts";
import {
  findUserById,
  findUserByName,
  type ForgeUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import type { IssueId } from "../../../storage/tables/forge/ids.ts";
import { findIssueById } from "../../../storage/tables/forge/issues/issues.ts";
import { findPull, type ForgePull } from "../../../storage/tables/forge/pulls/pulls.ts";
import { hasReviewed } from "../../../storage/tables/forge/pulls/reviews.ts";
import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { AppError } from "../../errors.ts";
import type { Compute } from "../compute.ts";
import type { OwnedRepository } from "../events.ts";
import type { RunInFolder } from "../git/run-in-folder.ts";
import { createLruCache } from "../../utilities/lru-cache.ts";
import { isDraft } from "../issues/issue.view.ts";
import { findAccess, reaches } from "../repositories/access.ts";
import { matchInBatches } from "../repositories/name-patterns.ts";
import type { ReviewRequests } from "./review-requests.service.ts";

/** Returns whether a later attempt may succeed: the threads are busy, or the account has used up its share of them. */
export const isPassing = (error: unknown): boolean =>
  error instanceof AppError && error.data.retryAfterSeconds !== undefined;

/** Where the file is looked for, in this order. */
const PLACES = ["CODEOWNERS", "docs/CODEOWNERS", ".gitea/CODEOWNERS"];
/** Longest file, rules of it that count, and changed files that are compared with them. */
const FILE_BYTES_MAX = 64 * 1024;
const RULES_MAX = 200;
const PATHS_MAX = 3_000;
/** Heads whose owners were asked, as far as this process remembers. */
const ASKED_KEPT = 5_000;

/** A line of the file: who is asked for a review of the files whose whole path fits. */
export interface OwnersRule {
  /** A regular expression. */
  readonly pattern: string;
  /** Whether the rule is about files that do not fit. */
  readonly isNegative: boolean;
  /** `user` or `organization/team`. */
  readonly owners: readonly string[];
}

/** Reads the rules of a file. Comments, and lines without an owner, are left out. */
export function parseOwners(text: string): readonly OwnersRule[] {
  return text
    .split("\n")
    .map((line) => line.replace(/(?:^|\s)#.*$/, "").trim())
    .flatMap((line) => {
      const [word = "", ...names] = line.split(/\s+/);
      const owners = names.filter((name) => name.startsWith("@")).map((name) => name.slice(1));
      if (word === "" || owners.length === 0) return [];
      const isNegative = word.startsWith("!");
      return [{ pattern: isNegative ? word.slice(1) : word, isNegative, owners }];
    })
    .slice(0, RULES_MAX);
}

/** Returns an open pull request that is no draft and whose base is no fork. */
async function findReady(db: Queries, issueId: IssueId) {
  const issue = await findIssueById(db, issueId);
  const pull = await findPull(db, issueId);
  const repository = pull && (await findRepositoryById(db, pull.repositoryId));
  const owner = repository && (await findUserById(db, repository.ownerId));
  if (issue === undefined || pull === undefined || repository === undefined || owner === undefined)
    return undefined;
  // An imported pull request has its reviewers already.
  if (issue.originalAuthor !== "") return undefined;
  if (issue.isClosed || isDraft(issue.title) || repository.forkOf !== undefined) return undefined;
  const owned: OwnedRepository = { repository, owner };
  return { owned, issue, pull };
}

/**
 * Asks the owners of the changed files for a review of a pull request, as the file CODEOWNERS of the default branch names
 * them. Does nothing for a draft and in a fork. Skips owners who were asked before or have reviewed. Throws as `Compute`
 * does when the patterns cannot be matched at the moment.
 */
export function createRequestOwners({
  db,
  git,
  compute,
  runInFolder,
  addRequests,
}: {
  readonly db: Database;
  readonly git: Git;
  readonly compute: Compute;
  readonly runInFolder: RunInFolder;
  readonly addRequests: ReviewRequests["addRequests"];
}) {
  // A push to the base computes all of its pull requests again: those whose head stayed need no git.
  const asked = createLruCache<true>({ valueLengthMax: 1, lengthMax: ASKED_KEPT });

  return async (issueId: IssueId): Promise<void> => {
    const before = await findReady(db, issueId);
    if (before === undefined) return;
    const key = `${issueId} ${before.pull.headCommit} ${before.pull.baseBranch}`;
    if (asked.get(key) === true) return;
    await ask(issueId, await findOwnerNames(before.owned.repository, before.pull));
    asked.set(key, true, 1);
  };

  async function ask(issueId: IssueId, names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    await db.transaction(async (tx) => {
      const found = await findReady(tx, issueId);
      if (found === undefined) return;
      const { owned, issue, pull } = found;
      const { owner } = owned;
      const people: ForgeUser[] = [];
      const teams: ForgeTeam[] = [];
      for (const name of names) {
        const [organization = "", team] = name.split("/");
        if (team !== undefined) {
          const isOwn = organization.toLowerCase() === owner.lowerName;
          const group = isOwn ? await findTeamByName(tx, owner.id, team) : undefined;
          if (group !== undefined) teams.push(group);
          continue;
        }
        const user = await findUserByName(tx, name);
        if (user === undefined || user.kind !== "individual" || user.id === issue.authorId)
          continue;
        if (!reaches(await findAccess(tx, owned, user, "repo.pulls"), "read")) continue;
        if (!(await hasReviewed(tx, issueId, user.id))) people.push(user);
      }
      const author =
        issue.authorId === undefined ? undefined : await findUserById(tx, issue.authorId);
      await addRequests(tx, owned, author ?? owner, { issue, pull }, { people, teams });
    });
  }

  /** Returns the owners of the changed files, each once, in the order of the rules. */
  async function findOwnerNames(base: ForgeRepository, pull: ForgePull): Promise<string[]> {
    const { rules, paths } = await runInFolder(base, async (directory) => {
      const found = parseOwners(await readOwnersFile(directory, base.defaultBranch));
      return { rules: found, paths: found.length === 0 ? [] : await readPaths(directory, pull) };
    });
    if (rules.length === 0 || paths.length === 0) return [];
    const patterns = rules.map(({ pattern }) => `/^(?:${pattern})$/`);
    const input = { kind: "tags", patterns, names: paths } as const;
    try {
      const matches = await matchInBatches(compute, input, String(base.ownerId));
      const owners = rules.flatMap(({ isNegative, owners: named }, position) =>
        matches.some((fitting) => fitting.includes(position) !== isNegative) ? named : [],
      );
      return [...new Set(owners)];
    } catch (error) {
      // A pattern that takes too long has no owners. Threads that are busy will match it later.
      if (error instanceof AppError && !isPassing(error)) return [];
      throw error;
    }
  }

  async function readOwnersFile(directory: string, branch: string): Promise<string> {
    const names = PLACES.map((place) => `refs/heads/${branch}:${place}`);
    return withObjectSession(git, { directory }, async (objects) => {
      const found = await objects.find(names);
      const file = found.find(
        (object) => object?.type === "blob" && object.size > 0 && object.size <= FILE_BYTES_MAX,
      );
      return file === undefined ? "" : (await objects.read(file.id, FILE_BYTES_MAX)).toString();
    });
  }

  async function readPaths(
    directory: string,
    { baseCommit: before, headCommit: after }: ForgePull,
  ): Promise<readonly string[]> {
    const options = { directory, pathsMax: PATHS_MAX };
    const base = (await findMergeBase(git, { before, after }, options)) ?? before;
    return (await readChangedPaths(git, { before: base, after }, options)) ?? [];
  }
}
