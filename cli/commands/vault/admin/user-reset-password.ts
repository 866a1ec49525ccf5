import type { Command } from "commander";
import type { resetUserPassword as resetUserPasswordEndpoint } from "../../../../daemon/contract/vault/admin.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { findUserId, listVaultUsers } from "./find-user.ts";

const resetUserPassword = operation<typeof resetUserPasswordEndpoint>(
  "vault.admin.user.reset_password",
  "POST",
  "/api/admin/users/:id/password-reset",
);

export const operations = [resetUserPassword, listVaultUsers];
export const output = resourceOf(resetUserPassword, 202);

/** What the command was given. */
export interface UserResetPasswordOptions {
  readonly user: string;
}

export function define(command: Command, cli: CliContext, run = runUserResetPassword): void {
  command
    .argument("<user>", "the user's handle or id")
    .action((user: string) => run(cli, { user }));
}

/** Ends a user's sessions and mails a link: without another password they do not come in again. */
async function runUserResetPassword(
  cli: CliContext,
  { user }: UserResetPasswordOptions,
): Promise<void> {
  const id = await findUserId(cli, user);
  const { body } = await cli.client.call(resetUserPassword, { params: { id } });
  await cli.output.done(body, body.message);
}
