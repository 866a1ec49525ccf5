import { assigneeEndpoints } from "../../contract/forge/issues/assignees.ts";
import { labelEndpoints, type WireLabel } from "../../contract/forge/issues/labels.ts";
import { milestoneEndpoints, type WireMilestone } from "../../contract/forge/issues/milestones.ts";
import type { WireUser } from "../../contract/forge/accounts/users.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { findRefusal, type ForgePageContext, type RepositoryParams } from "./forge-page.ts";

/** Entries of one call and the maximum number of calls: a menu of more than 200 entries helps nobody. */
const LIMIT = "50";
const PAGES_MAX = 4;

/** Loads a list that a menu shows as a whole. */
async function loadAll<T>(
  load: (query: {
    readonly page: string;
    readonly limit: string;
  }) => Promise<{ readonly body: readonly T[]; readonly total?: number }>,
): Promise<readonly T[]> {
  const all: T[] = [];
  for (let page = 1; page <= PAGES_MAX; page += 1) {
    const { body, total = 0 } = await load({ page: String(page), limit: LIMIT });
    all.push(...body);
    if (body.length === 0 || all.length >= total) break;
  }
  return all;
}

/** Loads the labels that issues of a repository may have: its own and those of its organization. */
export async function loadLabels(
  { call }: ForgePageContext,
  { owner, name }: Pick<WireRepository, "owner" | "name">,
): Promise<readonly WireLabel[]> {
  const params = { owner: owner.login, repo: name };
  const own = await loadAll((query) => call(labelEndpoints.listLabels, { params, query }));
  let shared: readonly WireLabel[] = [];
  // A user has no labels, and a caller from outside of the organization may not see them.
  await findRefusal(["not_found", "forbidden", "unauthenticated"], async () => {
    shared = await loadAll((query) =>
      call(labelEndpoints.listOrgLabels, { params: { org: owner.login }, query }),
    );
  });
  return [...own, ...shared];
}

export function loadMilestones(
  { call }: ForgePageContext,
  { owner, repo }: RepositoryParams,
  state: "open" | "all",
): Promise<readonly WireMilestone[]> {
  return loadAll((query) =>
    call(milestoneEndpoints.listMilestones, {
      params: { owner, repo },
      query: { ...query, state },
    }),
  );
}

/** Loads the people with write access to the issues of a repository. */
export async function loadWriters(
  { call }: ForgePageContext,
  { owner, repo }: RepositoryParams,
): Promise<readonly WireUser[]> {
  return (await call(assigneeEndpoints.listAssignableUsers, { params: { owner, repo } })).body;
}

/** Returns whether the person of the page may label, assign and plan issues: by the code's rights, or by those of a team. */
export function mayWriteIssues(
  { session }: ForgePageContext,
  { permissions, archived }: WireRepository,
  writers: readonly WireUser[],
): boolean {
  if (session === undefined || archived) return false;
  const { id } = session.caller.user;
  return permissions?.push === true || writers.some((user) => user.id === id);
}
