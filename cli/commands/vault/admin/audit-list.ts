import { type Command, Option } from "commander";
import type { z } from "zod";
import type {
  auditEntry,
  listAudit as listAuditEndpoint,
} from "../../../../daemon/contract/vault/admin.ts";
import { operation } from "../../../client/operation.ts";
import { vaultPages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { type Column, time } from "../../../output/cells.ts";
import { listOf } from "../../../output/spec.ts";

const listAudit = operation<typeof listAuditEndpoint>(
  "vault.admin.audit.list",
  "GET",
  "/api/admin/audit",
);

export const operations = [listAudit];
export const output = listOf(listAudit, "items");

const eventPrefixes = ["auth", "cloud", "document", "share", "admin", "system"] as const;

/** What the command was given. */
export interface AuditListOptions {
  readonly user?: string;
  readonly event?: (typeof eventPrefixes)[number];
  readonly from?: string;
  readonly to?: string;
}

export function define(command: Command, cli: CliContext, run = runAuditList): void {
  command
    .option("--user <handle>", "only records about this user")
    .addOption(new Option("--event <kind>", "only events of this kind").choices(eventPrefixes))
    .option("--from <time>", "only from this time on, such as 2026-11-20 or 2026-11-20T09:30:00Z")
    .option("--to <time>", "only before this time")
    .action((options: AuditListOptions) => run(cli, options));
}

/** Prints audit records, newest first. */
export async function runAuditList(cli: CliContext, options: AuditListOptions): Promise<void> {
  const { user, event, from, to } = options;
  const query = { user_handle: user, event_type: event, from, to };
  await cli.output.list(vaultPages(cli.client, listAudit, { query }), columns);
}

const columns: readonly Column<z.output<typeof auditEntry>>[] = [
  { header: "time", cell: ({ created_at: at }) => time(at) },
  { header: "event", cell: ({ event_type: event }) => event },
  { header: "user", cell: (entry) => entry.user_handle ?? entry.user_id },
  { header: "by", cell: (entry) => entry.actor_handle ?? entry.actor_id },
  { header: "address", cell: ({ ip_address: address }) => address },
  { header: "what", cell: ({ metadata }) => toText(metadata) },
];

function toText(metadata: Readonly<Record<string, unknown>>): string {
  const words = Object.entries(metadata).map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return words.join(" ");
}
