import type { Command } from "commander";
import type { listTokens as listTokensEndpoint } from "../../../daemon/contract/forge/accounts/tokens.ts";
import { operation } from "../../client/operation.ts";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { listOf } from "../../output/spec.ts";
import {
  addOwnerFlags,
  findOwner,
  getCurrentUser,
  type OwnerFlags,
  tokenColumns,
} from "./token-owner.ts";

const listTokens = operation<typeof listTokensEndpoint>(
  "forge.tokens.list",
  "GET",
  "/api/v1/users/:username/tokens",
);

export const operations = [listTokens, getCurrentUser];
export const output = listOf(listTokens);

export function define(command: Command, cli: CliContext, run = runTokenList): void {
  addOwnerFlags(command).action((flags: OwnerFlags) => run(cli, flags));
}

/** Prints access tokens, newest first. */
async function runTokenList(cli: CliContext, flags: OwnerFlags): Promise<void> {
  const { username, authorization } = await findOwner(cli, flags);
  const pages = forgePages(cli.client, listTokens, { params: { username } }, { authorization });
  await cli.output.list(pages, tokenColumns);
}
