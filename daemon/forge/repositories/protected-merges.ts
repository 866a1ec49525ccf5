// What a rule says about merging a pull request into a branch that it protects.
import type { Queries } from "../../../storage/engine/database.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";
import type {
  BranchProtection,
  BranchProtectionSettings,
} from "../../../storage/tables/forge/repositories/branch-protections.ts";
import type { CommitStatus } from "../../../storage/tables/forge/repositories/statuses.ts";
import type { ActingUser } from "../caller.ts";
import type { Compute } from "../compute.ts";
import { matchInBatches } from "./name-patterns.ts";
import { isListed } from "./protected-refs.ts";

/** The reviews of a pull request that count for a rule: official ones that are not dismissed. */
export interface ReviewFacts {
  /** The latest approval of each reviewer. `isStale`: the content has changed since. */
  readonly approvals: readonly { readonly reviewerId: UserId; readonly isStale: boolean }[];
  /** Whether a reviewer requests changes. */
  readonly isRejected: boolean;
  /** Whether a review was requested of an official reviewer who has not answered. */
  readonly isRequested: boolean;
}

/** What a rule looks at before a pull request may be merged. */
export interface MergeFacts extends ReviewFacts {
  /** Latest statuses of the head, as `findRequiredChecks` groups them. */
  readonly checks: readonly RequiredCheck[];
  /** Whether the base has commits that the head lacks. */
  readonly isBehind: boolean;
  readonly changesProtectedFiles: boolean;
}

/** The states of the contexts that one pattern of a rule matches. */
export type RequiredCheck = readonly CommitStatus["state"][];

/**
 * Returns why a rule refuses a merge, in the words of the API; undefined when it allows it. A forced merge overrides the
 * refusal, see `mayOverride`.
 */
export function judgeMerge(
  { flags, requiredApprovals }: BranchProtectionSettings,
  facts: MergeFacts,
): string | undefined {
  const isOn = (flag: string) => flags[flag] === true;
  if (isOn("enable_status_check") && !facts.checks.every(isPassed))
    return "Not all required status checks successful";
  if (countApprovals(facts, isOn("ignore_stale_approvals")) < requiredApprovals)
    return "Does not have enough approvals";
  if (isOn("block_on_rejected_reviews") && facts.isRejected) return "There are requested changes";
  if (isOn("block_on_official_review_requests") && facts.isRequested)
    return "There are official review requests";
  if (isOn("block_on_outdated_branch") && facts.isBehind)
    return "The head branch is behind the base branch";
  if (facts.changesProtectedFiles) return "Changed protected files";
  return undefined;
}

/** A check passes when its contexts exist and their combined state is success. */
function isPassed(states: RequiredCheck): boolean {
  const passing: RequiredCheck = ["success", "warning", "skipped"];
  return states.length > 0 && states.every((state) => passing.includes(state));
}

function countApprovals({ approvals }: ReviewFacts, ignoresStale: boolean): number {
  const counted = approvals.filter(({ isStale }) => !isStale || !ignoresStale);
  return new Set(counted.map(({ reviewerId }) => reviewerId)).size;
}

/**
 * Groups the latest statuses of a commit by the patterns of a rule that match their contexts. A rule without patterns
 * requires all contexts that are reported, and at least one.
 */
export async function findRequiredChecks(
  compute: Compute,
  { statusCheckContexts: patterns }: BranchProtectionSettings,
  statuses: readonly Pick<CommitStatus, "context" | "state">[],
  account: string,
): Promise<readonly RequiredCheck[]> {
  if (patterns.length === 0) return [statuses.map(({ state }) => state)];
  const names = statuses.map(({ context }) => context);
  const matches = await matchInBatches(compute, { kind: "filters", patterns, names }, account);
  return patterns.map((_, pattern) =>
    statuses.filter((_status, at) => matches[at]?.includes(pattern)).map(({ state }) => state),
  );
}

/**
 * Returns whether a user may merge pull requests into a branch: those on the list for merging when the rule has one, readers
 * too, else those who may write.
 */
export async function mayMerge(
  db: Queries,
  rule: BranchProtection | undefined,
  user: ActingUser,
  mayWrite: boolean,
): Promise<boolean> {
  if (rule?.settings.flags["enable_merge_whitelist"] !== true) return mayWrite;
  const { users, teams } = rule.settings;
  return isListed(db, user, users["merge_whitelist_usernames"], teams["merge_whitelist_teams"]);
}

/**
 * Returns whether a user may merge in spite of a refusal of the rule: administrators of the repository unless the rule
 * forbids it, and people on the list for it.
 */
export async function mayOverride(
  db: Queries,
  { settings }: BranchProtection,
  user: ActingUser,
  administers: boolean,
): Promise<boolean> {
  const { flags, users, teams } = settings;
  if (administers && flags["block_admin_merge_override"] !== true) return true;
  return (
    flags["enable_bypass_allowlist"] === true &&
    isListed(db, user, users["bypass_allowlist_usernames"], teams["bypass_allowlist_teams"])
  );
}
