import type { Command } from "commander";
import type { deleteUser as deleteUserEndpoint } from "../../../../daemon/contract/vault/admin.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { shape } from "../../../output/spec.ts";
import { findUserId, listVaultUsers } from "./find-user.ts";

const deleteUser = operation<typeof deleteUserEndpoint>(
  "vault.admin.user.delete",
  "DELETE",
  "/api/admin/users/:id",
);

export const operations = [deleteUser, listVaultUsers];
export const output = shape({ deleted: "boolean", id: "string" });
export const destructive = true;

/** What the command was given. */
export interface UserDeleteOptions {
  readonly user: string;
}

export function define(command: Command, cli: CliContext, run = runUserDelete): void {
  command
    .argument("<user>", "the user's handle or id")
    .action((user: string) => run(cli, { user }));
}

/** Deletes a user with sessions, connections and cached bytes. Files of connected storages and audit records stay. */
async function runUserDelete(cli: CliContext, { user }: UserDeleteOptions): Promise<void> {
  const id = await findUserId(cli, user);
  await cli.prompts.confirm(`Delete the vault user ${user} and forget all of their connections?`);
  await cli.client.call(deleteUser, { params: { id } });
  await cli.output.done({ deleted: true, id }, `Deleted the vault user ${user}.`);
}
