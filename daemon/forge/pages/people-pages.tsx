import { getOrganization } from "../../contract/forge/accounts/orgs.ts";
import { getUser } from "../../contract/forge/accounts/users.ts";
import {
  listNotifications,
  markNotifications,
  markNotification,
} from "../../contract/forge/notifications.ts";
import {
  listUserRepositories,
  searchRepositories,
} from "../../contract/forge/repositories/lists.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { toSignIn } from "./account-pages.tsx";
import { Form, Pager, Time } from "./elements.tsx";
import { type PageContext, type PageParams, type PageRoute, toPageNumber, toPath } from "./page.ts";
import { loadAccountActivity, RecentActivity } from "./recent-activity.tsx";
import { TopicList } from "./repository-head.tsx";

const LIMIT = 30;
const NOTIFICATIONS = "/notifications";

/** The start page, users and organizations, and the inbox. */
export function peoplePages(): PageRoute[] {
  return [
    { method: "GET", path: "/", run: showStart },
    { method: "GET", path: NOTIFICATIONS, run: showInbox },
    { method: "POST", path: NOTIFICATIONS, run: markInbox },
    { method: "GET", path: "/:username", run: showAccount },
  ];
}

async function showStart({ call, request, instanceName }: PageContext) {
  const page = toPageNumber(request);
  const q = request.query.get("q") ?? "";
  const topic = request.query.get("topic") ?? "";
  const window = { page: String(page), limit: String(LIMIT) };
  const query = { q, topic, sort: "updated", order: "desc", ...window };
  const { body, total = 0 } = await call(searchRepositories, { query });
  return {
    kind: "page",
    title: "Repositories",
    body: (
      <>
        <h1>{`Repositories of ${instanceName}`}</h1>
        <form method="get" className="row" role="search">
          <input name="q" defaultValue={q} maxLength={200} aria-label="Search repositories" />
          <button type="submit">Search</button>
        </form>
        <RepositoryList repositories={body.data} />
        <Pager page={page} limit={LIMIT} total={total} query={request.query} />
      </>
    ),
  } as const;
}

function RepositoryList({ repositories }: { repositories: readonly WireRepository[] }) {
  if (repositories.length === 0) return <p className="quiet">No repositories.</p>;
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

async function showAccount(context: PageContext, params: PageParams) {
  const { call, request } = context;
  const { username = "" } = params;
  const account = await findAccount(context, username);
  const page = toPageNumber(request);
  const window = { page: String(page), limit: String(LIMIT) };
  const { body: repositories, total = 0 } = await call(listUserRepositories, {
    params: { username },
    query: window,
  });
  const activities = await loadAccountActivity(context, account);
  return {
    kind: "page",
    title: account.name,
    body: (
      <>
        <h1>{account.name}</h1>
        {account.fullName === "" ? null : <p>{account.fullName}</p>}
        {account.description === "" ? null : <p>{account.description}</p>}
        <dl>
          <dt>Kind</dt>
          <dd>{account.kind}</dd>
          {account.location === "" ? null : (
            <>
              <dt>Location</dt>
              <dd>{account.location}</dd>
            </>
          )}
          {/^https?:\/\//.test(account.website) ? (
            <>
              <dt>Website</dt>
              <dd>
                <a href={account.website} rel="nofollow noopener">
                  {account.website}
                </a>
              </dd>
            </>
          ) : null}
        </dl>
        <nav className="tabs" aria-label="Owner">
          <a href={toPath(account.name)} aria-current="page">
            Repositories
          </a>
          <a href={toPath(account.name, "-", "packages")}>Packages</a>
        </nav>
        <RepositoryList repositories={repositories} />
        <Pager page={page} limit={LIMIT} total={total} query={request.query} />
        <RecentActivity activities={activities} isOfOneRepository={false} />
      </>
    ),
  } as const;
}

/** The account as a user. The additional fields of an organization come from another operation. */
async function findAccount({ call }: PageContext, username: string) {
  const { body: user } = await call(getUser, { params: { username } });
  const shown = {
    name: user.login,
    fullName: user.full_name,
    description: user.description,
    location: user.location,
    website: user.website,
    kind: "user",
  };
  try {
    await call(getOrganization, { params: { org: username } });
    return { ...shown, kind: "organization" };
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return shown;
  }
}

const isNotFound = (error: unknown) =>
  error instanceof Error && "code" in error && error.code === "not_found";

async function showInbox({ call, request, session }: PageContext) {
  if (session === undefined) return toSignIn(NOTIFICATIONS);
  const page = toPageNumber(request);
  const all = request.query.get("all") === "true";
  const query = { all: String(all), page: String(page), limit: String(LIMIT) };
  const { body: threads, total = 0 } = await call(listNotifications, { query });
  return {
    kind: "page",
    title: "Notifications",
    body: (
      <>
        <h1>Notifications</h1>
        <nav className="tabs" aria-label="Which">
          <a href="?" aria-current={all ? undefined : "page"}>
            Unread and pinned
          </a>
          <a href="?all=true" aria-current={all ? "page" : undefined}>
            All
          </a>
        </nav>
        {threads.length === 0 ? (
          <p className="quiet">Nothing to read.</p>
        ) : (
          <>
            <Form action={NOTIFICATIONS} token={session.formToken} className="inline">
              <input type="hidden" name="last_read_at" value={threads[0]?.updated_at} />
              <button type="submit">Mark all as read</button>
            </Form>
            <ul className="list">
              {threads.map(({ id, subject, repository, unread, updated_at: at }) => (
                <li key={id}>
                  {subject === null ? (
                    "No longer readable"
                  ) : (
                    <a href={toTarget(subject.latest_comment_html_url || subject.html_url)}>
                      {subject.title}
                    </a>
                  )}
                  <p className="quiet">
                    {`${repository?.full_name ?? ""} ${unread ? "unread" : "read"} `}
                    <Time at={at} />
                  </p>
                  {unread ? (
                    <Form action={NOTIFICATIONS} token={session.formToken} className="inline">
                      <input type="hidden" name="id" value={String(id)} />
                      <button
                        type="submit"
                        aria-label={`Mark as read: ${subject?.title ?? "unknown"}`}
                      >
                        Mark as read
                      </button>
                    </Form>
                  ) : null}
                </li>
              ))}
            </ul>
          </>
        )}
        <Pager page={page} limit={LIMIT} total={total} query={request.query} />
      </>
    ),
  } as const;
}

/** Returns the path of an address of this server, so that the page works at every address of the server. */
function toTarget(address: string): string {
  const { pathname, hash } = new URL(address);
  return `${pathname}${hash}`;
}

async function markInbox({ call, session, form }: PageContext) {
  if (session === undefined) return toSignIn(NOTIFICATIONS);
  const id = form.get("id");
  if (id === null) {
    const lastReadAt = form.get("last_read_at") ?? "";
    await call(markNotifications, { query: { last_read_at: lastReadAt } });
  } else await call(markNotification, { params: { id }, query: {} });
  return { kind: "redirect", to: NOTIFICATIONS } as const;
}
