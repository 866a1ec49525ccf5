import type { WireComment, WireIssue } from "../../../daemon/contract/forge/issues.ts";
import { type Column, time } from "../../output/cells.ts";

/** An issue in a table. */
export const issueColumns: readonly Column<WireIssue>[] = [
  { header: "number", cell: ({ number }) => number },
  { header: "state", cell: ({ state }) => state },
  { header: "title", cell: ({ title }) => title },
  { header: "author", cell: ({ user }) => user?.login },
  { header: "comments", cell: ({ comments }) => comments },
  { header: "updated", cell: ({ updated_at: updatedAt }) => time(updatedAt) },
];

/** One issue, with what does not fit into a table. */
export const issueLines: readonly Column<WireIssue>[] = [
  ...issueColumns,
  { header: "assignees", cell: ({ assignees }) => (assignees ?? []).map(({ login }) => login) },
  { header: "labels", cell: ({ labels }) => labels.map(({ name }) => name) },
  { header: "due", cell: ({ due_date: due }) => (due === null ? undefined : time(due)) },
  { header: "address", cell: ({ html_url: address }) => address },
  { header: "body", cell: ({ body }) => body },
];

export const commentColumns: readonly Column<WireComment>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "author", cell: ({ user }) => user?.login },
  { header: "created", cell: ({ created_at: createdAt }) => time(createdAt) },
  { header: "body", cell: ({ body }) => body },
];
