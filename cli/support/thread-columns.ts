import type { WireThread } from "../../daemon/contract/forge/notifications.ts";
import { toChoice } from "./flag-values.ts";
import { type Column, time } from "../output/cells.ts";

/** Columns of a thread. Threads that the caller can no longer read have no title. */
export const threadColumns: readonly Column<WireThread>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "status", cell: toStatus },
  { header: "type", cell: ({ subject }) => subject?.type },
  { header: "title", cell: ({ subject }) => subject?.title },
  { header: "repository", cell: ({ repository }) => repository?.full_name },
  { header: "updated", cell: ({ updated_at: updatedAt }) => time(updatedAt) },
];

/** One thread, with the fields that do not fit into a table. */
export const threadLines: readonly Column<WireThread>[] = [
  ...threadColumns,
  { header: "state", cell: ({ subject }) => subject?.state },
  { header: "address", cell: ({ subject }) => subject?.html_url },
  { header: "last comment", cell: ({ subject }) => subject?.latest_comment_html_url },
];

/** The states of a thread. */
export type ThreadStatusName = "unread" | "read" | "pinned";

/** Returns a parser for the status of a thread. @throws CliError `usage` */
export function toStatusName(flag: string): (value: string) => ThreadStatusName {
  return (value) => toChoice(flag, ["unread", "read", "pinned"], value);
}

function toStatus({ unread, pinned }: WireThread): ThreadStatusName {
  if (pinned) return "pinned";
  return unread ? "unread" : "read";
}
