import type { WireOrganization } from "../../daemon/contract/forge/accounts/orgs.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import { isSameName, type Setting } from "./if-absent.ts";

/** An organization in a table. */
export const organizationColumns: readonly Column<WireOrganization>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "name", cell: ({ name }) => name },
  { header: "full name", cell: ({ full_name: fullName }) => fullName },
  { header: "visibility", cell: ({ visibility }) => visibility },
  { header: "website", cell: ({ website }) => website },
];

/** One organization, with the fields that do not fit into a table. */
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

export const organizationFlags = {
  "--full-name <name>": "its full name",
  "--email <address>": "its e-mail address",
  "--description <text>": "what it is for",
  "--website <url>": "its website",
  "--location <text>": "where it is",
  "--visibility <visibility>": "public, limited or private",
} as const;

/**
 * Returns an organization that `owner` owns, for `--if-absent`. A former name does not count. @throws CliError
 * `name_collision` when the organization belongs to others, `not_found`
 */
export async function findOwnedOrganization(
  cli: CliContext,
  name: string,
  owner: string,
): Promise<WireOrganization | undefined> {
  const { body } = await cli.client.call(forge.getOrganization, { params: { org: name } });
  if (!isSameName(body.name, name)) return undefined;
  const { body: permissions } = await cli.client.call(forge.getOrganizationPermissions, {
    params: { username: owner, org: body.name },
  });
  if (permissions.is_owner) return body;
  throw new CliError(
    "name_collision",
    `the organization ${body.name} exists already, and ${owner} does not own it`,
    { hint: "choose another name, or ask an owner of it" },
  );
}

/** The settings of an organization that flags also set. */
export function organizationSettings(
  flags: OrganizationFlags,
  existing: WireOrganization,
): readonly Setting[] {
  return [
    { flag: "--full-name", requested: flags.fullName, existing: existing.full_name },
    { flag: "--email", requested: flags.email, existing: existing.email },
    { flag: "--description", requested: flags.description, existing: existing.description },
    { flag: "--website", requested: flags.website, existing: existing.website },
    { flag: "--location", requested: flags.location, existing: existing.location },
    { flag: "--visibility", requested: flags.visibility, existing: existing.visibility },
  ];
}
