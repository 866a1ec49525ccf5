import type { WirePull } from "../../daemon/contract/forge/pulls/pulls.ts";
import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { type Column, time } from "../output/cells.ts";
import { readPages } from "../output/pages.ts";
import { findFolderRepository } from "../tree/folder-repository.ts";
import { readGit } from "./git.ts";
import { type IssueName, toIssueName, toRepositoryName } from "./repository.ts";

/** The first argument of commands about one pull request. */
export const pullArgument = {
  "[pull]": {
    help: "the pull request as OWNER/NAME#NUMBER or number; by default the open one of the current branch",
    parse: toIssueName,
  },
} as const;

/** `open`, `draft`, `closed` or `merged`. */
const toState = ({ state, draft, merged }: WirePull): string => {
  if (merged) return "merged";
  return draft && state === "open" ? "draft" : state;
};

/** A pull request in a table. */
export const pullColumns: readonly Column<WirePull>[] = [
  { header: "number", cell: ({ number }) => number },
  { header: "state", cell: toState },
  { header: "title", cell: ({ title }) => title },
  { header: "branch", cell: ({ head }) => toBranchName(head) },
  { header: "author", cell: ({ user }) => user?.login },
  { header: "updated", cell: ({ updated_at: updatedAt }) => time(updatedAt) },
];

const logins = (users: readonly { readonly login: string }[] | null) =>
  (users ?? []).map(({ login }) => login);

/** One pull request, with the fields that do not fit into a table. */
export const pullLines: readonly Column<WirePull>[] = [
  ...pullColumns,
  { header: "base", cell: ({ base }) => base.ref },
  { header: "mergeable", cell: ({ mergeable }) => mergeable },
  {
    header: "reviewers",
    cell: ({ requested_reviewers: people, requested_reviewers_teams: teams }) => [
      ...logins(people),
      ...(teams ?? []).map(({ name }) => name),
    ],
  },
  { header: "assignees", cell: ({ assignees }) => logins(assignees) },
  { header: "labels", cell: ({ labels }) => labels.map(({ name }) => name) },
  { header: "milestone", cell: ({ milestone }) => milestone?.title },
  { header: "files", cell: ({ changed_files: files }) => files },
  { header: "additions", cell: ({ additions }) => additions },
  { header: "deletions", cell: ({ deletions }) => deletions },
  { header: "comments", cell: ({ comments }) => comments },
  { header: "merged by", cell: ({ merged_by: user }) => user?.login },
  { header: "address", cell: ({ html_url: address }) => address },
  { header: "body", cell: ({ body }) => body },
];

/** Returns the branch of a head, with the owner of a fork: `mira:topic`. */
function toBranchName({ label, ref, repo }: WirePull["head"]): string {
  const branch = label === "" ? ref : label;
  return repo?.fork === true ? `${repo.owner.login}:${branch}` : branch;
}

/**
 * Returns the pull request of a command: the named one, or the open one of the current branch.
 * @throws CliError `missing_input` without a branch, `not_found` when it has no open pull request
 */
export async function findPullName(
  cli: CliContext,
  { pull, repo }: { readonly pull?: IssueName | undefined; readonly repo?: string | undefined },
): Promise<IssueName> {
  if (pull !== undefined) return pull;
  const own = repo === undefined ? await findFolderRepository(cli) : await findOwnRepository(cli);
  const base = repo ?? own ?? "";
  const params = toRepositoryName(base);
  const branch = await getCurrentBranch(cli);
  const query = { state: "open" };
  const source = forgePages(cli.client, forge.listPulls, { params, query });
  for await (const { items } of readPages(source, { page: undefined, limit: undefined, all: true }))
    for (const { number, head } of items)
      // Forks have branches of the same name: most have a `main`.
      if (head.label === branch && isSameName(head.repo?.full_name, own ?? base))
        return { ...params, index: String(number) };
  throw new CliError("not_found", `the branch ${branch} has no open pull request`, {
    hint: "name the pull request, or open one with: croft pr create",
  });
}

function isSameName(one: string | undefined, other: string): boolean {
  return one?.toLowerCase() === other.toLowerCase();
}

/** Returns the branch of the current folder. @throws CliError `missing_input` when there is none */
export async function getCurrentBranch(cli: CliContext): Promise<string> {
  const { code, out } = await readGit(cli, ["symbolic-ref", "--quiet", "--short", "HEAD"]);
  if (code === 0 && out !== "") return out;
  throw new CliError("missing_input", "the current folder is on no branch", {
    hint: "name the branch or the pull request",
  });
}

/** Returns `owner/name` of the current folder; undefined outside of a clone of this daemon. */
export async function findOwnRepository(cli: CliContext): Promise<string | undefined> {
  try {
    return await findFolderRepository(cli);
  } catch (error) {
    if (error instanceof CliError && error.code === "missing_input") return undefined;
    throw error;
  }
}
