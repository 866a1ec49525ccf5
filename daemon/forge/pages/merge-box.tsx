import { branchEndpoints, type WireBranch } from "../../contract/forge/code/branches.ts";
import {
  issueStateEndpoints,
  type WireTimelineEntry,
} from "../../contract/forge/issues/issue-states.ts";
import type { WirePull } from "../../contract/forge/pulls/pulls.ts";
import type { WireReview } from "../../contract/forge/pulls/reviews.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { toCount } from "../../pages/elements.tsx";
import { Form } from "../../pages/form.tsx";
import { isPattern } from "../repositories/name-patterns.ts";
import { findRefusal, type ForgePageContext } from "./forge-page.ts";
import type { LoadedTimeline } from "./timeline.tsx";

/** The state of one check of the head. */
export interface Check {
  readonly context: string;
  readonly status: string;
}

/** What the box that merges an open pull request shows. */
export interface LoadedMergeBox {
  readonly pull: WirePull;
  readonly repository: WireRepository;
  /** The branch of the base; undefined once it is deleted. */
  readonly base: WireBranch | undefined;
  readonly checks: readonly Check[];
  readonly reviews: readonly WireReview[];
  /** The merge that happens as soon as nothing is missing, if one is scheduled. */
  readonly scheduled: ScheduledMerge | undefined;
}

interface ScheduledMerge {
  /** The person who scheduled it. */
  readonly by: string;
  readonly mayCancel: boolean;
}

/** Loads the rules of the base and the scheduled merge. Returns undefined when the pull request is not open. */
export async function loadMergeBox(
  context: ForgePageContext,
  pull: WirePull,
  {
    repository,
    timeline,
    ...state
  }: Pick<LoadedMergeBox, "repository" | "checks" | "reviews"> & {
    readonly timeline: LoadedTimeline;
  },
): Promise<LoadedMergeBox | undefined> {
  const { call, session } = context;
  if (pull.state !== "open") return undefined;
  const params = {
    owner: repository.owner.login,
    repo: repository.name,
    branch: pull.base.ref,
  };
  let base: WireBranch | undefined;
  await findRefusal(["not_found"], async () => {
    ({ body: base } = await call(branchEndpoints.getBranch, { params }));
  });
  const by = findScheduler(await loadLastEntries(context, { pull, repository, timeline }));
  const mayCancel =
    !repository.archived &&
    (session?.caller.user.name === by || repository.permissions?.admin === true);
  const scheduled = by === undefined ? undefined : { by, mayCancel };
  return { pull, repository, base, scheduled, ...state };
}

/** Entries of a page of the timeline, and how many of its last pages are searched for a scheduled merge. */
const ENTRIES = 50;
const PAGES_SEARCHED = 2;

/** Returns the last entries of a timeline, the oldest first, without a call when the page of the conversation has all. */
async function loadLastEntries(
  { call }: ForgePageContext,
  {
    pull,
    repository,
    timeline: { items, total },
  }: Pick<LoadedMergeBox, "pull" | "repository"> & { readonly timeline: LoadedTimeline },
): Promise<readonly WireTimelineEntry[]> {
  if (items.length === total) return items.map(({ entry }) => entry);
  const params = {
    owner: repository.owner.login,
    repo: repository.name,
    index: String(pull.number),
  };
  const last = Math.ceil(total / ENTRIES);
  const pages = Array.from({ length: PAGES_SEARCHED }, (_, at) => last - PAGES_SEARCHED + 1 + at);
  const loaded = await Promise.all(
    pages
      .filter((page) => page >= 1)
      .map((page) =>
        call(issueStateEndpoints.listIssueTimeline, {
          params,
          query: { page: String(page), limit: String(ENTRIES) },
        }),
      ),
  );
  return loaded.flatMap(({ body }) => body);
}

/** The events after which no merge is scheduled any more. */
const endings: readonly string[] = ["pull_cancel_scheduled_merge", "merge_pull", "close"];

/** Returns the name of the person whose merge is scheduled; undefined without one, and when the account is deleted. */
function findScheduler(entries: readonly WireTimelineEntry[]): string | undefined {
  const event = entries.findLast(
    ({ type }) => type === "pull_scheduled_merge" || endings.includes(type),
  );
  if (event === undefined || event.type !== "pull_scheduled_merge") return undefined;
  return event.user === null || event.user.id <= 0 ? undefined : event.user.login;
}

/** What stands in the way of a merge, as sentences. The page does not know all settings of a rule. */
interface Reasons {
  /** For which it is certainly refused. */
  readonly certain: readonly string[];
  /** For which the rule may refuse it. */
  readonly possible: readonly string[];
}

/** Entries that a list of reviews or checks has at most: one with fewer is whole. */
const LIST_MAX = 50;

function findReasons(box: LoadedMergeBox): Reasons {
  const { pull, repository, base } = box;
  const { ref } = pull.base;
  if (repository.archived) return only("The repository is archived.");
  if (base === undefined) return only(`The branch ${ref} is deleted.`);
  const { lacking, possible } = judgeChecks(box.checks, base);
  return {
    certain: [
      ...(pull.draft ? ["It is a draft: edit its title to say that it is ready."] : []),
      ...(pull.mergeable || pull.draft
        ? []
        : [`It conflicts with ${ref}, or croft has not compared the two yet.`]),
      ...(base.user_can_merge ? [] : [`You may not merge into ${ref}.`]),
      ...judgeApprovals(box.reviews, base, ref),
      ...lacking,
    ],
    possible: [...listObjections(box.reviews, base), ...possible],
  };
}

const only = (reason: string): Reasons => ({ certain: [reason], possible: [] });

function judgeApprovals(
  reviews: readonly WireReview[],
  { required_approvals: required }: WireBranch,
  ref: string,
): readonly string[] {
  const approvals = lastVerdicts(reviews).filter(({ state }) => state === "APPROVED").length;
  if (approvals >= required || reviews.length >= LIST_MAX) return [];
  return [`It has ${approvals} of ${toCount(required, "approval")} that ${ref} requires.`];
}

/** Whether a request for changes is an obstacle is a setting of the rule. */
const listObjections = (reviews: readonly WireReview[], base: WireBranch): readonly string[] =>
  base.protected
    ? lastVerdicts(reviews)
        .filter(({ state }) => state === "REQUEST_CHANGES")
        .map(({ user }) => `${user?.login ?? "A reviewer"} requests changes.`)
    : [];

/** Judges the required checks as far as their names are no patterns. */
function judgeChecks(
  checks: readonly Check[],
  { enable_status_check: areRequired, status_check_contexts: names }: WireBranch,
): { readonly lacking: readonly string[]; readonly possible: readonly string[] } {
  if (!areRequired) return { lacking: [], possible: [] };
  const passing = ["success", "warning", "skipped"];
  const isCertain = (name: string) => !isPattern(name) && !name.includes("\\");
  const hasPassed = (name: string) =>
    checks.length >= LIST_MAX ||
    checks.some(({ context, status }) => context === name && passing.includes(status));
  return {
    lacking: names
      .filter((name) => isCertain(name) && !hasPassed(name))
      .map((name) => `The check ${name} has not succeeded.`),
    possible: names
      .filter((name) => !isCertain(name))
      .map((name) => `The checks ${name} have to succeed.`),
  };
}

/** Whether a check is running, or a required one has not succeeded yet. */
export const awaitsChecks = ({ checks, base }: Pick<LoadedMergeBox, "checks" | "base">): boolean =>
  checks.some(({ status }) => status === "pending") ||
  (base !== undefined && judgeChecks(checks, base).lacking.length > 0);

/** Returns the latest verdict of each official reviewer that still counts. */
function lastVerdicts(reviews: readonly WireReview[]): readonly WireReview[] {
  const counted = reviews.filter(
    ({ official, dismissed, state }) =>
      official && !dismissed && (state === "APPROVED" || state === "REQUEST_CHANGES"),
  );
  return [...new Map(counted.map((review) => [review.user?.id, review])).values()];
}

/** The styles that a repository may allow, with the texts of their buttons. */
const styles = [
  ["merge", "Merge", "allow_merge_commits"],
  ["squash", "Merge as one commit", "allow_squash_merge"],
  ["rebase", "Rebase", "allow_rebase"],
] as const;

/** What stands in the way of a merge, and the buttons of those who may merge or update the branch. */
export function MergeBox({
  box,
  home,
  token,
}: {
  box: LoadedMergeBox;
  /** The address of the pull request. */
  home: string;
  token: string;
}) {
  const { pull, repository, base, scheduled } = box;
  const { certain, possible } = findReasons(box);
  const reasons = [...new Set([...certain, ...possible])];
  const mayForce = repository.permissions?.admin === true;
  const mayMerge = base?.user_can_merge === true && !repository.archived && !repository.mirror;
  const isMergeable = mayMerge && pull.mergeable && !pull.draft;
  return (
    <section className="card" aria-label="Merge">
      <div className="content">
        {reasons.length === 0 ? (
          <p>{`It can be merged into ${pull.base.ref}.`}</p>
        ) : (
          <>
            <p>
              {certain.length > 0
                ? "It cannot be merged yet:"
                : `The rule of ${pull.base.ref} may refuse to merge it:`}
            </p>
            <ul>
              {reasons.map((reason) => (
                <li key={reason}>{reason}</li>
              ))}
            </ul>
          </>
        )}
        {scheduled === undefined ? null : (
          <ScheduledMergeForm scheduled={scheduled} home={home} token={token} />
        )}
        {pull.merge_base === pull.base.sha ? null : (
          <UpdateForm pull={pull} home={home} token={token} />
        )}
        {isMergeable && (certain.length === 0 || mayForce) ? (
          <Form action={`${home}/merge`} token={token} className="wide">
            <input type="hidden" name="head" value={pull.head.sha} />
            {mayForce && reasons.length > 0 ? (
              <label className="check">
                <input type="checkbox" name="force" value="yes" required={certain.length > 0} />{" "}
                Merge although the rules say no, as an administrator
              </label>
            ) : null}
            <label className="check">
              <input type="checkbox" name="delete" value="yes" /> Delete the branch afterwards
            </label>
            <div className="buttons">
              {styles
                .filter(([, , setting]) => repository[setting])
                .map(([style, text]) => (
                  <button key={style} type="submit" name="style" value={style}>
                    {text}
                  </button>
                ))}
            </div>
          </Form>
        ) : null}
        {isMergeable && scheduled === undefined && mayWait(box, reasons) ? (
          <ScheduleForm box={box} home={home} token={token} />
        ) : null}
      </div>
    </section>
  );
}

/** Whether something is missing that may still come. */
const mayWait = ({ checks }: LoadedMergeBox, reasons: readonly string[]): boolean =>
  reasons.length > 0 || checks.some(({ status }) => status === "pending");

/** Schedules the merge for the moment at which the rules of the base are met. */
function ScheduleForm({
  box: { pull, repository },
  home,
  token,
}: {
  box: LoadedMergeBox;
  home: string;
  token: string;
}) {
  return (
    <Form action={`${home}/merge`} token={token} className="wide">
      <input type="hidden" name="head" value={pull.head.sha} />
      <input type="hidden" name="when" value="checks" />
      <label>
        How it is merged once nothing is missing
        <select name="style" defaultValue={repository.default_merge_style}>
          {styles
            .filter(([, , setting]) => repository[setting])
            .map(([style, text]) => (
              <option key={style} value={style}>
                {text}
              </option>
            ))}
        </select>
      </label>
      <label className="check">
        <input type="checkbox" name="delete" value="yes" /> Delete the branch afterwards
      </label>
      <div className="buttons">
        <button type="submit">Merge when checks succeed</button>
      </div>
    </Form>
  );
}

/** Says that the merge is scheduled, with the button that cancels it for the person who did that and administrators. */
function ScheduledMergeForm({
  scheduled: { by, mayCancel },
  home,
  token,
}: {
  scheduled: ScheduledMerge;
  home: string;
  token: string;
}) {
  const text = `It is merged as soon as nothing is missing, as ${by} has scheduled.`;
  if (!mayCancel) return <p>{text}</p>;
  return (
    <Form action={`${home}/cancel_auto_merge`} token={token} className="wide">
      <p>{text}</p>
      <div className="buttons">
        <button type="submit">Cancel the scheduled merge</button>
      </div>
    </Form>
  );
}

/** Brings the commits of the base into the branch. The operation refuses those who may not push to the head. */
function UpdateForm({ pull, home, token }: { pull: WirePull; home: string; token: string }) {
  return (
    <Form action={`${home}/update`} token={token} className="wide">
      <p className="quiet">{`${pull.base.ref} has commits that the branch lacks.`}</p>
      <div className="buttons">
        <button type="submit" name="style" value="merge">
          Update the branch by a merge
        </button>
        <button type="submit" name="style" value="rebase">
          Update the branch by a rebase
        </button>
      </div>
    </Form>
  );
}

export function RevertForm({ home, token }: { home: string; token: string }) {
  return (
    <section className="card" aria-label="Revert">
      <Form action={`${home}/revert`} token={token} className="content">
        <button type="submit">Revert</button>{" "}
        <span className="quiet">
          opens a pull request that takes these changes back, on a new branch
        </span>
      </Form>
    </section>
  );
}
