import type { ExpressionValue } from "./expressions/values.ts";
import { compileFilter } from "./filter-patterns.ts";
import { isMapping, type Mapping } from "./mapping.ts";
import type { WorkflowReader } from "./workflow-reader.ts";

/** Events that start a workflow, by name, each with its filters. */
export type Triggers = Readonly<Record<string, EventFilters>>;

/** Filters of one event; an absent filter accepts everything. */
export interface EventFilters {
  readonly branches?: readonly string[];
  readonly branchesIgnore?: readonly string[];
  readonly tags?: readonly string[];
  readonly tagsIgnore?: readonly string[];
  readonly paths?: readonly string[];
  readonly pathsIgnore?: readonly string[];
  readonly types?: readonly string[];
  /** Names of the workflows whose runs count, for `workflow_run`. */
  readonly workflows?: readonly string[];
  /** Inputs of `workflow_dispatch`, as in the file. */
  readonly inputs?: Mapping;
  /** Expressions of `schedule`. */
  readonly cron?: readonly string[];
}

/** Events of the public documentation. This server starts runs for those that it publishes. */
const EVENTS: ReadonlySet<string> = new Set(
  `branch_protection_rule check_run check_suite create delete deployment deployment_status discussion
  discussion_comment fork gollum issue_comment issues label merge_group milestone page_build project project_card
  project_column public pull_request pull_request_comment pull_request_review pull_request_review_comment
  pull_request_target push registry_package release repository_dispatch schedule status watch workflow_call
  workflow_dispatch workflow_run`.split(/\s+/),
);

const LISTS = {
  branches: "branches",
  "branches-ignore": "branchesIgnore",
  tags: "tags",
  "tags-ignore": "tagsIgnore",
  paths: "paths",
  "paths-ignore": "pathsIgnore",
} as const;

/** Maximum number of times of one schedule. */
const CRON_MAX = 50;
/** Maximum number of patterns of one filter. */
const PATTERNS_MAX = 200;

/** Reads `on`: an event, a list of events, or a mapping of events to filters. @throws WorkflowError */
export function readTriggers(on: ExpressionValue, reader: WorkflowReader): Triggers {
  if (on === null) throw reader.error("`on` is missing: it names the events of the workflow");
  const entries: (readonly [string, ExpressionValue])[] = isMapping(on)
    ? Object.entries(on)
    : reader.texts(on, "on").map((name) => [name, null] as const);
  if (entries.length === 0) throw reader.error("`on` names no event", "on");
  const triggers: Record<string, EventFilters> = {};
  for (const [name, filters] of entries) {
    if (!EVENTS.has(name)) throw reader.error(`unknown event ${JSON.stringify(name)}`, "on", name);
    triggers[name] = readFilters(name, filters, reader);
  }
  return triggers;
}

function readFilters(name: string, value: ExpressionValue, reader: WorkflowReader): EventFilters {
  if (name === "schedule") return { cron: readCron(value, reader) };
  const mapping = reader.mapping(value, "on", name);
  const filters: Record<string, unknown> = {};
  for (const [word, field] of Object.entries(LISTS)) {
    if (mapping[word] === undefined) continue;
    const patterns = reader.texts(mapping[word], "on", name, word);
    if (patterns.length > PATTERNS_MAX || compileFilter(patterns) === undefined)
      throw reader.error(`on.${name}.${word} has an invalid pattern`, "on", name, word);
    filters[field] = patterns;
  }
  for (const [one, other] of [
    ["branches", "branches-ignore"],
    ["tags", "tags-ignore"],
    ["paths", "paths-ignore"],
  ] as const)
    if (mapping[one] !== undefined && mapping[other] !== undefined)
      throw reader.error(`on.${name} has both ${one} and ${other}`, "on", name, other);
  if (mapping["types"] !== undefined)
    filters["types"] = reader.texts(mapping["types"], "on", name, "types");
  if (mapping["workflows"] !== undefined)
    filters["workflows"] = reader.texts(mapping["workflows"], "on", name, "workflows");
  if (mapping["inputs"] !== undefined)
    filters["inputs"] = reader.mapping(mapping["inputs"], "on", name, "inputs");
  return filters;
}

function readCron(value: ExpressionValue, reader: WorkflowReader): readonly string[] {
  const list: readonly ExpressionValue[] = Array.isArray(value) ? value : [];
  const lines = list.map((each) => (isMapping(each) ? each["cron"] : undefined));
  if (lines.length === 0 || !lines.every((line) => typeof line === "string"))
    throw reader.error("on.schedule is a list of `- cron: …`", "on", "schedule");
  if (lines.length > CRON_MAX)
    throw reader.error(`on.schedule has at most ${CRON_MAX} times`, "on", "schedule");
  return lines;
}

/** A push to one ref. */
export interface PushedRef {
  readonly ref: string;
  /** Paths that the push changed; undefined when they are not known, which counts as a match. */
  readonly paths: readonly string[] | undefined;
}

/** The parts of an event that filters look at. */
export interface Activity {
  readonly event: string;
  /** The action of the payload. */
  readonly action: string;
  /** Of `workflow_run`: the name of the workflow, and the branch of its run. */
  readonly workflow: string;
  readonly branch: string;
  /** Of `release`: whether it is a prerelease. */
  readonly isPrerelease: boolean;
}

/** Returns the parts of an event that filters look at. */
export function toActivity(event: string, payload: Mapping): Activity {
  const text = (value: ExpressionValue | undefined) => (typeof value === "string" ? value : "");
  const workflow = isMapping(payload["workflow"]) ? payload["workflow"]["name"] : undefined;
  const run = isMapping(payload["workflow_run"]) ? payload["workflow_run"]["head_branch"] : "";
  const release = isMapping(payload["release"]) ? payload["release"]["prerelease"] : false;
  return {
    event,
    action: text(payload["action"]),
    isPrerelease: release === true,
    workflow: text(workflow),
    branch: text(run),
  };
}

interface PushMatch {
  readonly filters: EventFilters;
  readonly pushed: PushedRef;
}
interface ActivityMatch {
  readonly filters: EventFilters;
  readonly activity: Activity;
}

/** `matchesPush` for `Compute`: 200 patterns against thousands of paths take seconds. */
export const matchPush = {
  name: "matchPush",
  cost: ({ filters, pushed }: PushMatch) => toCost(filters, toTexts(pushed)),
  length: ({ pushed }: PushMatch) => sumLengths(toTexts(pushed)),
  run: ({ filters, pushed }: PushMatch) => matchesPush(filters, pushed),
};

/** `matchesActivity` for `Compute`. */
export const matchActivity = {
  name: "matchActivity",
  cost: ({ filters, activity }: ActivityMatch) => toCost(filters, [activity.branch]),
  length: ({ activity }: ActivityMatch) => activity.branch.length,
  run: ({ filters, activity }: ActivityMatch) => matchesActivity(filters, activity),
};

const toTexts = ({ ref, paths = [] }: PushedRef): readonly string[] => [ref, ...paths];

const sumLengths = (texts: readonly string[]): number =>
  texts.reduce((sum, { length }) => sum + length + 1, 0);

/** Returns an upper bound of the steps in which the patterns of filters match texts. */
export function toCost(filters: EventFilters, texts: readonly string[]): number {
  const { branches, branchesIgnore, tags, tagsIgnore, paths, pathsIgnore } = filters;
  const patterns = [branches, branchesIgnore, tags, tagsIgnore, paths, pathsIgnore].flatMap(
    (each) => each ?? [],
  );
  const perCharacter = patterns.reduce((sum, { length }) => sum + 3 + length / 5, 0);
  return perCharacter * sumLengths(texts);
}

/** Returns whether a push starts a workflow with these filters. Filters of paths do not apply to tags. */
export function matchesPush(filters: EventFilters, { ref, paths }: PushedRef): boolean {
  const { branches, branchesIgnore, tags, tagsIgnore } = filters;
  const namesBranches = branches !== undefined || branchesIgnore !== undefined;
  const namesTags = tags !== undefined || tagsIgnore !== undefined;
  if (ref.startsWith("refs/tags/"))
    // A workflow that filters only branches ignores tags, and vice versa.
    return (
      (namesTags || !namesBranches) && accepts(ref.slice("refs/tags/".length), tags, tagsIgnore)
    );
  if (!ref.startsWith("refs/heads/") || (namesTags && !namesBranches)) return false;
  if (!accepts(ref.slice("refs/heads/".length), branches, branchesIgnore)) return false;
  return matchesPaths(filters, paths);
}

/** Actions of payloads whose activity type has another name in `types`. */
const TYPES: Readonly<Record<string, string>> = {
  label_updated: "labeled",
  label_cleared: "unlabeled",
};

/**
 * Returns whether an event starts a workflow with these filters: its `types`, and for `workflow_run` also the workflow and
 * the branch of the run.
 */
function matchesActivity(
  { types, workflows, branches, branchesIgnore }: EventFilters,
  { event, action, workflow, branch, isPrerelease }: Activity,
): boolean {
  const known = Object.hasOwn(TYPES, action) ? TYPES[action] : undefined;
  const type = event === "registry_package" ? "published" : (known ?? action);
  const names = [
    type,
    action,
    ...(event === "release" ? toReleaseTypes(action, isPrerelease) : []),
  ];
  if (types !== undefined && !names.some((name) => types.includes(name))) return false;
  if (event !== "workflow_run") return true;
  if (workflows !== undefined && !workflows.includes(workflow)) return false;
  return accepts(branch, branches, branchesIgnore);
}

/** Returns the further types of an event of a release; one event starts a workflow once, whatever types it names. */
function toReleaseTypes(action: string, isPrerelease: boolean): readonly string[] {
  if (action === "published") return ["created", isPrerelease ? "prereleased" : "released"];
  // Gitea's word.
  return action === "edited" ? ["updated"] : [];
}

/** Returns whether the filters of paths accept changed files. */
export function matchesPaths(
  { paths, pathsIgnore }: EventFilters,
  changed: readonly string[] | undefined,
): boolean {
  if (changed === undefined) return true;
  if (paths !== undefined) return changed.some(compileFilter(paths) ?? never);
  if (pathsIgnore === undefined) return true;
  const isIgnored = compileFilter(pathsIgnore) ?? never;
  return changed.some((path) => !isIgnored(path));
}

/** Returns whether a filter and its opposite accept a name. */
export function accepts(
  name: string,
  included: readonly string[] | undefined,
  ignored: readonly string[] | undefined,
): boolean {
  if (included !== undefined) return (compileFilter(included) ?? never)(name);
  return ignored === undefined || !(compileFilter(ignored) ?? never)(name);
}

const never = () => false;
