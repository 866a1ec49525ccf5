import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { findUserId } from "./find-user.ts";
import { managedUserColumns } from "./user-columns.ts";

/** Activates or deactivates a user and prints the account. */
export async function setStatus(cli: CliContext, user: string, isActive: boolean): Promise<void> {
  const id = await findUserId(cli, user);
  const { body } = await cli.client.call(vault.setUserStatus, {
    params: { id },
    body: { is_active: isActive },
  });
  await cli.output.resource(body, managedUserColumns);
}
