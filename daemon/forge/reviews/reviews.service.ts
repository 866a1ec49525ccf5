// Reviews of pull requests. Start here: verdicts and their life. review-requests.service.ts asks people for reviews,
// review-lines.service.ts has the comments on lines.
import type { Database, Queries, Transaction } from "../../../storage/engine/database.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import {
  type ForgeTeam,
  isTeamMember,
  listTeamsByIds,
} from "../../../storage/tables/forge/accounts/teams.ts";
import type { ForgeIssue } from "../../../storage/tables/forge/issues/issues.ts";
import { insertReviewEntry } from "../../../storage/tables/forge/issues/timeline.ts";
import { countReviewLines } from "../../../storage/tables/forge/pulls/review-lines.ts";
import {
  deleteReview,
  type ForgeReview,
  findPendingReview,
  insertReview,
  listReviewRequests,
  listReviews,
  listVerdicts,
  updateReview,
} from "../../../storage/tables/forge/pulls/reviews.ts";
import { AppError } from "../../errors.ts";
import { type ForgeCaller, isSelf } from "../caller.ts";
import type { Emit, OwnedRepository } from "../events.ts";
import { findPeople } from "../issues/issue-details.ts";
import type { GrantedRepository } from "../opened.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import { reaches } from "../repositories/access.ts";
import { reopenRepository } from "../repositories/open-repository.ts";
import { type OpenedPull, openPull } from "../pulls/open-pull.ts";
import { type IsOfficial, openReview, type ReviewPath, toViewer } from "./review-access.ts";
import type { NewLine, PreparedLines, ReviewLines } from "./review-lines.service.ts";

/** A review with the records that its view shows. */
export interface ReviewDetails {
  readonly owned: OwnedRepository;
  readonly issue: ForgeIssue;
  readonly review: ForgeReview;
  /** Undefined for a team, and once the account is deleted. */
  readonly reviewer: ForgeUser | undefined;
  readonly team: ForgeTeam | undefined;
  readonly lineCount: number;
}

/** What a reviewer says. */
export interface Verdict {
  /** `APPROVED`, `REQUEST_CHANGES`, `COMMENT`; anything else leaves the review pending. */
  readonly event: string;
  readonly body: string;
}

export interface NewReviewRequest extends Verdict {
  /** Empty for the head. */
  readonly commitId: string;
  readonly lines: readonly NewLine[];
}

export type Reviews = ReturnType<typeof createReviews>;

/** Creates the service. Every function refuses with `not_found` an unknown pull request or review. */
export function createReviews({
  db,
  emit,
  lines,
  isOfficial,
}: {
  readonly db: Database;
  readonly emit: Emit;
  readonly lines: Pick<ReviewLines, "prepare" | "insert">;
  readonly isOfficial: IsOfficial;
}) {
  return {
    async list(
      opened: GrantedRepository,
      index: number,
      window: PageWindow,
    ): Promise<{ readonly reviews: readonly ReviewDetails[]; readonly total: number }> {
      const { caller } = opened.grant;
      const { issue } = await openPull(db, opened, index);
      const page = await listReviews(db, issue.id, toViewer(caller), toRows(window));
      const reviews = await loadReviews(db, { owned: opened, issue }, page.records);
      return { reviews, total: page.total };
    },

    async get(opened: GrantedRepository, path: ReviewPath): Promise<ReviewDetails> {
      const found = await openReview(db, opened, opened.grant.caller, path);
      return loadReview(db, { owned: opened, ...found });
    },

    /**
     * Adds comments to the caller's pending review, or a new one, and submits it unless it stays pending. Refuses with
     * `unprocessable` a verdict of the author, one about a closed pull request, one without the text that it needs, and
     * lines that the diff does not have.
     */
    async create(
      opened: GrantedRepository,
      caller: ForgeCaller,
      index: number,
      input: NewReviewRequest,
    ): Promise<ReviewDetails> {
      const before = await openPull(db, opened, index);
      const state = toState(input.event);
      assertVerdict(before, caller, input, input.lines.length > 0);
      const prepared = await lines.prepare(opened, before.pull, input);
      return db.transaction(async (tx) => {
        const owned = await reopenRepository(tx, opened);
        const pull = await openPull(tx, owned, index);
        assertVerdict(pull, caller, input, input.lines.length > 0);
        const review = await findOrAdd(tx, pull, caller, input, prepared);
        await lines.insert(tx, { review, authorId: caller.user.id, prepared });
        const change = { owned, ...pull, review, caller };
        const done =
          state === "pending"
            ? await updateReview(tx, review.id, { body: input.body })
            : await submit(tx, change, { state, body: input.body });
        return loadReview(tx, { owned, issue: pull.issue, review: done ?? review });
      });
    },

    /** Submits a pending review of the caller. Refuses as `create` does, and with `unprocessable` a submitted one. */
    submit(
      opened: GrantedRepository,
      caller: ForgeCaller,
      path: ReviewPath,
      verdict: Verdict,
    ): Promise<ReviewDetails> {
      return db.transaction(async (tx) => {
        const owned = await reopenRepository(tx, opened);
        const found = await openReview(tx, owned, caller, path);
        if (found.review.state !== "pending")
          throw unprocessable("only a pending review can be submitted");
        if (!isSelf(caller.user, found.review.reviewerId)) throw notFound();
        const state = toState(verdict.event);
        const body = verdict.body === "" ? found.review.body : verdict.body;
        const hasLines = (await countReviewLines(tx, [found.review.id])).size > 0;
        assertVerdict(found, caller, { ...verdict, body }, hasLines);
        if (state === "pending") throw unprocessable("review stay pending");
        const review = await submit(tx, { owned, ...found, caller }, { state, body });
        return loadReview(tx, { owned, issue: found.issue, review });
      });
    },

    /** Deletes a review. Refuses with `forbidden` others than its author and site administrators. */
    async remove(opened: GrantedRepository, caller: ForgeCaller, path: ReviewPath): Promise<void> {
      await db.transaction(async (tx) => {
        const owned = await reopenRepository(tx, opened);
        const { issue, pull, review } = await openReview(tx, owned, caller, path);
        if (!caller.user.isAdmin && !isSelf(caller.user, review.reviewerId))
          throw new AppError("forbidden", "no permission to delete comment");
        await deleteReview(tx, review);
        await restoreVerdict(tx, issue, review);
        if (review.state === "pending") return;
        const change = { owned, issue, pull, review, actor: caller.user };
        await emit(tx, "review_change", { ...change, action: "deleted" });
      });
    },

    /** Dismisses a verdict, with the earlier ones of the same person if wished. Refuses as `undismiss` does. */
    dismiss: (
      opened: GrantedRepository,
      caller: ForgeCaller,
      path: ReviewPath,
      { message, isWithPriors }: { readonly message: string; readonly isWithPriors: boolean },
    ): Promise<ReviewDetails> =>
      changeDismissal(opened, caller, path, async (tx, { issue, review }) => {
        const { reviewerId } = review;
        const verdicts =
          isWithPriors && reviewerId !== undefined
            ? await listVerdicts(tx, issue.id, reviewerId)
            : [];
        for (const { id } of verdicts)
          if (id < review.id) await updateReview(tx, id, { isDismissed: true });
        await insertReviewEntry(tx, {
          issueId: issue.id,
          authorId: caller.user.id,
          kind: "dismiss_review",
          body: message,
          reviewId: review.id,
        });
        return true;
      }),

    /** Lets a dismissed verdict count again. Refuses with `forbidden` others than administrators of the repository, and reviews that are no verdicts. */
    undismiss: (opened: GrantedRepository, caller: ForgeCaller, path: ReviewPath) =>
      changeDismissal(opened, caller, path, async () => false),
  };

  /** Lets the verdict before a deleted one count again, unless it was dismissed. */
  async function restoreVerdict(
    tx: Transaction,
    issue: ForgeIssue,
    { isOfficial: wasOfficial, reviewerId }: ForgeReview,
  ): Promise<void> {
    if (!wasOfficial || reviewerId === undefined) return;
    const last = (await listVerdicts(tx, issue.id, reviewerId)).at(-1);
    if (last !== undefined) await updateReview(tx, last.id, { isOfficial: true });
  }

  async function findOrAdd(
    tx: Transaction,
    { issue, pull }: OpenedPull,
    { user }: ForgeCaller,
    { body, event }: Verdict,
    { commitId }: PreparedLines,
  ): Promise<ForgeReview> {
    // The pending review of a person is not that of a job in their name, which submits its own at once.
    const isPerson = isSelf(user, user.id);
    const state = isPerson ? "pending" : toState(event);
    if (!isPerson && state === "pending") throw unprocessable("a job submits its review at once");
    const pending = isPerson ? await findPendingReview(tx, issue.id, user.id) : undefined;
    if (pending !== undefined) return (await updateReview(tx, pending.id, { commitId })) ?? pending;
    return insertReview(tx, {
      issueId: issue.id,
      reviewerId: user.id,
      state,
      body,
      commitId,
      isOfficial: false,
      isStale: commitId !== pull.headCommit,
    });
  }

  /** Submits a review: earlier verdicts of its author and requests to them end. */
  async function submit(
    tx: Transaction,
    change: OpenedPull & {
      readonly owned: GrantedRepository;
      readonly review: ForgeReview;
      readonly caller: ForgeCaller;
    },
    { state, body }: { readonly state: SubmittedState; readonly body: string },
  ): Promise<ForgeReview> {
    const { owned, issue, pull, review, caller } = change;
    const { user } = caller;
    const isVerdict = state !== "comment";
    // A job speaks in the name of a person, but neither replaces their verdict nor answers for them.
    const isPerson = isSelf(user, user.id);
    if (isVerdict && isPerson)
      for (const { id } of await listVerdicts(tx, issue.id, user.id))
        await updateReview(tx, id, { isOfficial: false, isDismissed: true });
    if (isPerson) await endRequests(tx, change, isVerdict);
    const commentId = await insertReviewEntry(tx, {
      issueId: issue.id,
      authorId: user.id,
      kind: "review",
      body,
      reviewId: review.id,
    });
    const submitted = await updateReview(tx, review.id, {
      state,
      body,
      commentId,
      submittedAt: tx.now,
      isOfficial: isVerdict && (await isOfficial(tx, owned, pull, user)),
      isStale: isVerdict && review.commitId !== pull.headCommit,
    });
    if (submitted === undefined) throw notFound();
    await emit(tx, "review", { owned, issue, pull, actor: user, review: submitted });
    return submitted;
  }

  /** Ends the request to the reviewer; a verdict ends those to their teams as well. */
  async function endRequests(
    tx: Transaction,
    { issue, caller }: { readonly issue: ForgeIssue; readonly caller: ForgeCaller },
    isVerdict: boolean,
  ): Promise<void> {
    for (const request of await listReviewRequests(tx, issue.id)) {
      const isOfTeam =
        isVerdict &&
        request.teamId !== undefined &&
        (await isTeamMember(tx, request.teamId, caller.user.id));
      if (isOfTeam || request.reviewerId === caller.user.id) await deleteReview(tx, request);
    }
  }

  async function changeDismissal(
    opened: GrantedRepository,
    caller: ForgeCaller,
    path: ReviewPath,
    decide: (
      tx: Transaction,
      found: OpenedPull & { readonly review: ForgeReview },
    ) => Promise<boolean>,
  ): Promise<ReviewDetails> {
    return db.transaction(async (tx) => {
      const owned = await reopenRepository(tx, opened);
      if (!reaches(owned.access, "admin")) throw new AppError("forbidden", "Must be repo admin");
      const found = await openReview(tx, owned, caller, path);
      const { issue, review } = found;
      if (issue.isClosed) throw new AppError("forbidden", "can't dismiss a review of a closed PR");
      if (review.state !== "approved" && review.state !== "changes_requested")
        throw new AppError("forbidden", "not need to dismiss this type review");
      const isDismissed = await decide(tx, found);
      const changed = (await updateReview(tx, review.id, { isDismissed })) ?? review;
      await emit(tx, "review_change", {
        owned,
        issue,
        pull: found.pull,
        review: changed,
        actor: caller.user,
        action: isDismissed ? "dismissed" : "undismissed",
      });
      return loadReview(tx, { owned, issue, review: changed });
    });
  }
}

type SubmittedState = "approved" | "changes_requested" | "comment";

const states: Readonly<Record<string, SubmittedState>> = {
  APPROVED: "approved",
  REQUEST_CHANGES: "changes_requested",
  COMMENT: "comment",
};

const toState = (event: string): SubmittedState | "pending" => states[event] ?? "pending";

function assertVerdict(
  { issue, pull }: OpenedPull,
  { user }: ForgeCaller,
  { event, body }: Verdict,
  hasLines: boolean,
): void {
  const state = toState(event);
  const isVerdict = state === "approved" || state === "changes_requested";
  // Neither by the job of a workflow.
  if (isVerdict && user.id === issue.authorId)
    throw unprocessable(
      `${state === "approved" ? "approve" : "reject"} your own pull is not allowed`,
    );
  if (isVerdict && (issue.isClosed || pull.mergedAt !== undefined))
    throw unprocessable("can't submit review for a closed or merged PR");
  if (state === "approved" || body.trim() !== "") return;
  if (state === "comment" && hasLines) return;
  const orComment = state === "comment" ? " or a comment" : "";
  throw unprocessable(`review event ${event} requires a body${orComment}`);
}

const unprocessable = (text: string): AppError => new AppError("unprocessable", text);

/** Loads the records that the view of a review shows. */
export async function loadReview(
  db: Queries,
  { owned, issue, review }: Pick<ReviewDetails, "owned" | "issue" | "review">,
): Promise<ReviewDetails> {
  const [details] = await loadReviews(db, { owned, issue }, [review]);
  if (details === undefined) throw new Error("a review has no details");
  return details;
}

async function loadReviews(
  db: Queries,
  place: Pick<ReviewDetails, "owned" | "issue">,
  reviews: readonly ForgeReview[],
): Promise<ReviewDetails[]> {
  const people = await findPeople(
    db,
    reviews.map(({ reviewerId }) => reviewerId),
  );
  const teams = await listTeamsByIds(
    db,
    reviews.flatMap(({ teamId }) => teamId ?? []),
  );
  const counts = await countReviewLines(
    db,
    reviews.map(({ id }) => id),
  );
  return reviews.map((review) => ({
    ...place,
    review,
    reviewer: review.reviewerId === undefined ? undefined : people.get(review.reviewerId),
    team: teams.find(({ id }) => id === review.teamId),
    lineCount: counts.get(review.id) ?? 0,
  }));
}
