import type { Database, Queries } from "../../../storage/engine/database.ts";
import { isTeamMember } from "../../../storage/tables/forge/accounts/teams.ts";
import {
  type BranchProtection,
  listBranchProtections,
} from "../../../storage/tables/forge/repositories/branch-protections.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { ActingUser } from "../caller.ts";
import type { Compute } from "../compute.ts";
import type { RefChange } from "../events.ts";
import { areUnprotectedFiles, findProtectedFile, toFilePatterns } from "./protected-files.ts";
import { matchInBatches } from "./name-patterns.ts";
import { judgeTags } from "./protected-tags.ts";
import type { UserId, TeamId } from "../../../storage/tables/forge/ids.ts";

/** A change of a ref that is not allowed. */
export interface RefusedChange {
  readonly ref: string;
  /** The error text of the API. */
  readonly reason: string;
  /** The text that git shows next to the ref, in one line. */
  readonly gitReason: string;
}

/** The decision of a repository's rules about a push. */
export interface ProtectionVerdict {
  /** The first change that is not allowed; undefined when all are allowed. */
  readonly refused: RefusedChange | undefined;
  /** Refs that may only be fast-forwarded. */
  readonly forwardOnly: readonly string[];
  /** Refs for which the changed files decide, and how. */
  readonly byFiles?: ReadonlyMap<string, JudgeFiles>;
}

/** Judges the files that a change of a branch changes; undefined are too many of them to be listed. */
export type JudgeFiles = (
  paths: readonly string[] | undefined,
) => Promise<RefusedChange | undefined>;

/** Checks the changes of a push by git or by the API. */
export type CheckPush = (
  repository: ForgeRepository,
  pusher: ActingUser,
  changes: readonly RefChange[],
) => Promise<ProtectionVerdict>;

const HEADS = "refs/heads/";
const TAGS = "refs/tags/";

/**
 * Creates the check of pushes. A protected branch cannot be deleted, not even by an administrator. A protected tag is
 * created, moved and deleted by listed people only.
 */
export function createPushCheck(db: Database, compute: Compute): CheckPush {
  return async (repository, pusher, changes) => {
    const protectedTag = await findProtectedTag({ db, compute }, repository, pusher, changes);
    if (protectedTag !== undefined) return { refused: protectedTag, forwardOnly: [] };
    const rules = await listBranchProtections(db, repository.id);
    const branches = changes.flatMap(({ ref }) =>
      ref.startsWith(HEADS) ? [ref.slice(HEADS.length)] : [],
    );
    const ruleOf = await findRules(compute, repository, rules, branches);
    const forwardOnly: string[] = [];
    const byFiles = new Map<string, JudgeFiles>();
    const account = String(repository.ownerId);
    for (const { ref, before, after } of rules.length === 0 ? [] : changes) {
      if (!ref.startsWith(HEADS)) continue;
      const name = ref.slice(HEADS.length);
      const rule = ruleOf(name);
      if (rule === undefined || before === after) continue;
      const refuse = (reason: string, gitReason: string) => ({
        refused: { ref, reason, gitReason },
        forwardOnly: [],
      });
      if (after === undefined)
        return refuse("branch protected", `branch ${name} is protected from deletion`);
      const denied = {
        ref,
        reason: `user cannot commit to repo [user: ${pusher.lowerName}]`,
        gitReason: `not allowed to push to protected branch ${name}`,
      };
      const mayPushAll = await mayPush(db, rule, pusher);
      const { texts } = rule.settings;
      const hasUnprotected = toFilePatterns(texts["unprotected_file_patterns"]).length > 0;
      if (!mayPushAll && (before === undefined || !hasUnprotected))
        return { refused: denied, forwardOnly: [] };
      const hasProtected = toFilePatterns(texts["protected_file_patterns"]).length > 0;
      if (before !== undefined && (!mayPushAll || hasProtected))
        byFiles.set(ref, (paths) =>
          judgeFiles(paths, rule, mayPushAll ? undefined : denied, { ref, account }),
        );
      if (before !== undefined && !(await mayForce(db, rule, pusher))) forwardOnly.push(ref);
    }
    return { refused: undefined, forwardOnly, byFiles };
  };

  /** @param denied what a push is refused with that changes any other than unprotected files */
  async function judgeFiles(
    paths: readonly string[] | undefined,
    { settings }: BranchProtection,
    denied: RefusedChange | undefined,
    { ref, account }: { readonly ref: string; readonly account: string },
  ): Promise<RefusedChange | undefined> {
    const isOpen =
      denied === undefined ||
      (paths !== undefined && (await areUnprotectedFiles(compute, settings, paths, account)));
    if (!isOpen) return denied;
    const path =
      paths === undefined
        ? "too many files"
        : await findProtectedFile(compute, settings, paths, account);
    if (path === undefined) return undefined;
    const shown = [...path].filter((character) => character >= " ").join("");
    return {
      ref,
      reason: `path is protected and can not be changed [path: ${shown}]`,
      gitReason: `branch ${ref.slice(HEADS.length)} is protected from changing file ${shown}`,
    };
  }
}

async function findProtectedTag(
  deps: { readonly db: Queries; readonly compute: Compute },
  repository: ForgeRepository,
  pusher: ActingUser,
  changes: readonly RefChange[],
): Promise<RefusedChange | undefined> {
  const moved = changes.filter(
    ({ ref, before, after }) => ref.startsWith(TAGS) && before !== after,
  );
  const names = moved.map(({ ref }) => ref.slice(TAGS.length));
  const mayChange = await judgeTags(deps, repository, names, ({ userIds, teamIds }) =>
    // A deploy key has no account, so a rule that lists its owner does not let it push.
    pusher.deployKey === undefined
      ? isListed(deps.db, pusher, userIds, teamIds)
      : Promise.resolve(false),
  );
  const refused = moved.find(({ ref }) => !mayChange(ref.slice(TAGS.length)));
  if (refused === undefined) return undefined;
  const verb = refused.after === undefined ? "delete" : "create";
  return {
    ref: refused.ref,
    reason: `user not allowed to ${verb} protected tag`,
    gitReason: `Tag ${refused.ref.slice(TAGS.length)} is protected`,
  };
}

/** Returns the effective rule of each of the named branches. */
export type RuleOf = (branch: string) => BranchProtection | undefined;

/**
 * Finds the effective rules of branches: the first match, where a name precedes patterns of the same priority. Matches in
 * worker threads when the patterns are hard; refuses with `unavailable` when that takes too long.
 */
export async function findRules(
  compute: Compute,
  { ownerId }: Pick<ForgeRepository, "ownerId">,
  rules: readonly BranchProtection[],
  branches: readonly string[],
): Promise<RuleOf> {
  if (rules.length === 0) return () => undefined;
  const patterns = rules.map(({ ruleName }) => ruleName);
  const input = { kind: "rules", patterns, names: branches } as const;
  const found = new Map<string, BranchProtection>();
  for (const [index, positions] of (
    await matchInBatches(compute, input, String(ownerId))
  ).entries()) {
    const name = branches[index] ?? "";
    const rule = firstOf(
      positions.flatMap((position) => rules[position] ?? []),
      name,
    );
    if (rule !== undefined) found.set(name, rule);
  }
  return (branch) => found.get(branch);
}

function firstOf(
  matching: readonly BranchProtection[],
  branch: string,
): BranchProtection | undefined {
  const [first] = matching;
  return (
    matching.find((rule) => rule.priority === first?.priority && rule.ruleName === branch) ?? first
  );
}

/** Returns whether a rule lets a user with write access push. */
export async function mayPush(
  db: Queries,
  { settings }: BranchProtection,
  user: ActingUser,
): Promise<boolean> {
  const { flags, users, teams } = settings;
  if (flags["enable_push"] !== true) return false;
  // A deploy key acts for the owner of the repository, but has a separate flag in the rule.
  if (user.deployKey !== undefined && flags["enable_push_whitelist"] === true)
    return flags["push_whitelist_deploy_keys"] === true;
  return (
    flags["enable_push_whitelist"] !== true ||
    isListed(db, user, users["push_whitelist_usernames"], teams["push_whitelist_teams"])
  );
}

async function mayForce(
  db: Queries,
  { settings }: BranchProtection,
  user: ActingUser,
): Promise<boolean> {
  const { flags, users, teams } = settings;
  if (flags["enable_force_push"] !== true) return false;
  if (user.deployKey !== undefined && flags["enable_force_push_allowlist"] === true)
    return flags["force_push_allowlist_deploy_keys"] === true;
  return (
    flags["enable_force_push_allowlist"] !== true ||
    isListed(db, user, users["force_push_allowlist_usernames"], teams["force_push_allowlist_teams"])
  );
}

/** Returns whether a person is on a list of a rule, by name or as a member of a team. */
export async function isListed(
  db: Queries,
  user: ActingUser,
  users: readonly UserId[] = [],
  teams: readonly TeamId[] = [],
): Promise<boolean> {
  // Otherwise a listed person who starts a run would let its workflow push.
  if (user.task !== undefined) return false;
  if (users.includes(user.id)) return true;
  for (const id of teams) if (await isTeamMember(db, id, user.id)) return true;
  return false;
}
