import type {
  ForgeRepository,
  RepositorySettings,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import {
  featureMembers,
  mergingMembers,
  type SettingsEdit,
} from "../../contract/forge/repositories/settings.ts";
import { isWebUrl } from "../../contract/forge/rules.ts";
import { AppError } from "../../errors.ts";

type WireSettings = Pick<
  WireRepository,
  | keyof typeof featureMembers
  | keyof typeof mergingMembers
  | "has_issues"
  | "internal_tracker"
  | "external_tracker"
  | "has_wiki"
  | "external_wiki"
>;

/** Returns the settings of a repository completed with the defaults. */
export function toSettings(stored: RepositorySettings): WireSettings {
  // Only results of `changeSettings` are stored.
  const { internal_tracker: _tracker, ...set } = stored as Partial<WireSettings>;
  return {
    has_code: true,
    has_issues: true,
    ...(keepsIssues(stored) ? { internal_tracker: toTracker(stored) } : {}),
    has_wiki: true,
    has_projects: true,
    projects_mode: "all",
    has_releases: true,
    has_packages: true,
    has_actions: true,
    has_pull_requests: true,
    ...(keepsPulls(stored) ? mergingDefaults : noMerging),
    ...set,
  };
}

/** Returns the settings of a new repository: the defaults, but with actions disabled for a template. */
export function toNewSettings(isTemplate: boolean): RepositorySettings {
  return isTemplate ? { has_actions: false } : {};
}

/** Returns the settings of a fork, which is for code until its owner turns on other features. */
export function toForkSettings(): RepositorySettings {
  return {
    has_issues: false,
    has_wiki: false,
    has_projects: false,
    has_releases: false,
    has_packages: false,
    has_actions: false,
  };
}

/** Returns whether the repository has issues on this server: neither disabled nor in an external tracker. */
export function keepsIssues(stored: RepositorySettings): boolean {
  return stored["has_issues"] !== false && stored["external_tracker"] === undefined;
}

/** Returns whether pull requests are enabled. */
export function keepsPulls(stored: RepositorySettings): boolean {
  return stored["has_pull_requests"] !== false;
}

/** Returns the settings of issues on this server, completed with the defaults. */
function toTracker(stored: RepositorySettings) {
  // Only results of `changeSettings` are stored.
  return (stored as Partial<WireSettings>).internal_tracker ?? trackerDefaults;
}

/** Returns whether issues may depend on others. */
export function hasDependencies(stored: RepositorySettings): boolean {
  return keepsIssues(stored) && toTracker(stored).enable_issue_dependencies;
}

/** Returns who may track time on issues: no user, writers and the issue's people, or every reader. */
export function findTimeTracking(stored: RepositorySettings): "off" | "contributors" | "readers" {
  const tracker = toTracker(stored);
  if (!keepsIssues(stored) || !tracker.enable_time_tracker) return "off";
  return tracker.allow_only_contributors_to_track_time ? "contributors" : "readers";
}

/** Returns whether code is enabled: members may push to and fetch from the repository. */
export function keepsCode(stored: RepositorySettings): boolean {
  return stored["has_code"] !== false;
}

/** Returns whether the repository has a wiki on this server: neither disabled nor elsewhere. */
export function keepsWiki(stored: RepositorySettings): boolean {
  return stored["has_wiki"] !== false && stored["external_wiki"] === undefined;
}

/** Returns whether a repository runs workflows. */
export function hasActions({ settings, archivedAt }: ForgeRepository): boolean {
  return settings["has_actions"] !== false && archivedAt === undefined;
}

/** Returns whether releases are enabled. */
export function keepsReleases(stored: RepositorySettings): boolean {
  return stored["has_releases"] !== false;
}

/**
 * Returns the settings after an edit. The members of a tracker, a wiki or the projects apply only together with their
 * switch, and disabling pull requests resets their settings. Refuses invalid URLs with `unprocessable`.
 */
export function changeSettings(stored: RepositorySettings, edit: SettingsEdit): RepositorySettings {
  const next: Record<string, unknown> = { ...stored };
  for (const name of keysOf(featureMembers)) if (edit[name] != null) next[name] = edit[name];
  if (edit.has_projects !== true) restore(next, stored, "projects_mode");
  const hasPullRequests = keepsPulls(next);
  for (const name of keysOf(mergingMembers)) {
    if (!hasPullRequests) delete next[name];
    else if (edit[name] != null) next[name] = edit[name];
  }
  changeTracker(next, edit);
  changeWiki(next, edit);
  return next;
}

function restore(next: Record<string, unknown>, stored: RepositorySettings, name: string): void {
  if (Object.hasOwn(stored, name)) next[name] = stored[name];
  else delete next[name];
}

function changeTracker(next: Record<string, unknown>, edit: SettingsEdit): void {
  const { has_issues: hasIssues, internal_tracker: internal, external_tracker: external } = edit;
  if (hasIssues == null) return;
  next["has_issues"] = hasIssues;
  delete next["external_tracker"];
  if (!hasIssues) delete next["internal_tracker"];
  else if (external != null) {
    const url = external.external_tracker_url ?? "";
    const format = external.external_tracker_format ?? "";
    if (!isWebUrl(url)) throw invalid("External tracker URL not valid");
    if (format !== "" && !isTrackerFormat(format))
      throw invalid("External tracker URL format not valid");
    delete next["internal_tracker"];
    next["external_tracker"] = {
      external_tracker_url: url,
      external_tracker_format: format,
      external_tracker_style: external.external_tracker_style ?? "",
      external_tracker_regexp_pattern: external.external_tracker_regexp_pattern ?? "",
    };
  } else if (internal != null)
    next["internal_tracker"] = {
      enable_time_tracker: internal.enable_time_tracker ?? false,
      allow_only_contributors_to_track_time:
        internal.allow_only_contributors_to_track_time ?? false,
      enable_issue_dependencies: internal.enable_issue_dependencies ?? false,
    };
}

function changeWiki(next: Record<string, unknown>, edit: SettingsEdit): void {
  const { has_wiki: hasWiki, external_wiki: external } = edit;
  if (hasWiki == null) return;
  next["has_wiki"] = hasWiki;
  delete next["external_wiki"];
  if (!hasWiki || external == null) return;
  const url = external.external_wiki_url ?? "";
  if (!isWebUrl(url)) throw invalid("Invalid external wiki URL");
  next["external_wiki"] = { external_wiki_url: url };
}

/** Returns whether a URL has placeholders for the user, the repository and the issue number, and no others. */
function isTrackerFormat(format: string): boolean {
  const filled = format.replace(/\{(?:user|repo|index)\}/g, "x");
  return isWebUrl(filled) && !/[{}]/.test(filled);
}

const invalid = (message: string): AppError => new AppError("unprocessable", message);

const keysOf = <T extends object>(members: T) => Object.keys(members) as (keyof T)[];

const trackerDefaults = {
  enable_time_tracker: true,
  allow_only_contributors_to_track_time: true,
  enable_issue_dependencies: true,
} as const;

const mergingDefaults = {
  ignore_whitespace_conflicts: false,
  allow_merge_commits: true,
  allow_rebase: true,
  allow_rebase_explicit: true,
  allow_squash_merge: true,
  allow_fast_forward_only_merge: true,
  allow_merge_update: true,
  allow_rebase_update: true,
  allow_manual_merge: false,
  autodetect_manual_merge: false,
  default_delete_branch_after_merge: false,
  default_merge_style: "merge",
  default_update_style: "merge",
  default_allow_maintainer_edit: true,
} as const;

/** The merge settings of a repository without pull requests. */
const noMerging = {
  ...mergingDefaults,
  allow_merge_commits: false,
  allow_rebase: false,
  allow_rebase_explicit: false,
  allow_squash_merge: false,
  allow_fast_forward_only_merge: false,
  allow_merge_update: false,
  allow_rebase_update: false,
  allow_manual_merge: true,
  default_allow_maintainer_edit: false,
} as const;
