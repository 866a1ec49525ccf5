import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { size } from "../../../output/cells.ts";
import { resourceOf } from "../../../output/spec.ts";

export const operations = [vault.viewOverview];
export const output = resourceOf(vault.viewOverview);

export function define(command: Command, cli: CliContext, run = runOverview): void {
  command.action(() => run(cli));
}

/** Prints how many users the vault has, what they take and what happened last. */
async function runOverview(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(vault.viewOverview);
  await cli.output.resource(body, [
    { header: "users", cell: ({ user_count: count }) => count },
    { header: "storage", cell: ({ total_storage_bytes: bytes }) => size(bytes) },
    {
      header: "documents",
      cell: ({ doc_status: counts }) => Object.entries(counts).map((one) => one.join(" ")),
    },
    {
      header: "last events",
      cell: ({ recent_audit: records }) =>
        records.map((one) => `${one.event_type} ${one.user_handle ?? one.user_id ?? ""}`.trim()),
    },
  ]);
}
