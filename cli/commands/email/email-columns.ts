import type { WireEmail } from "../../../daemon/contract/forge/accounts/admin-emails.ts";
import type { Column } from "../../output/cells.ts";

/** An address of one's own in a table. */
export const emailColumns: readonly Column<WireEmail>[] = [
  { header: "email", cell: ({ email }) => email },
  { header: "primary", cell: ({ primary }) => primary },
  { header: "verified", cell: ({ verified }) => verified },
];
