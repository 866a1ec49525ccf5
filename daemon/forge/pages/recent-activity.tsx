import { activityEndpoints, type WireActivity } from "../../contract/forge/activities.ts";
import { describeActivity } from "../../contract/forge/activity-text.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { UserLink } from "./elements.tsx";
import { Time } from "../../pages/elements.tsx";
import { toPath } from "../../pages/page.ts";
import { type ForgePageContext } from "./forge-page.ts";

/** Maximum number of activities in the section; the API has all of them. */
const query = { limit: "10" };
/** Maximum number of commits of a push in the section. */
const COMMITS_MAX = 3;
/** Number of shown characters of a commit's id. */
const ID_CHARACTERS = 10;

/** Loads the activities of an account, or for an organization those in its repositories. */
export async function loadAccountActivity(
  { call }: ForgePageContext,
  { name, kind }: { readonly name: string; readonly kind: string },
): Promise<readonly WireActivity[]> {
  if (kind === "organization")
    return (
      await call(activityEndpoints.listOrganizationActivities, { params: { org: name }, query })
    ).body;
  const performed = { ...query, "only-performed-by": "true" };
  return (
    await call(activityEndpoints.listUserActivities, {
      params: { username: name },
      query: performed,
    })
  ).body;
}

/** Loads the activities in a repository. */
export async function loadRepositoryActivity(
  { call }: ForgePageContext,
  { owner, name }: WireRepository,
): Promise<readonly WireActivity[]> {
  const params = { owner: owner.login, repo: name };
  return (await call(activityEndpoints.listRepositoryActivities, { params, query })).body;
}

/** The section of recent activity; empty without activities. */
export function RecentActivity({
  activities,
  isOfOneRepository,
}: {
  activities: readonly WireActivity[];
  /** Whether the page belongs to the repository, so that its name is not repeated. */
  isOfOneRepository: boolean;
}) {
  if (activities.length === 0) return null;
  return (
    <section aria-labelledby="recent-activity">
      <h2 id="recent-activity">Recent activity</h2>
      <ul className="list">
        {activities.map((activity) => (
          <ActivityItem
            key={activity.id}
            activity={activity}
            isOfOneRepository={isOfOneRepository}
          />
        ))}
      </ul>
    </section>
  );
}

function ActivityItem({
  activity,
  isOfOneRepository,
}: {
  activity: WireActivity;
  isOfOneRepository: boolean;
}) {
  const { repo, created, act_user: actor } = activity;
  const { action, subject, path, isOfRepository, quote, commits } = describeActivity(activity);
  const home = toPath(repo.owner.login, repo.name);
  return (
    <li>
      <UserLink user={actor} /> {action}{" "}
      {path === undefined ? (
        <bdi>{subject}</bdi>
      ) : (
        <a href={path}>
          <bdi>{subject}</bdi>
        </a>
      )}
      {isOfRepository || isOfOneRepository ? null : (
        <>
          {" in "}
          <a href={home}>{repo.full_name}</a>
        </>
      )}
      {quote === "" ? null : (
        <p>
          <bdi>{quote}</bdi>
        </p>
      )}
      {commits.slice(0, COMMITS_MAX).map(({ id, title }) => (
        <p key={id}>
          <a href={`${home}/commit/${id}`}>
            <code>{id.slice(0, ID_CHARACTERS)}</code>
          </a>{" "}
          <bdi>{title}</bdi>
        </p>
      ))}
      <p className="quiet">
        <Time at={created} />
      </p>
    </li>
  );
}
