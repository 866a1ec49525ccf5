import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { z } from "zod";
import type { session } from "../../../../daemon/contract/vault/auth.ts";
import { vaultPages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { type Column, time } from "../../../output/cells.ts";
import { listOf } from "../../../output/spec.ts";

export const operations = [vault.listSessions];
export const output = listOf(vault.listSessions, "items");

export function define(command: Command, cli: CliContext, run = runSessionList): void {
  command.action(() => run(cli));
}

/** Prints the caller's sessions, the one used last first. */
async function runSessionList(cli: CliContext): Promise<void> {
  await cli.output.list(vaultPages(cli.client, vault.listSessions, {}), columns);
}

const columns: readonly Column<z.output<typeof session>>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "this one", cell: ({ current }) => current },
  { header: "address", cell: ({ ip_address: address }) => address },
  { header: "program", cell: ({ user_agent: program }) => program },
  { header: "last used", cell: ({ last_used_at: lastUsed }) => time(lastUsed) },
  { header: "signed in", cell: ({ created_at: created }) => time(created) },
];
