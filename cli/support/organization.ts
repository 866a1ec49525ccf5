import type { Command } from "commander";
import type { WireOrganization } from "../../daemon/contract/forge/accounts/orgs.ts";
import type { Column } from "../output/cells.ts";

/** An organization in a table. */
export const organizationColumns: readonly Column<WireOrganization>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "name", cell: ({ name }) => name },
  { header: "full name", cell: ({ full_name: fullName }) => fullName },
  { header: "visibility", cell: ({ visibility }) => visibility },
  { header: "website", cell: ({ website }) => website },
];

/** One organization, with what does not fit into a table. */
export const organizationLines: readonly Column<WireOrganization>[] = [
  ...organizationColumns,
  { header: "e-mail", cell: ({ email }) => email },
  { header: "location", cell: ({ location }) => location },
  { header: "description", cell: ({ description }) => description },
];

/** Flags for the profile of an organization. */
export interface OrganizationFlags {
  readonly fullName?: string;
  readonly email?: string;
  readonly description?: string;
  readonly website?: string;
  readonly location?: string;
  readonly visibility?: string;
}

export function addOrganizationFlags(command: Command): Command {
  return command
    .option("--full-name <name>", "its full name")
    .option("--email <address>", "its e-mail address")
    .option("--description <text>", "what it is for")
    .option("--website <url>", "its website")
    .option("--location <text>", "where it is")
    .option("--visibility <visibility>", "public, limited or private");
}
