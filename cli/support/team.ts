import type { WireTeam } from "../../daemon/contract/forge/accounts/orgs.ts";
import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { CliError, usageError } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import { findFirst } from "../output/pages.ts";
import { isSameName } from "./if-absent.ts";

/** The operations by which commands find a team by its name. */
export const teamOperations = [forge.listTeams] as const;
export const teamArgument = { "<team>": "the team as ORG/TEAM, or its id" } as const;

/** A team in a table. */
export const teamColumns: readonly Column<WireTeam>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "organization", cell: ({ organization }) => organization.name },
  { header: "name", cell: ({ name }) => name },
  { header: "permission", cell: ({ permission }) => permission },
  { header: "all repositories", cell: ({ includes_all_repositories: all }) => all },
  { header: "visibility", cell: ({ visibility }) => visibility },
];

/** Returns the id of a team. @throws CliError `usage` for another notation, `not_found` for an unknown team */
export async function findTeamId(cli: CliContext, nameOrId: string): Promise<string> {
  if (/^[1-9]\d{0,14}$/.test(nameOrId)) return nameOrId;
  const [org = "", name = "", ...rest] = nameOrId.split("/");
  if (org === "" || name === "" || rest.length > 0)
    throw usageError(`a team is named ORG/TEAM or by its id, not ${JSON.stringify(nameOrId)}`);
  const team = await findTeam(cli, org, name);
  if (team !== undefined) return String(team.id);
  throw new CliError("not_found", `${org} has no team ${name} that you may see`, {
    hint: `"croft team list ${org}" shows the teams`,
  });
}

/** Returns a team of an organization by its name, which the server compares without case. */
export async function findTeam(
  cli: CliContext,
  org: string,
  name: string,
): Promise<WireTeam | undefined> {
  const pages = forgePages(cli.client, forge.listTeams, { params: { org } });
  return findFirst(pages, (team) => isSameName(team.name, name));
}
