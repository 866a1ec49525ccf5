import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { writeCsv } from "./write-csv.ts";

export const operations = [vault.downloadDailyExport];
export const output = { kind: "bytes" } as const;

/** What the command was given. */
export interface AuditDailyDownloadOptions {
  readonly day: string;
}

export function define(command: Command, cli: CliContext, run = runAuditDailyDownload): void {
  command
    .argument("<day>", "such as 2026-11-20, in UTC")
    .action((day: string) => run(cli, { day }));
}

/** Writes the stored audit records of one day as CSV to standard output. */
async function runAuditDailyDownload(
  cli: CliContext,
  { day }: AuditDailyDownloadOptions,
): Promise<void> {
  await writeCsv(cli, () =>
    cli.client.download(vault.downloadDailyExport, { params: { date: day } }),
  );
}
