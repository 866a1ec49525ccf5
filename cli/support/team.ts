import type { WireTeam } from "../../daemon/contract/forge/accounts/orgs.ts";
import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { CliError, usageError } from "../errors.ts";
import type { Column } from "../output/cells.ts";

/** The operations by which commands find a team by its name. */
export const teamOperations = [forge.listTeams] as const;
export const teamArgument = ["<team>", "the team as ORG/TEAM, or its id"] as const;

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
export async function findTeamId(cli: CliContext, given: string): Promise<string> {
  if (/^[1-9]\d{0,14}$/.test(given)) return given;
  const [org = "", name = "", ...rest] = given.split("/");
  if (org === "" || name === "" || rest.length > 0)
    throw usageError(`a team is named ORG/TEAM or by its id, not ${JSON.stringify(given)}`);
  const pages = forgePages(cli.client, forge.listTeams, { params: { org } });
  let page = await pages.first({ page: undefined, limit: undefined, all: true });
  for (;;) {
    const team = page.items.find((each) => each.name.toLowerCase() === name.toLowerCase());
    if (team !== undefined) return String(team.id);
    if (!page.hasMore) break;
    page = await pages.next(page);
  }
  throw new CliError("not_found", `${org} has no team ${name} that you may see`, {
    hint: `"croft team list ${org}" shows the teams`,
  });
}
