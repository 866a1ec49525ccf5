import { type Command, Option } from "commander";

const eventPrefixes = ["auth", "cloud", "document", "share", "admin", "system"] as const;

/** What narrows audit records, as flags give it. */
export interface AuditFilterOptions {
  readonly user?: string;
  readonly event?: (typeof eventPrefixes)[number];
  readonly from?: string;
  readonly to?: string;
}

/** The flags that narrow audit records. */
export function addAuditFilter(command: Command): Command {
  return command
    .option("--user <handle>", "only records about this user")
    .addOption(new Option("--event <kind>", "only events of this kind").choices(eventPrefixes))
    .option("--from <time>", "only from this time on, such as 2026-11-20 or 2026-11-20T09:30:00Z")
    .option("--to <time>", "only before this time");
}

/** The query that the flags amount to. */
export function toAuditQuery({ user, event, from, to }: AuditFilterOptions) {
  return { user_handle: user, event_type: event, from, to };
}
