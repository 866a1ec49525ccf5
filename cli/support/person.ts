import type { WireUser } from "../../daemon/contract/forge/accounts/users.ts";
import type { Column } from "../output/cells.ts";

/** A user in a table of members, collaborators and the like. */
export const personColumns: readonly Column<WireUser>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "username", cell: ({ username }) => username },
  { header: "full name", cell: ({ full_name: fullName }) => fullName },
];
