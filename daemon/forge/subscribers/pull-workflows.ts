import type { Transaction } from "../../../storage/engine/database.ts";
import { listReviewLines } from "../../../storage/tables/forge/pulls/review-lines.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import type { PullNews, PullWorkflows } from "../actions/runs/pull-workflows.ts";
import type { ForgeEvents, IssueAction, IssueChange, Subscribers } from "../events.ts";
import { isDraft } from "../issues/issue.view.ts";
import { toLabelView } from "../issues/planning.view.ts";
import { toReviewLineView, toReviewView } from "../reviews/review.view.ts";
import { loadReview } from "../reviews/reviews.service.ts";
import type { ForgeUrls } from "../urls.ts";
import { loadPullPayload, toReviewEvent } from "./pull-payloads.ts";

/** Starts the workflows of pull requests. */
export function createPullWorkflowSubscribers(
  { start, cancelUnapproved }: Pick<PullWorkflows, "start" | "cancelUnapproved">,
  urls: ForgeUrls,
): Required<Pick<Subscribers, "issue" | "pull" | "review" | "review_change" | "review_request">> {
  return {
    async issue(tx, change) {
      if (!change.issue.isPull) return;
      if (change.action === "closed" || change.action === "deleted")
        await cancelUnapproved(tx, change.owned, change.issue);
      // A workflow gets what it needs of a deleted pull request nowhere.
      if (change.action === "deleted") return;
      const types = toTypes(change);
      const [label] = [...(change.labels?.added ?? []), ...(change.labels?.removed ?? [])];
      const action = draftTypes.find((type) => types.includes(type)) ?? change.action;
      await startPull(tx, change, { types, action }, async () =>
        label === undefined ? {} : { label: toLabelView({ label, place: change.owned }, urls) },
      );
    },
    async pull(tx, change) {
      if (change.action === "retargeted")
        await startPull(tx, change, { types: ["edited"], action: "edited" });
      else if (change.isByJob !== true) {
        const { before, after } = change;
        const types = ["synchronize", "synchronized"];
        await startPull(tx, change, { types, action: "synchronized", before, after });
      }
    },
    review_request: (tx, change) => {
      const action = change.isRemoved ? "review_request_removed" : "review_requested";
      const { reviewer: requestedReviewer } = change;
      return startPull(tx, change, { types: [action], action, requestedReviewer });
    },
    async review(tx, change) {
      const { review, reply } = change;
      const type = toReviewEvent(review.state);
      if (type === undefined) return;
      if (reply === undefined) await startReview(tx, change, "submitted", type);
      const lines = reply === undefined ? await listReviewLines(tx, review.id) : [reply];
      const [line] = lines;
      if (line === undefined) return;
      await startOne(tx, change, "pull_request_review_comment", ["created"], async () => {
        const author =
          line.authorId === undefined ? undefined : await findUserById(tx, line.authorId);
        const { owned, issue } = change;
        const comment = toReviewLineView({ owned, issue, line, author, resolver: undefined }, urls);
        return { ...(await load(tx, change, { action: "created" })), comment };
      });
    },
    async review_change(tx, change) {
      if (change.action === "dismissed") await startReview(tx, change, "dismissed", "dismissed");
    },
  };

  function startPull(
    tx: Transaction,
    change: IssueChange,
    { types, ...payload }: Parameters<typeof loadPullPayload>[2] & Pick<PullNews, "types">,
    loadMore: () => Promise<object> = async () => ({}),
  ): Promise<void> {
    return startOne(tx, change, "pull_request", types, async () => {
      const loaded = await load(tx, change, payload);
      return loaded && { ...loaded, ...(await loadMore()) };
    });
  }

  /** Starts the workflows of `pull_request_review`. The payload has the review as Gitea's and as GitHub's workflows expect it. */
  function startReview(
    tx: Transaction,
    change: IssueChange & Pick<ForgeEvents["review"], "review">,
    action: "submitted" | "dismissed",
    type: string,
  ): Promise<void> {
    return startOne(tx, change, "pull_request_review", [action], async () => {
      const { owned, issue, review } = change;
      const loaded = await load(tx, change, { action, commitId: review.commitId });
      const view = toReviewView(await loadReview(tx, { owned, issue, review }), urls);
      const state = action === "dismissed" ? action : reviewStates[review.state];
      return loaded && { ...loaded, review: { ...view, state, type, content: review.body } };
    });
  }

  function startOne(
    tx: Transaction,
    { owned, issue, actor }: IssueChange,
    event: PullNews["event"],
    types: readonly string[],
    loadPayload: () => Promise<object | undefined>,
  ): Promise<void> {
    return start(tx, { owned, issueId: issue.id, event, types, actor, load: loadPayload });
  }

  function load(
    tx: Transaction,
    change: IssueChange,
    payload: Parameters<typeof loadPullPayload>[2],
  ): Promise<object | undefined> {
    return loadPullPayload(tx, change, payload, urls);
  }
}

const draftTypes = ["ready_for_review", "converted_to_draft"] as const;

/** The words by which `types` may name a change: GitHub's, and Gitea's where it has others. */
function toTypes({ action, issue, changes, labels }: ForgeEvents["issue"]): readonly string[] {
  const former = changes?.["title"]?.from;
  const wasDraft = former === undefined ? isDraft(issue.title) : isDraft(former);
  return [
    ...typesOfActions[action],
    ...(labels === undefined || labels.added.length === 0 ? [] : ["labeled"]),
    ...(labels === undefined || labels.removed.length === 0 ? [] : ["unlabeled"]),
    ...(wasDraft && !isDraft(issue.title) ? ["ready_for_review"] : []),
    ...(!wasDraft && isDraft(issue.title) ? ["converted_to_draft"] : []),
  ];
}

const typesOfActions: Readonly<Record<IssueAction, readonly string[]>> = {
  opened: ["opened"],
  edited: ["edited"],
  closed: ["closed"],
  reopened: ["reopened"],
  deleted: [],
  assigned: ["assigned"],
  unassigned: ["unassigned"],
  label_updated: ["label_updated"],
  label_cleared: ["label_cleared"],
  milestoned: ["milestoned"],
  demilestoned: ["demilestoned"],
};

/** GitHub's words for the states of submitted reviews. */
const reviewStates: Partial<Record<ForgeEvents["review"]["review"]["state"], string>> = {
  approved: "approved",
  changes_requested: "changes_requested",
  comment: "commented",
};
