import type { WireUser } from "../../daemon/contract/forge/accounts/users.ts";
import { type Column, time } from "../output/cells.ts";

/** A forge user in a table. */
export const userColumns: readonly Column<WireUser>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "username", cell: ({ username }) => username },
  { header: "full name", cell: ({ full_name: fullName }) => fullName },
  { header: "email", cell: ({ email }) => email },
  { header: "admin", cell: ({ is_admin: isAdmin }) => isAdmin },
  { header: "state", cell: toUserState },
  { header: "last login", cell: ({ last_login: lastLogin }) => time(lastLogin) },
  { header: "created", cell: ({ created }) => time(created) },
];

/** Whether the user may sign in: `prohibited` and `inactive` users may not. */
export function toUserState({ active, prohibit_login: isProhibited }: WireUser): string {
  return isProhibited ? "prohibited" : active ? "active" : "inactive";
}
