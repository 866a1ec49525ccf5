import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { addAuditFilter, type AuditFilterOptions, toAuditQuery } from "./audit-filter.ts";
import { writeCsv } from "./write-csv.ts";

export const operations = [vault.exportAudit];
export const output = { kind: "bytes" } as const;

export function define(command: Command, cli: CliContext, run = runAuditExport): void {
  addAuditFilter(command).action((options: AuditFilterOptions) => run(cli, options));
}

/** Writes audit records as CSV to standard output, oldest first. */
async function runAuditExport(cli: CliContext, options: AuditFilterOptions): Promise<void> {
  const query = { ...toAuditQuery(options), format: "csv" } as const;
  await writeCsv(cli, () => cli.client.download(vault.exportAudit, { query }));
}
