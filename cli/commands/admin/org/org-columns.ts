import type { WireOrganization } from "../../../../daemon/contract/forge/accounts/orgs.ts";
import type { Column } from "../../../output/cells.ts";

/** An organization in a table. */
export const organizationColumns: readonly Column<WireOrganization>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "name", cell: ({ name }) => name },
  { header: "full name", cell: ({ full_name: fullName }) => fullName },
  { header: "visibility", cell: ({ visibility }) => visibility },
  { header: "website", cell: ({ website }) => website },
];
