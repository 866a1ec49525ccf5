import { accepts, type EventFilters, matchesPaths, toCost } from "./triggers.ts";

/** An event of a pull request, as far as filters look at it. */
export interface PullActivity {
  /** Every word by which `types` may name the activity. */
  readonly types: readonly string[];
  readonly baseBranch: string;
  /** The files that the pull request changes; undefined when they are not known, which counts as a match. */
  readonly paths: readonly string[] | undefined;
}

interface PullMatch {
  /** The name of the event in `on`. */
  readonly event: string;
  readonly filters: EventFilters;
  readonly activity: PullActivity;
}

/** The types that start a workflow which names none. */
const USUAL_TYPES: ReadonlySet<string> = new Set(["opened", "synchronize", "reopened"]);

/** `matchesPull` for `Compute`: 200 patterns against thousands of paths take seconds. */
export const matchPull = {
  name: "matchPull",
  cost: ({ filters, activity }: PullMatch) => toCost(filters, toTexts(activity)),
  length: ({ activity }: PullMatch) =>
    toTexts(activity).reduce((sum, { length }) => sum + length + 1, 0),
  run: matchesPull,
};

const toTexts = ({ baseBranch, paths = [] }: PullActivity): readonly string[] => [
  baseBranch,
  ...paths,
];

/**
 * Returns whether an event of a pull request starts a workflow with these filters: `types`, by default those of a new head,
 * `branches` of the base, and `paths` of the changed files.
 */
export function matchesPull({ event, filters, activity }: PullMatch): boolean {
  const { types, branches, branchesIgnore } = filters;
  if (!matchesTypes(event, types, activity.types)) return false;
  return (
    accepts(activity.baseBranch, branches, branchesIgnore) && matchesPaths(filters, activity.paths)
  );
}

/** Returns whether `types` of an event names an activity. */
export function matchesTypes(
  event: string,
  types: readonly string[] | undefined,
  names: readonly string[],
): boolean {
  if (types !== undefined) return names.some((name) => types.includes(name));
  const hasUsual = event === "pull_request" || event === "pull_request_target";
  return !hasUsual || names.some((name) => USUAL_TYPES.has(name));
}

/** Returns whether filters look at the changed files. */
export const looksAtPaths = ({ paths, pathsIgnore }: EventFilters): boolean =>
  paths !== undefined || pathsIgnore !== undefined;
