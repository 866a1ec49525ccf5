import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { listOf } from "../../output/spec.ts";
import { addOwnerFlags, findOwner, type OwnerFlags, tokenColumns } from "./token-owner.ts";

export const operations = [forge.listTokens, forge.getCurrentUser];
export const output = listOf(forge.listTokens);

export function define(command: Command, cli: CliContext, run = runTokenList): void {
  addOwnerFlags(command).action((flags: OwnerFlags) => run(cli, flags));
}

/** Prints access tokens, newest first. */
async function runTokenList(cli: CliContext, flags: OwnerFlags): Promise<void> {
  const { username, authorization } = await findOwner(cli, flags);
  const pages = forgePages(
    cli.client,
    forge.listTokens,
    { params: { username } },
    { authorization },
  );
  await cli.output.list(pages, tokenColumns);
}
