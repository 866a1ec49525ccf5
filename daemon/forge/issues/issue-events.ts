import type { Transaction } from "../../../storage/engine/database.ts";
import type { ForgeIssue } from "../../../storage/tables/forge/issues/issues.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { OwnedRepository } from "../repositories/events.ts";
import type { CommentDetails } from "./issue-details.ts";

/** The former values of changed members. */
export type Changes = Readonly<Record<string, { readonly from: string }>>;

/** A change of an issue by a user. */
export interface IssueChange {
  readonly owned: OwnedRepository;
  /** The issue after the change. */
  readonly issue: ForgeIssue;
  readonly actor: ForgeUser;
  readonly changes?: Changes;
}

export type IssueAction =
  | "opened"
  | "edited"
  | "closed"
  | "reopened"
  | "deleted"
  | "assigned"
  | "unassigned"
  | "label_updated"
  | "label_cleared"
  | "milestoned"
  | "demilestoned";

/**
 * A subscriber to changes of issues, such as hooks and activity feeds. Each function runs in the transaction of the
 * change, so its rows are committed with it.
 */
export interface IssueEvents {
  issue(
    tx: Transaction,
    event: "issues" | "issue_assign" | "issue_label" | "issue_milestone",
    action: IssueAction,
    change: IssueChange,
  ): Promise<void>;
  comment(
    tx: Transaction,
    action: "created" | "edited" | "deleted",
    change: IssueChange & CommentDetails,
  ): Promise<void>;
}

/** Combines several subscribers into one, which calls them in order in the same transaction. */
export function joinIssueEvents(...listeners: readonly IssueEvents[]): IssueEvents {
  return {
    async issue(...event) {
      for (const listener of listeners) await listener.issue(...event);
    },
    async comment(...event) {
      for (const listener of listeners) await listener.comment(...event);
    },
  };
}
