import { z } from "zod";
import { optionalFlag, optionalMembers, optionalText } from "../common.ts";

// Repository settings other than its name and texts. Most belong to features that this server does not have: it stores
// and returns them, so that tools that manage repositories read back what they wrote.

const TRACKER_TEXT_MAX = 2048;
const WORD_MAX = 64;

export const internalTrackerShape = z.object({
  enable_time_tracker: z.boolean(),
  allow_only_contributors_to_track_time: z.boolean(),
  enable_issue_dependencies: z.boolean(),
});

export const externalTrackerShape = z.object({
  external_tracker_url: z.string(),
  external_tracker_format: z.string(),
  external_tracker_style: z.string(),
  external_tracker_regexp_pattern: z.string(),
});

export const externalWikiShape = z.object({ external_wiki_url: z.string() });

/** How a pull request is merged: the words of `do` of a merge. */
export const mergeStyles = [
  "merge",
  "rebase",
  "rebase-merge",
  "squash",
  "fast-forward-only",
  "manually-merged",
] as const;
/** How the branch of a pull request is updated. */
const updateStyles = ["merge", "rebase"] as const;

const isOneOf = (words: readonly string[]) => (word: string) => words.includes(word);

/** Settings of pull requests. */
export const mergingMembers = {
  ignore_whitespace_conflicts: optionalFlag,
  allow_merge_commits: optionalFlag,
  allow_rebase: optionalFlag,
  allow_rebase_explicit: optionalFlag,
  allow_squash_merge: optionalFlag,
  allow_fast_forward_only_merge: optionalFlag,
  allow_merge_update: optionalFlag,
  allow_rebase_update: optionalFlag,
  allow_manual_merge: optionalFlag,
  autodetect_manual_merge: optionalFlag,
  default_delete_branch_after_merge: optionalFlag,
  default_merge_style: optionalText({ rules: [["In", isOneOf(mergeStyles)]] }),
  default_update_style: optionalText({ rules: [["In", isOneOf(updateStyles)]] }),
  default_allow_maintainer_edit: optionalFlag,
};

/** Members whose value is used as given. */
export const featureMembers = {
  has_code: optionalFlag,
  has_pull_requests: optionalFlag,
  has_projects: optionalFlag,
  projects_mode: optionalText({ max: WORD_MAX }),
  has_releases: optionalFlag,
  has_packages: optionalFlag,
  has_actions: optionalFlag,
};

/** The members of an edit that are settings. An external tracker or wiki only counts together with its switch. */
export const settingMembers = {
  ...featureMembers,
  ...mergingMembers,
  has_issues: optionalFlag,
  internal_tracker: optionalMembers({
    enable_time_tracker: optionalFlag,
    allow_only_contributors_to_track_time: optionalFlag,
    enable_issue_dependencies: optionalFlag,
  }),
  external_tracker: optionalMembers({
    external_tracker_url: optionalText({ max: TRACKER_TEXT_MAX }),
    external_tracker_format: optionalText({ max: TRACKER_TEXT_MAX }),
    external_tracker_style: optionalText({ max: TRACKER_TEXT_MAX }),
    external_tracker_regexp_pattern: optionalText({ max: TRACKER_TEXT_MAX }),
  }),
  has_wiki: optionalFlag,
  external_wiki: optionalMembers({ external_wiki_url: optionalText({ max: TRACKER_TEXT_MAX }) }),
};

const settingsEdit = z.object(settingMembers);
/** The settings that an edit names; absent and null fields keep their values. */
export type SettingsEdit = z.output<typeof settingsEdit>;
