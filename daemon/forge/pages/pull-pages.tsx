import { pullChangeEndpoints } from "../../contract/forge/pulls/pull-changes.ts";
import { mergeEndpoints } from "../../contract/forge/pulls/merges.ts";
import { pullEndpoints, type WirePull } from "../../contract/forge/pulls/pulls.ts";
import { reviewEndpoints, type WireReview } from "../../contract/forge/pulls/reviews.ts";
import { Alert, Facts, State } from "../../pages/elements.tsx";
import { Form } from "../../pages/form.tsx";
import { get, post, toLocalPath, toPath } from "../../pages/page.ts";
import { UserLink } from "./elements.tsx";
import {
  findRefusal,
  formRefusals,
  toSentence,
  type ForgePageAnswer,
  type ForgePageContext,
  type ForgePageRoute,
  toSignIn,
} from "./forge-page.ts";
import { toFollowed } from "./log-view.tsx";
import { type Check, loadMergeBox, MergeBox, RevertForm } from "./merge-box.tsx";
import { loadChecks, sendPullState, toFollowedChecks } from "./pull-checks.ts";
import { loadPull, PullHead, type PullParams, toPullPath } from "./pull-head.tsx";
import { mayChangeCode } from "./repository-head.tsx";
import { IssueText } from "./issue-page.tsx";
import { IssueSidebar } from "./issue-sidebar.tsx";
import { loadIssueBoxes, loadIssueWork } from "./issue-work.ts";
import {
  loadReviewLines,
  renderLines,
  ReviewLines,
  replyForm,
  type ShownReview,
} from "./review-lines.tsx";
import { readText, type ShownForm } from "./texts.tsx";
import { CommentForm, type LoadedTimeline, loadTimeline, Timeline } from "./timeline.tsx";

/** A pull request with its conversation. */
export function pullPages(): ForgePageRoute[] {
  return [
    get("/:owner/:repo/pulls/:index", (context, params) => showPull(context, params)),
    get("/:owner/:repo/pulls/:index/state", sendPullState),
    post("/:owner/:repo/pulls/:index/reviews", addReview),
    post("/:owner/:repo/pulls/:index/merge", merge),
    post("/:owner/:repo/pulls/:index/cancel_auto_merge", cancelMerge),
    post("/:owner/:repo/pulls/:index/update", update),
    post("/:owner/:repo/pulls/:index/revert", revert),
    post("/:owner/:repo/pulls/:index/suggestions", applySuggestions),
    post("/:owner/:repo/pulls/:index/lines/:id/replies", reply),
    post("/:owner/:repo/pulls/:index/lines/:id/resolution", resolve),
  ];
}

/** Shows the conversation of a pull request, with the result of a form. */
export async function showPull(context: ForgePageContext, params: PullParams, shown?: ShownForm) {
  const { request, session } = context;
  const { pull, repository } = await loadPull(context, params);
  const work = await loadIssueWork(context, params, repository, shown);
  const boxes = await loadIssueBoxes(work, params);
  const timeline = await loadTimeline(context, params, {
    home: repository.full_name,
    isImported: work.issue.original_author !== "",
  });
  const reviews = await loadReviews(context, params, timeline);
  const checks = await loadChecks(context, params, pull);
  const box =
    session &&
    (await loadMergeBox(context, pull, {
      repository,
      timeline,
      checks,
      reviews: [...reviews.values()].map(({ review }) => review).slice(0, REVIEWS_JUDGED),
    }));
  const home = toPullPath(params, pull);
  // The answer to a form is not loaded again: that would send the form again.
  const followed = shown === undefined ? toFollowedChecks({ pull, checks }, box, home) : undefined;
  const isOpen = pull.state === "open";
  const mayPush = mayChangeCode(repository);
  const forms = session && {
    home,
    token: session.formToken,
    isOpen,
    mayChange: mayPush || pull.user?.id === session.caller.user.id,
  };
  return {
    kind: "page",
    title: `${pull.title} #${pull.number} in ${repository.full_name}`,
    ...(shown?.failed === undefined ? {} : { status: 422 }),
    body: (
      <>
        <PullHead
          pull={pull}
          repository={repository}
          params={params}
          current="conversation"
          originalAuthor={work.issue.original_author}
        />
        <PullFacts pull={pull} checks={checks} />
        <div className="beside" {...toFollowed(followed)}>
          <div>
            {await IssueText(work, params)}
            <Timeline
              timeline={timeline}
              home={repository.full_name}
              query={request.query}
              work={work}
              toReviewer={({ review_id: id }) => reviews.get(id)?.review.original_author ?? ""}
              more={({ review_id: id }) => <ReviewLines shown={reviews.get(id)} forms={forms} />}
            />
            <Alert text={shown?.of === "box" ? shown.failed : undefined} />
            {session === undefined || !isOpen || repository.archived ? null : (
              <ReviewForm action={`${home}/reviews`} token={session.formToken} />
            )}
            {session && mayPush && pull.merged ? (
              <RevertForm home={home} token={session.formToken} />
            ) : null}
            {session === undefined || box === undefined ? null : (
              <MergeBox box={box} home={home} token={session.formToken} />
            )}
            <CommentForm work={work} />
          </div>
          <IssueSidebar work={work} boxes={boxes} />
        </div>
      </>
    ),
  } as const;
}

function PullFacts({ pull, checks }: { pull: WirePull; checks: readonly Check[] }) {
  const reviewers = pull.requested_reviewers ?? [];
  return (
    <Facts
      rows={[
        ["Merge", toMergeText(pull)],
        [
          "Changes",
          `${count(pull.changed_files ?? 0, "file")}, ${pull.additions ?? 0} added, ${pull.deletions ?? 0} removed lines`,
        ],
        [
          "Checks",
          checks.length === 0
            ? undefined
            : checks.map(({ context, status }) => (
                <span key={context}>
                  {context} <State word={status} />{" "}
                </span>
              )),
        ],
        [
          "Reviews requested",
          reviewers.length === 0
            ? undefined
            : reviewers.map((user) => <UserLink key={user.id} user={user} />),
        ],
      ]}
    />
  );
}

const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? "" : "s"}`;

function toMergeText(pull: WirePull): string {
  if (pull.merged) return `merged by ${pull.merged_by?.login ?? "a deleted account"}`;
  if (pull.state === "closed") return "closed without merging";
  if (pull.draft) return "a draft: it is merged when the title says so no more";
  return pull.mergeable ? "no conflict" : "conflicts with the base, or not computed yet";
}

/** Reviews that the box for the merge judges. */
const REVIEWS_JUDGED = 50;

/** Loads the first reviews, which the box for the merge judges, and those of the entries of the page. */
async function loadReviews(
  context: ForgePageContext,
  { owner, repo, index }: PullParams,
  { items }: LoadedTimeline,
) {
  const { call } = context;
  const params = { owner, repo, index };
  const { body: first } = await call(reviewEndpoints.listReviews, {
    params,
    query: { limit: String(REVIEWS_JUDGED) },
  });
  const known = new Set(first.map(({ id }) => id));
  const ids = items.map(({ entry }) => entry.review_id).filter((id) => id > 0);
  const later: WireReview[] = [];
  for (const id of new Set(ids).difference(known)) {
    const path = { ...params, id: String(id) };
    // It may have been deleted since the timeline was read.
    await findRefusal(["not_found"], async () => {
      later.push((await call(reviewEndpoints.getReview, { params: path })).body);
    });
  }
  const onPage = [...new Set(ids)].join(",");
  const found = onPage === "" ? [] : await loadReviewLines(context, params, { reviews: onPage });
  const rendered = await renderLines(context, `${owner}/${repo}`, found);
  const lines = Map.groupBy(rendered, ({ pull_request_review_id: id }) => id);
  return new Map<number, ShownReview>(
    [...first, ...later].map((review) => [
      review.id,
      { review, lines: lines.get(review.id) ?? [] },
    ]),
  );
}

function ReviewForm({ action, token }: { action: string; token: string }) {
  return (
    <Form action={action} token={token} className="wide">
      <label>
        Review, in Markdown
        <textarea name="body" maxLength={65_536} />
      </label>
      <div className="buttons">
        <button type="submit" name="event" value="APPROVED">
          Approve
        </button>
        <button type="submit" name="event" value="REQUEST_CHANGES">
          Request changes
        </button>
      </div>
    </Form>
  );
}

/** Runs the work of a form, and shows the pull request again. */
async function submit(
  context: ForgePageContext,
  params: PullParams,
  work: () => Promise<unknown>,
): Promise<ForgePageAnswer> {
  const home = toPath(params.owner, params.repo, "pulls", params.index);
  if (context.session === undefined) return toSignIn(home);
  const refusal = await findRefusal(formRefusals, work);
  if (refusal !== undefined)
    return showPull(context, params, { of: "box", failed: toSentence(refusal) });
  return { kind: "redirect", to: toBack(context, home) };
}

/** A form of the page of the changes leads back to it. */
function toBack({ form }: ForgePageContext, home: string): string {
  const back = toLocalPath(form.get("back"));
  return back.startsWith(`${home}/`) ? back : home;
}

function addReview(context: ForgePageContext, params: PullParams): Promise<ForgePageAnswer> {
  const body = { event: context.form.get("event") ?? "", body: readText(context) };
  return submit(context, params, () =>
    context.call(reviewEndpoints.createReview, { params, body }),
  );
}

function merge(context: ForgePageContext, params: PullParams): Promise<ForgePageAnswer> {
  const { form } = context;
  const body = {
    do: form.get("style") ?? "merge",
    // What the page showed is merged, not what was pushed since.
    head_commit_id: form.get("head") ?? "",
    force_merge: form.get("force") === "yes",
    delete_branch_after_merge: form.get("delete") === "yes",
    merge_when_checks_succeed: form.get("when") === "checks",
  };
  return submit(context, params, () => context.call(mergeEndpoints.createMerge, { params, body }));
}

function cancelMerge(context: ForgePageContext, params: PullParams): Promise<ForgePageAnswer> {
  return submit(context, params, () => context.call(mergeEndpoints.deleteMerge, { params }));
}

function update(context: ForgePageContext, params: PullParams): Promise<ForgePageAnswer> {
  const query = { style: context.form.get("style") ?? "merge" };
  return submit(context, params, () =>
    context.call(pullChangeEndpoints.updatePull, { params, query }),
  );
}

async function revert(context: ForgePageContext, params: PullParams): Promise<ForgePageAnswer> {
  const opened: { number?: number } = {};
  const shown = await submit(context, params, async () => {
    const { body } = await context.call(pullEndpoints.revertPull, { params, body: {} });
    opened.number = body.number;
  });
  const { number } = opened;
  return number === undefined ? shown : { kind: "redirect", to: toPullPath(params, { number }) };
}

function applySuggestions(context: ForgePageContext, params: PullParams): Promise<ForgePageAnswer> {
  const comments = (context.form.get("comments") ?? "").split(" ").map(Number);
  return submit(context, params, () =>
    context.call(reviewEndpoints.applySuggestions, { params, body: { comments } }),
  );
}

type LineParams = PullParams & { readonly id: string };

function reply(context: ForgePageContext, params: LineParams): Promise<ForgePageAnswer> {
  const body = { body: replyForm.read(context.form).body.replaceAll("\r\n", "\n") };
  return submit(context, params, () =>
    context.call(reviewEndpoints.replyToReviewLine, { params, body }),
  );
}

function resolve(context: ForgePageContext, params: LineParams): Promise<ForgePageAnswer> {
  const { owner, repo, id } = params;
  const { resolveReviewLine, unresolveReviewLine } = reviewEndpoints;
  const isResolved = context.form.get("resolved") !== "no";
  return submit(context, params, () =>
    context.call(isResolved ? resolveReviewLine : unresolveReviewLine, {
      params: { owner, repo, id },
    }),
  );
}
