import type { LabelId, MilestoneId } from "../../../storage/tables/forge/ids.ts";
import type { PageWindow } from "../page-window.ts";

/** A new pull request. */
export interface NewPullRequest {
  /** `branch`, `user:branch` or `owner/repo:branch`. */
  readonly head: string;
  readonly base: string;
  readonly title: string;
  readonly body: string;
  readonly dueAt: number | undefined;
  readonly milestoneId: MilestoneId | undefined;
  /** User names. */
  readonly assignees: readonly string[];
  readonly labelIds: readonly LabelId[];
  /** Whom to ask for a review, by name. */
  readonly reviewers: { readonly people: readonly string[]; readonly teams: readonly string[] };
  /** Undefined for the default of the repository. */
  readonly allowsMaintainerEdit: boolean | undefined;
}

/** A new pull request without anything. */
export const noDetails: NewPullRequest = {
  head: "",
  base: "",
  title: "",
  body: "",
  dueAt: undefined,
  milestoneId: undefined,
  assignees: [],
  labelIds: [],
  reviewers: { people: [], teams: [] },
  allowsMaintainerEdit: undefined,
};

/** A change of a pull request. Undefined members stay unchanged; null removes the due date. */
export interface PullEdit {
  readonly title: string | undefined;
  readonly body: string | undefined;
  /** `open` or `closed`; others are refused. */
  readonly state: string | undefined;
  readonly dueAt: number | null | undefined;
  readonly milestoneId: MilestoneId | undefined;
  readonly assignees: readonly string[] | undefined;
  readonly labelIds: readonly LabelId[] | undefined;
  readonly baseBranch: string | undefined;
  readonly allowsMaintainerEdit: boolean | undefined;
  /** The expected version of the text; the change is refused with `conflict` when it differs. */
  readonly ifVersion: number | undefined;
}

/** The filters of a list; an empty text and 0 do not filter. */
export interface PullListOptions extends PageWindow {
  readonly state: string;
  readonly sort: string;
  /** Ids: a pull request must have one of them. */
  readonly labels: readonly number[];
  readonly milestone: number;
  readonly poster: string;
  readonly base_branch: string;
}
