import { adminOrgEndpoints } from "../../contract/forge/accounts/orgs.ts";
import { userEndpoints } from "../../contract/forge/accounts/users.ts";
import { repositoryListEndpoints } from "../../contract/forge/repositories/lists.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { EmptyState, Facts, Pager, Time } from "../../pages/elements.tsx";
import { SearchForm } from "../../pages/form.tsx";
import { get, toPageNumber, toPath } from "../../pages/page.ts";
import { AppError } from "../../errors.ts";
import { type ForgePageContext, type ForgePageRoute } from "./forge-page.ts";
import { OwnerTabs, toPicturePath } from "./elements.tsx";
import { loadAccountActivity, RecentActivity } from "./recent-activity.tsx";
import { TopicList } from "./repository-head.tsx";
import { ADMINISTRATION } from "./settings/admin-pages.tsx";

const LIMIT = 30;

/** The start page, users and organizations. */
export function peoplePages(): ForgePageRoute[] {
  return [get("/", showStart), get("/admin", showAdminAccount), get("/:username", showAccount)];
}

async function showStart({ call, request, instanceName, session }: ForgePageContext) {
  const page = toPageNumber(request);
  const q = request.query.get("q") ?? "";
  const topic = request.query.get("topic") ?? "";
  const window = { page: String(page), limit: String(LIMIT) };
  const query = { q, topic, sort: "updated", order: "desc", ...window };
  const { body, total = 0 } = await call(repositoryListEndpoints.searchRepositories, { query });
  return {
    kind: "page",
    title: "Repositories",
    body: (
      <>
        <h1>{`Repositories of ${instanceName}`}</h1>
        {session === undefined ? null : (
          <p className="tools">
            <a href="/repo/create">New repository</a>
            <a href="/org/create">New organization</a>
          </p>
        )}
        <SearchForm label="Search repositories" query={q} />
        <RepositoryList repositories={body.data} />
        <Pager page={page} limit={LIMIT} total={total} query={request.query} />
      </>
    ),
  } as const;
}

export function RepositoryList({ repositories }: { repositories: readonly WireRepository[] }) {
  if (repositories.length === 0) return <EmptyState>No repositories.</EmptyState>;
  return (
    <ul className="list">
      {repositories.map((repository) => (
        <li key={repository.id}>
          <a href={toPath(repository.owner.login, repository.name)}>{repository.full_name}</a>{" "}
          {repository.private ? <span className="state plain-state">private</span> : null}
          {repository.description === "" ? null : <p>{repository.description}</p>}
          <TopicList topics={repository.topics} />
          <p className="quiet">
            Updated <Time at={repository.updated_at} />
          </p>
        </li>
      ))}
    </ul>
  );
}

/** Gitea's former address of the administration, which is a valid name of an account, too. */
async function showAdminAccount(context: ForgePageContext) {
  try {
    return await showAccount(context, { username: "admin" });
  } catch (error) {
    if (error instanceof AppError && error.code === "not_found")
      return { kind: "redirect", to: ADMINISTRATION } as const;
    throw error;
  }
}

async function showAccount(context: ForgePageContext, { username }: { readonly username: string }) {
  const { call, request } = context;
  const account = await findAccount(context, username);
  const page = toPageNumber(request);
  const window = { page: String(page), limit: String(LIMIT) };
  const { body: repositories, total = 0 } = await call(
    repositoryListEndpoints.listUserRepositories,
    {
      params: { username },
      query: window,
    },
  );
  const activities = await loadAccountActivity(context, account);
  return {
    kind: "page",
    title: account.name,
    body: (
      <>
        <div className="title">
          <h1>
            {account.picture === "" ? null : (
              <>
                <img src={account.picture} alt="" width={48} height={48} />{" "}
              </>
            )}
            {account.name}
          </h1>
          <a href={`${toPath(account.name)}.atom`}>Feed</a>
        </div>
        {account.fullName === "" ? null : <p>{account.fullName}</p>}
        {account.description === "" ? null : <p>{account.description}</p>}
        <Facts
          rows={[
            ["Kind", account.kind],
            ["Location", account.location],
            [
              "Website",
              /^https?:\/\//.test(account.website) ? (
                <a href={account.website} rel="nofollow noopener">
                  {account.website}
                </a>
              ) : undefined,
            ],
          ]}
        />
        {account.kind === "organization" && context.session !== undefined ? (
          <p className="tools">
            <a href={toPath("org", account.name, "members")}>Members</a>
            <a href={toPath("org", account.name, "teams")}>Teams</a>
          </p>
        ) : null}
        <OwnerTabs owner={account.name} current="repositories" />
        <RepositoryList repositories={repositories} />
        <Pager page={page} limit={LIMIT} total={total} query={request.query} />
        <RecentActivity activities={activities} isOfOneRepository={false} />
      </>
    ),
  } as const;
}

/** The account as a user. The additional fields of an organization come from another operation. */
export async function findAccount({ call }: ForgePageContext, username: string) {
  const { body: user } = await call(userEndpoints.getUser, { params: { username } });
  const shown = {
    name: user.login,
    fullName: user.full_name,
    description: user.description,
    location: user.location,
    website: user.website,
    picture: user.avatar_url === "" ? "" : toPicturePath(user.avatar_url),
    kind: "user",
  };
  try {
    await call(adminOrgEndpoints.getOrganization, { params: { org: username } });
    return { ...shown, kind: "organization" };
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return shown;
  }
}

const isNotFound = (error: unknown) =>
  error instanceof Error && "code" in error && error.code === "not_found";
