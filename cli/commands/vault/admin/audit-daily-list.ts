import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { z } from "zod";
import type { dailyExport } from "../../../../daemon/contract/vault/admin.ts";
import { vaultPages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { type Column, size } from "../../../output/cells.ts";
import { listOf } from "../../../output/spec.ts";

export const operations = [vault.listDailyExports];
export const output = listOf(vault.listDailyExports, "items");

export function define(command: Command, cli: CliContext, run = runAuditDailyList): void {
  command.action(() => run(cli));
}

/** Prints the days whose audit records are stored as files, newest first. */
async function runAuditDailyList(cli: CliContext): Promise<void> {
  await cli.output.list(vaultPages(cli.client, vault.listDailyExports, { query: {} }), columns);
}

const columns: readonly Column<z.output<typeof dailyExport>>[] = [
  { header: "day", cell: ({ date }) => date },
  { header: "size", cell: ({ size_bytes: bytes }) => size(bytes) },
];
