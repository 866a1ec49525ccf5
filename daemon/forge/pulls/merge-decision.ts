import type { Queries } from "../../../storage/engine/database.ts";
import { findMergeBase, readChangedPaths } from "../../../storage/git/changed-paths.ts";
import type { Git } from "../../../storage/git/git.ts";
import { isAncestor } from "../../../storage/git/history.ts";
import type { MergeStyle } from "../../../storage/tables/forge/pulls/merges.ts";
import type { BranchProtection } from "../../../storage/tables/forge/repositories/branch-protections.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import type { Compute } from "../compute.ts";
import { isDraft } from "../issues/issue.view.ts";
import { notFound } from "../refusals.ts";
import { reaches } from "../repositories/access.ts";
import {
  findRequiredChecks,
  judgeMerge,
  mayMerge,
  mayOverride,
} from "../repositories/protected-merges.ts";
import { matchesProtectedFiles, toFilePatterns } from "../repositories/protected-files.ts";
import { findRules } from "../repositories/protected-refs.ts";
import { toSettings } from "../repositories/repository-settings.view.ts";
import type { MergeView } from "./merge-view.ts";

/** What the caller asks for besides the texts of the commits. */
export interface MergeWish {
  readonly style: MergeStyle;
  /** The expected head; empty for any. */
  readonly headCommit: string;
  /** Overrides the requirements of the rule, for those who may. */
  readonly isForced: boolean;
}

/** A merge that may happen. */
export interface MergeDecision {
  readonly rule: BranchProtection | undefined;
  /** Whether it happens in spite of the rule, by the right of the merger. */
  readonly isOverriding: boolean;
}

/** Paths that are compared with the patterns of protected files; a change of more files counts as one of them. */
const PATHS_MAX = 20_000;

/** Git compares two branches in less, as a rule. */
const RETRY_AFTER_SECONDS = 1;

/** The settings that allow the styles. */
const settingOfStyle = {
  merge: "allow_merge_commits",
  rebase: "allow_rebase",
  "rebase-merge": "allow_rebase_explicit",
  squash: "allow_squash_merge",
  "fast-forward-only": "allow_fast_forward_only_merge",
  "manually-merged": "allow_manual_merge",
} as const satisfies Record<MergeStyle, string>;

/** Decides whether a pull request may be merged, with the refusals of the reference in its order. */
export type MergeDecisions = ReturnType<typeof createMergeDecisions>;

export function createMergeDecisions({
  git,
  compute,
}: {
  readonly git: Git;
  readonly compute: Compute;
}) {
  return {
    /**
     * Refuses with `not_found` a closed pull request, with `not_mergeable` one that is merged, a merger without the right, a
     * draft. Returns the rule of the base.
     */
    async findRule(
      db: Queries,
      view: MergeView,
      { user }: ForgeCaller,
    ): Promise<BranchProtection | undefined> {
      const { pull, issue, place, rules } = view;
      if (pull.mergedAt !== undefined) throw notMergeable("The PR is already merged");
      if (issue.isClosed) throw notFound();
      const ruleOf = await findRules(compute, place.repository, rules, [pull.baseBranch]);
      const rule = ruleOf(pull.baseBranch);
      if (!(await mayMerge(db, rule, user, reaches(view.codeAccess, "write"))))
        throw notMergeable("User not allowed to merge PR");
      return rule;
    },

    /**
     * Refuses with `not_mergeable` a draft, and one that conflicts. `must_be`: also one that is not computed yet, with the time
     * after which that may be so; `may_be`: not that one; `unused`: git judges instead.
     */
    assertReady(
      { issue, pull }: MergeView,
      { computed }: { readonly computed: "must_be" | "may_be" | "unused" },
    ): void {
      if (isDraft(issue.title)) throw notMergeable("Work in progress PRs cannot be merged");
      if (computed === "unused" || pull.state === "mergeable") return;
      const isUnderWay = pull.state === "checking";
      if (isUnderWay && computed === "may_be") return;
      throw new AppError("not_mergeable", "Please try again later", {
        ...(isUnderWay ? { retryAfterSeconds: RETRY_AFTER_SECONDS } : {}),
      });
    },

    /**
     * Decides with the present tip of the base. Refuses with `not_mergeable` what the rule, an open dependency or the
     * settings of the repository do not allow, and with `conflict` another head than the expected one.
     */
    async decide(
      db: Queries,
      view: MergeView,
      {
        rule,
        caller,
        wish,
        base,
        directory,
      }: {
        readonly rule: BranchProtection | undefined;
        readonly caller: ForgeCaller;
        readonly wish: MergeWish;
        readonly base: string;
        readonly directory: string;
      },
    ): Promise<MergeDecision> {
      const refusal = rule && (await judge(view, rule, base, directory));
      const isOverriding = refusal !== undefined;
      if (isOverriding && !(wish.isForced && (await mayForce(db, view, rule, caller))))
        throw notMergeable(refusal);
      if (view.isBlocked) throw notMergeable("the pull request depends on an open issue");
      assertWish(view, wish);
      return { rule, isOverriding };
    },

    /** Checks in the transaction of the merge that the merger still has the rights that the decision used. */
    async assertStillAllowed(
      db: Queries,
      view: MergeView,
      { rule, isOverriding }: MergeDecision,
      caller: ForgeCaller,
    ): Promise<void> {
      if (!(await mayMerge(db, rule, caller.user, reaches(view.codeAccess, "write"))))
        throw notMergeable("User not allowed to merge PR");
      if (isOverriding && !(await mayForce(db, view, rule, caller)))
        throw notMergeable("User not allowed to merge PR");
    },
  };

  /** Returns why the rule refuses; undefined when it does not. */
  async function judge(
    { pull, place, statuses, reviews }: MergeView,
    { settings }: BranchProtection,
    base: string,
    directory: string,
  ): Promise<string | undefined> {
    const account = String(place.repository.ownerId);
    const isOn = (flag: string) => settings.flags[flag] === true;
    return judgeMerge(settings, {
      ...reviews,
      checks: isOn("enable_status_check")
        ? await findRequiredChecks(compute, settings, statuses, account)
        : [],
      isBehind:
        isOn("block_on_outdated_branch") &&
        !(await isAncestor(git, directory, base, pull.headCommit)),
      changesProtectedFiles: await changesProtected(),
    });

    async function changesProtected(): Promise<boolean> {
      if (toFilePatterns(settings.texts["protected_file_patterns"]).length === 0) return false;
      const { headCommit: after } = pull;
      const before = (await findMergeBase(git, { before: base, after }, { directory })) ?? base;
      const options = { directory, pathsMax: PATHS_MAX };
      const paths = await readChangedPaths(git, { before, after }, options);
      return paths === undefined || matchesProtectedFiles(compute, settings, paths, account);
    }
  }
}

function mayForce(
  db: Queries,
  { place, codeAccess }: MergeView,
  rule: BranchProtection | undefined,
  { user }: ForgeCaller,
): Promise<boolean> {
  const administers = reaches(codeAccess, "admin") || reaches(place.access, "admin");
  return rule === undefined ? Promise.resolve(true) : mayOverride(db, rule, user, administers);
}

/** Refuses as `assertStyle`, and with `conflict` another head than the expected one. */
export function assertWish(view: MergeView, { style, headCommit }: MergeWish): void {
  assertStyle(view, style);
  if (headCommit !== "" && headCommit !== view.pull.headCommit)
    throw new AppError("conflict", "head out of date");
}

/** Refuses with `not_mergeable` a style that the settings of the repository turn off. */
export function assertStyle({ place }: MergeView, style: MergeStyle): void {
  if (toSettings(place.repository.settings)[settingOfStyle[style]] !== true)
    throw notMergeable(`${style} is not allowed an allowed merge style for this repository`);
}

const notMergeable = (text: string): AppError => new AppError("not_mergeable", text);
