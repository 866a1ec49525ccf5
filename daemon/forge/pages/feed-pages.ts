import type { WireActivity } from "../../contract/forge/activities.ts";
import { describeActivity } from "../../contract/forge/activity-text.ts";
import { commitEndpoints } from "../../contract/forge/code/commits.ts";
import { tagEndpoints } from "../../contract/forge/code/tags.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { get, toFolderPath } from "../../pages/page.ts";
import { firstLine } from "./commit-pages.tsx";
import { type FeedFormat, toFeed, toText } from "./feed.ts";
import type { ForgePageContext, ForgePageRoute, RepositoryParams } from "./forge-page.ts";
import { findAccount } from "./people-pages.tsx";
import { findPlace, type PlaceParams, toRef, toSourcePath } from "./place.tsx";
import {
  loadAccountActivity,
  loadRepositoryActivity,
  type ShownActivity,
} from "./recent-activity.tsx";
import { loadHead } from "./repository-head.tsx";

/** Commits and tags of a feed. */
const LIMIT = 30;

/** Feeds of accounts, repositories, tags and histories, and the rules for robots. */
export function feedPages(): ForgePageRoute[] {
  const formats: readonly FeedFormat[] = ["atom", "rss"];
  return [
    get("/robots.txt", showRobots),
    ...formats.flatMap((format) => [
      get(`/:username.${format}`, sendAccount(format)) as ForgePageRoute,
      get(`/:owner/:repo.${format}`, sendRepository(format)) as ForgePageRoute,
      get(`/:owner/:repo/tags.${format}`, sendTags(format)) as ForgePageRoute,
      get(`/:owner/:repo/${format}/:kind/**:rest`, sendHistory(format)) as ForgePageRoute,
    ]),
  ];
}

/** Robots fetch no page that runs git for long; pages ask not to be listed. */
const ROBOTS = `User-agent: *
Disallow: /api/
Disallow: /*/*/archive/
Disallow: /*/*/blame/
Disallow: /*/*/commits/
Disallow: /*/*/compare/
Disallow: /*/*/find/
Disallow: /*/*/search
Disallow: /*/*/src/commit/
`;

async function showRobots() {
  return { kind: "text", contentType: "text/plain; charset=utf-8", text: ROBOTS } as const;
}

const sendAccount =
  (format: FeedFormat) =>
  async (context: ForgePageContext, { username }: { readonly username: string }) => {
    const account = await findAccount(context, username);
    const activities = await loadAccountActivity(context, account);
    const link = `${context.publicUrl()}/${encodeURIComponent(account.name)}`;
    return toActivityFeed(
      context,
      format,
      { title: `Activity of ${account.name}`, link },
      activities,
    );
  };

const sendRepository =
  (format: FeedFormat) => async (context: ForgePageContext, params: RepositoryParams) => {
    const repository = await loadHead(context, params);
    const activities = await loadRepositoryActivity(context, repository);
    const head = { title: `Activity in ${repository.full_name}`, link: repository.html_url };
    return toActivityFeed(context, format, head, activities);
  };

function toActivityFeed(
  { publicUrl }: ForgePageContext,
  format: FeedFormat,
  head: { readonly title: string; readonly link: string },
  activities: readonly ShownActivity[],
) {
  return toFeed(format, {
    ...head,
    updated: activities[0]?.activity.created ?? new Date(0).toISOString(),
    entries: activities.map(({ activity, quote }) => toActivityEntry(activity, quote, publicUrl())),
  });
}

function toActivityEntry(activity: WireActivity, quote: string, url: string) {
  const { action, subject, path, isOfRepository, commits } = describeActivity(activity);
  const { act_user: actor, repo, created } = activity;
  const place = isOfRepository ? "" : ` in ${repo.full_name}`;
  const lines = [quote, ...commits.map(({ title }) => title)].filter((line) => line !== "");
  return {
    id: `${url}/#activity-${activity.id}`,
    title: `${actor.login} ${action} ${subject}${place}`,
    link: url + (path ?? `/${toFolderPath(repo.full_name)}`),
    updated: created,
    author: actor.login,
    html: lines.map((line) => `<p>${toText(line)}</p>`).join(""),
  };
}

const sendTags =
  (format: FeedFormat) =>
  async (context: ForgePageContext, { owner, repo }: RepositoryParams) => {
    const repository = await loadHead(context, { owner, repo });
    const query = { limit: String(LIMIT) };
    const { body: tags } = await context.call(tagEndpoints.listTags, {
      params: { owner, repo },
      query,
    });
    return toFeed(format, {
      title: `Tags of ${repository.full_name}`,
      link: `${repository.html_url}/tags`,
      updated: tags[0]?.commit.created ?? repository.updated_at,
      entries: tags.map(({ name, message, commit }) => ({
        title: name,
        link: `${repository.html_url}/src/tag/${toFolderPath(name)}`,
        updated: commit.created,
        author: repository.owner.login,
        html: `<p>${toText(message)}</p>`,
      })),
    });
  };

/** The history of a branch or tag, or of a file or folder in it. */
const sendHistory =
  (format: FeedFormat) => async (context: ForgePageContext, params: PlaceParams) => {
    const { owner, repo } = params;
    const repository: WireRepository = await loadHead(context, params);
    const place = await findPlace(context, params);
    const parts = { stat: "false", files: "false", verification: "false" };
    const query = { sha: toRef(place), path: place.path, limit: String(LIMIT), ...parts };
    const { body: commits } = await context.call(commitEndpoints.listCommits, {
      params: { owner, repo },
      query,
    });
    const what = place.path === "" ? place.ref : `${place.path} in ${place.ref}`;
    return toFeed(format, {
      title: `Commits of ${what} of ${repository.full_name}`,
      link: context.publicUrl() + toSourcePath(repository, place, "commits"),
      updated: commits[0]?.created ?? repository.updated_at,
      entries: commits.map(({ html_url: link, commit }) => ({
        title: firstLine(commit.message),
        link,
        updated: commit.committer.date,
        author: commit.author.name,
        html: `<pre>${toText(commit.message)}</pre>`,
      })),
    });
  };
