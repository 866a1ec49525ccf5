import { z } from "zod";
import { isRefName } from "../../contract/forge/repositories/rules.ts";
import { isWebUrl } from "../../contract/forge/rules.ts";
import { toAuthorization } from "../../outbound/git-gateway.ts";
import { giteaReviews, githubReviews } from "./review-readers.ts";
import { firstOf } from "./json-answers.ts";
import type { Credentials } from "./remote-address.ts";
import {
  type Dialect,
  issueNumber,
  type SourceComment,
  type SourceIssue,
  type SourceRelease,
} from "./source.ts";
import {
  BODY_MAX,
  isCommit,
  moment,
  optionalMoment,
  originalAuthor,
  text,
  title,
  TITLE_MAX,
  user,
} from "./source-schemas.ts";

// The lists of Gitea's and GitHub's APIs have nearly the same items. Texts are made storable and cut to the limits of croft's
// own API, so what another server sends is bounded like what a person sends.

const NAME_MAX = 50;
const DESCRIPTION_MAX = 200;
const MILESTONE_DESCRIPTION_MAX = 65_536;
/** Of an issue: more are left out. */
const LABELS_MAX = 100;
/** Files of a release: lists of releases include all of them. */
const ASSETS_MAX = 250;

const label = z
  .object({
    name: text(NAME_MAX).pipe(z.string().min(1)),
    color: text(20),
    description: text(DESCRIPTION_MAX),
    exclusive: z.boolean().nullish(),
    is_archived: z.boolean().nullish(),
  })
  .transform(({ name, color, description, exclusive, is_archived: archived }) => ({
    name,
    color: /^#?[0-9a-f]{6}$/i.test(color) ? color.replace("#", "").toLowerCase() : "ededed",
    description,
    isExclusive: exclusive === true,
    isArchived: archived === true,
  }));

const state = z.string().transform((value) => value === "closed");

const milestone = z
  .object({
    title,
    description: text(MILESTONE_DESCRIPTION_MAX),
    state,
    due_on: optionalMoment,
    created_at: optionalMoment,
    closed_at: optionalMoment,
  })
  .transform((found) => ({
    title: found.title,
    description: found.description,
    isClosed: found.state,
    dueAt: found.due_on,
    createdAt: found.created_at,
    closedAt: found.closed_at,
  }));

const named = z.object({ name: text(NAME_MAX) });

const issue = z.object({
  number: issueNumber,
  title,
  body: text(BODY_MAX),
  user,
  original_author: originalAuthor,
  state,
  is_locked: z.boolean().nullish(),
  locked: z.boolean().nullish(),
  labels: firstOf(named, LABELS_MAX).nullish(),
  milestone: z.object({ title }).nullish(),
  due_date: optionalMoment,
  created_at: moment,
  updated_at: moment,
  closed_at: optionalMoment,
  pull_request: z.unknown().optional(),
});

function toIssue(found: z.output<typeof issue>, pull: SourceIssue["pull"]): SourceIssue {
  return {
    number: found.number,
    title: found.title,
    body: found.body,
    author: found.original_author || found.user,
    isClosed: found.state,
    isLocked: found.is_locked === true || found.locked === true,
    labels: (found.labels ?? []).map(({ name }) => name),
    milestone: found.milestone?.title,
    dueAt: found.due_date,
    createdAt: found.created_at,
    updatedAt: Math.max(found.updated_at, found.created_at),
    closedAt: found.state ? (found.closed_at ?? found.updated_at) : undefined,
    pull,
  };
}

const commit = text(64);
const end = z.object({
  label: text(255),
  ref: text(255),
  sha: commit,
  repo: z.object({ id: z.number(), clone_url: z.string().nullish() }).nullish(),
});
const pull = issue.extend({
  base: end,
  head: end,
  merged_at: optionalMoment,
  merge_commit_sha: z.string().nullish(),
});

function toPull(found: z.output<typeof pull>): SourceIssue {
  const { base, head, merge_commit_sha: merge } = found;
  const isOwnHead = head.repo != null && head.repo.id === base.repo?.id;
  return toIssue(found, {
    baseBranch: base.ref,
    baseCommit: base.sha,
    headBranch: toHeadBranch(head),
    isOwnHead,
    forkAddress: isOwnHead ? undefined : toAddress(head.repo?.clone_url),
    mergedAt: found.merged_at,
    mergeCommit: found.merged_at !== undefined && isCommit(merge) ? merge : undefined,
  });
}

const ADDRESS_MAX = 2_048;

function toAddress(url: string | null | undefined): string | undefined {
  if (url == null || url.length > ADDRESS_MAX || !isWebUrl(url)) return undefined;
  const { username, password } = new URL(url);
  return username === "" && password === "" ? url : undefined;
}

/** In Gitea's answers, the label keeps the name of a branch that was deleted, and `ref` is that of the pull request. */
function toHeadBranch({ label: name, ref }: z.output<typeof end>): string {
  return ref.startsWith("refs/pull/") && isRefName(name) ? name : ref;
}

const comment = z
  .object({
    issue_url: z.string().nullish(),
    pull_request_url: z.string().nullish(),
    body: text(BODY_MAX),
    user,
    original_author: originalAuthor,
    created_at: moment,
    updated_at: moment,
  })
  .transform((found, context): SourceComment => {
    const url = found.issue_url || found.pull_request_url || "";
    const of = Number(/\/(\d{1,10})\/?$/.exec(url)?.[1] ?? 0);
    if (of < 1) context.addIssue({ code: "custom", message: "of no issue" });
    return {
      number: of,
      body: found.body,
      author: found.original_author || found.user,
      createdAt: found.created_at,
      updatedAt: Math.max(found.updated_at, found.created_at),
    };
  });

const asset = z.object({
  name: text(255),
  browser_download_url: z.string().max(4096).refine(isWebUrl),
  url: z.string().max(4096).nullish(),
});

const release = z
  .object({
    tag_name: text(255).pipe(z.string().min(1)),
    target_commitish: text(255),
    name: text(TITLE_MAX),
    body: text(BODY_MAX),
    draft: z.boolean(),
    prerelease: z.boolean(),
    author: user,
    created_at: moment,
    published_at: optionalMoment,
    assets: firstOf(asset, ASSETS_MAX).nullish(),
  })
  .transform((found): SourceRelease => ({
    tagName: found.tag_name,
    target: found.target_commitish,
    title: found.name || found.tag_name,
    body: found.body,
    isDraft: found.draft,
    isPrerelease: found.prerelease,
    author: found.author,
    createdAt: found.created_at,
    publishedAt: found.published_at ?? found.created_at,
    assets: (found.assets ?? []).map(({ name, browser_download_url: url }) => ({ name, url })),
  }));

/** In GitHub's list of issues, and in Gitea's without a filter, pull requests are issues, too. */
function readIssue(item: unknown): SourceIssue | undefined {
  const found = issue.parse(item);
  return found.pull_request == null ? toIssue(found, undefined) : undefined;
}

const readers = {
  readLabel: (item: unknown) => label.parse(item),
  readMilestone: (item: unknown) => milestone.parse(item),
  readPull: (item: unknown) => toPull(pull.parse(item)),
  readComment: (item: unknown) => comment.parse(item),
  readRelease: (item: unknown) => release.parse(item),
};

/** Splits an address into the server, with the path below which it is served, and `owner/name`. */
function split(address: string): { readonly server: string; readonly name: string } {
  const url = new URL(address.replace(/\.git$/, ""));
  const segments = url.pathname.split("/").filter((segment) => segment !== "");
  const prefix = segments.slice(0, -2).map((segment) => `/${segment}`);
  return { server: url.origin + prefix.join(""), name: segments.slice(-2).join("/") };
}

function toBasic(credentials: Credentials): Readonly<Record<string, string>> {
  const authorization = toAuthorization(credentials);
  return authorization === undefined ? {} : { Authorization: authorization };
}

/** Gitea, Forgejo and croft. */
export const gitea: Dialect = {
  toApi: (address) => {
    const { server, name } = split(address);
    return `${server}/api/v1/repos/${name}`;
  },
  toHeaders: (credentials) =>
    credentials.token === ""
      ? toBasic(credentials)
      : { Authorization: `token ${credentials.token}` },
  pageSize: 50,
  pageSizeName: "limit",
  newest: "/issues?state=all",
  parts: {
    labels: { path: "/labels", read: readers.readLabel },
    milestones: { path: "/milestones?state=all", read: readers.readMilestone },
    releases: { path: "/releases", read: readers.readRelease },
    issues: { path: "/issues?state=all&type=issues", read: readIssue },
    pulls: { path: "/pulls?state=all&sort=oldest", read: readers.readPull },
    comments: { path: "/issues/comments", read: readers.readComment },
  },
  reviews: giteaReviews,
};

/** GitHub, and GitHub Enterprise below `/api/v3` of any other server. */
export const github: Dialect = {
  toApi: (address) => {
    const { server, name } = split(address);
    const { hostname } = new URL(server);
    const isPublic = hostname === "github.com" || hostname === "www.github.com";
    return `${isPublic ? "https://api.github.com" : `${server}/api/v3`}/repos/${name}`;
  },
  toHeaders: (credentials) => ({
    "X-GitHub-Api-Version": "2022-11-28",
    ...(credentials.token === ""
      ? toBasic(credentials)
      : { Authorization: `Bearer ${credentials.token}` }),
  }),
  pageSize: 100,
  pageSizeName: "per_page",
  newest: "/issues?state=all&sort=created&direction=desc",
  parts: {
    labels: { path: "/labels", read: readers.readLabel },
    milestones: { path: "/milestones?state=all&sort=due_on", read: readers.readMilestone },
    releases: { path: "/releases", read: readers.readRelease },
    issues: { path: "/issues?state=all&sort=created&direction=asc", read: readIssue },
    pulls: { path: "/pulls?state=all&sort=created&direction=asc", read: readers.readPull },
    comments: {
      path: "/issues/comments?sort=created&direction=asc",
      read: readers.readComment,
    },
  },
  reviews: githubReviews,
};
