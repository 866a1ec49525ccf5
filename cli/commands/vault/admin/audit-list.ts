import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { z } from "zod";
import type { auditEntry } from "../../../../daemon/contract/vault/admin.ts";
import { vaultPages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { type Column, time } from "../../../output/cells.ts";
import { listOf } from "../../../output/spec.ts";
import { addAuditFilter, type AuditFilterOptions, toAuditQuery } from "./audit-filter.ts";

export const operations = [vault.listAudit];
export const output = listOf(vault.listAudit, "items");

export function define(command: Command, cli: CliContext, run = runAuditList): void {
  addAuditFilter(command).action((options: AuditFilterOptions) => run(cli, options));
}

/** Prints audit records, newest first. */
async function runAuditList(cli: CliContext, options: AuditFilterOptions): Promise<void> {
  const query = toAuditQuery(options);
  await cli.output.list(vaultPages(cli.client, vault.listAudit, { query }), auditColumns);
}

/** An audit record, line by line. */
const auditColumns: readonly Column<z.output<typeof auditEntry>>[] = [
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
