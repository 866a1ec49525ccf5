import type { setUserStatus as setUserStatusEndpoint } from "../../../../daemon/contract/vault/admin.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { findUserId } from "./find-user.ts";
import { managedUserColumns } from "./user-columns.ts";

export const setUserStatus = operation<typeof setUserStatusEndpoint>(
  "vault.admin.user.set_status",
  "PATCH",
  "/api/admin/users/:id/status",
);

/** Activates or deactivates a user and prints the account. */
export async function setStatus(cli: CliContext, user: string, isActive: boolean): Promise<void> {
  const id = await findUserId(cli, user);
  const { body } = await cli.client.call(setUserStatus, {
    params: { id },
    body: { is_active: isActive },
  });
  await cli.output.resource(body, managedUserColumns);
}
