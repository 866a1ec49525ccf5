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

/** An activity with the text of its comment, without the marks of Markdown. */
export interface ShownActivity {
  readonly activity: WireActivity;
  readonly quote: string;
}

/** Loads the activities of an account, or for an organization those in its repositories. */
export async function loadAccountActivity(
  context: ForgePageContext,
  { name, kind }: { readonly name: string; readonly kind: string },
): Promise<readonly ShownActivity[]> {
  const { call } = context;
  if (kind === "organization") {
    const params = { org: name };
    const { body } = await call(activityEndpoints.listOrganizationActivities, { params, query });
    return toShown(context, body);
  }
  const performed = { ...query, "only-performed-by": "true" };
  const { body } = await call(activityEndpoints.listUserActivities, {
    params: { username: name },
    query: performed,
  });
  return toShown(context, body);
}

function toShown(
  { render }: ForgePageContext,
  activities: readonly WireActivity[],
): Promise<readonly ShownActivity[]> {
  return Promise.all(
    activities.map(async (activity) => {
      const { quote: text } = describeActivity(activity);
      if (text === "") return { activity, quote: "" };
      const context = `/${activity.repo.full_name}`;
      const html = await render({ text, mode: "comment", context });
      return { activity, quote: html === undefined ? text : toPlainText(html) };
    }),
  );
}

/** Loads the activities in a repository. */
export async function loadRepositoryActivity(
  context: ForgePageContext,
  { owner, name }: WireRepository,
): Promise<readonly ShownActivity[]> {
  const params = { owner: owner.login, repo: name };
  const { body } = await context.call(activityEndpoints.listRepositoryActivities, {
    params,
    query,
  });
  return toShown(context, body);
}

/** The section of recent activity; empty without activities. */
export function RecentActivity({
  activities,
  isOfOneRepository,
}: {
  activities: readonly ShownActivity[];
  /** Whether the page belongs to the repository, so that its name is not repeated. */
  isOfOneRepository: boolean;
}) {
  if (activities.length === 0) return null;
  return (
    <section aria-labelledby="recent-activity">
      <h2 id="recent-activity">Recent activity</h2>
      <ul className="list">
        {activities.map(({ activity, quote }) => (
          <ActivityItem
            key={activity.id}
            activity={activity}
            quote={quote}
            isOfOneRepository={isOfOneRepository}
          />
        ))}
      </ul>
    </section>
  );
}

function ActivityItem({
  activity,
  quote,
  isOfOneRepository,
}: {
  activity: WireActivity;
  quote: string;
  isOfOneRepository: boolean;
}) {
  const { repo, created, act_user: actor } = activity;
  const { action, subject, path, isOfRepository, commits } = describeActivity(activity);
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

const entities: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#34;": '"',
  "&#39;": "'",
  "&amp;": "&",
};

/** Elements whose text does not continue that before them. */
const BLOCKS = /<\/?(?:p|br|li|[uod]l|h[1-6]|pre|div|table|t[rdh]|blockquote|hr)\b[^>]*>/g;

/**
 * Returns the text of sanitized HTML on one line, without its elements. The sanitizer leaves no `<` in texts and
 * attributes; the result is a text, which a page escapes again.
 */
export function toPlainText(html: string): string {
  return html
    .replace(BLOCKS, " ")
    .replace(/<[^>]*>/g, "")
    .replace(/&(?:lt|gt|quot|#34|#39|amp);/g, (entity) => entities[entity] ?? entity)
    .replace(/\s+/g, " ")
    .trim();
}
