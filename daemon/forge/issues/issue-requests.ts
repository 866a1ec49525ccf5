import type { LabelId, MilestoneId } from "../../../storage/tables/forge/ids.ts";

/** An issue by its number in the repository, or a comment by its id. */
export type IssueOrComment = { readonly index: number } | { readonly id: number };

/** A new issue. */
export interface NewIssue {
  readonly title: string;
  readonly body: string;
  readonly ref: string;
  readonly isClosed: boolean;
  readonly dueAt: number | undefined;
  readonly milestoneId: MilestoneId | undefined;
  /** User names; undefined when the request has no assignees. */
  readonly assignees: readonly string[] | undefined;
  readonly labelIds: readonly LabelId[];
}

/** A change of an issue. Undefined members stay unchanged; null in `dueAt` or `milestoneId` clears the field. */
export interface IssueEdit {
  readonly title: string | undefined;
  readonly body: string | undefined;
  readonly ref: string | undefined;
  readonly isClosed: boolean | undefined;
  readonly dueAt: number | null | undefined;
  readonly milestoneId: MilestoneId | null | undefined;
  readonly assignees: readonly string[] | undefined;
  /** The expected version of the body; the change is refused with `conflict` when it differs. */
  readonly ifVersion: number | undefined;
}
