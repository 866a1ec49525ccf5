import type { WireUser } from "../../daemon/contract/forge/accounts/users.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import type { Column } from "../output/cells.ts";

/** Returns user names, with the caller's own for `@me`. */
export async function toLogins<T extends readonly (string | undefined)[]>(
  cli: CliContext,
  names: T,
): Promise<{ -readonly [K in keyof T]: T[K] }> {
  const own = names.includes("@me") ? (await cli.client.call(forge.getCurrentUser)).body.login : "";
  return names.map((name) => (name === "@me" ? own : name)) as { -readonly [K in keyof T]: T[K] };
}

/** Opens a page in the browser, or prints its address without one. */
export function openPage(cli: CliContext, address: string): void {
  if (cli.system.openBrowser(address)) cli.io.note(`Opened ${address} in the browser.`);
  else cli.io.note(`No browser was found. Open ${address}`);
}

/** A user in a table of members, collaborators and the like. */
export const personColumns: readonly Column<WireUser>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "username", cell: ({ username }) => username },
  { header: "full name", cell: ({ full_name: fullName }) => fullName },
];
