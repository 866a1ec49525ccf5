import type { Queries } from "../../../storage/engine/database.ts";
import type { CommitWithFiles } from "../../../storage/git/commits.ts";
import type { CommitSignature } from "../../../storage/git/signatures.ts";
import { countWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { toOrganizationView } from "../accounts/organization.view.ts";
import { toEmbeddedUserView } from "../accounts/user.view.ts";
import type { AccessLevel } from "../opened.ts";
import type { ForgeEvents, OwnedRepository, RefChange } from "../events.ts";
import { withParents } from "../repositories/parents.ts";
import { toRepositoryView } from "../repositories/repository.view.ts";
import { type ForgeUrls, toUrl } from "../urls.ts";
import type { PushCommits } from "../push-subscriber.ts";

// Payloads of hooks. Users have only the members that anonymous callers see, because any person
// may read the receiver.

/** A published package version. daemon/forge/packages creates its view. */
export interface PublishedPackage {
  /** The wire form of the version, with `owner` and `creator` as anonymous callers see them. */
  readonly view: object;
  readonly owner: ForgeUser;
  readonly sender: ForgeUser;
  /** The repository that the package is linked to. */
  readonly linked: OwnedRepository | undefined;
}

/** The commits of a push, with the accounts of their authors. */
export interface PushedCommits extends PushCommits {
  /** Names of accounts by the addresses in the commits, in lower case. */
  readonly usernames: ReadonlyMap<string, string>;
}

export async function toRepositoryPayload(
  db: Queries,
  action: "created" | "deleted" | "renamed",
  owned: OwnedRepository,
  sender: ForgeUser,
  urls: ForgeUrls,
) {
  return {
    action,
    repository: await toEmbeddedRepository(db, owned, "owner", urls),
    organization: toAnonymousView(owned.owner, urls),
    sender: toAnonymousView(sender, urls),
  };
}

export async function toWikiPayload(
  db: Queries,
  { actor, action, page, comment, ...owned }: ForgeEvents["wiki"],
  urls: ForgeUrls,
) {
  return {
    action,
    repository: await toEmbeddedRepository(db, owned, "owner", urls),
    sender: toAnonymousView(actor, urls),
    page,
    comment,
  };
}

/** `forkee` is the parent and `repository` the fork, as in Gitea. */
export async function toForkPayload(
  db: Queries,
  { parent, actor, ...owned }: ForgeEvents["fork"],
  urls: ForgeUrls,
) {
  return {
    forkee: await toEmbeddedRepository(db, parent, "owner", urls),
    repository: await toEmbeddedRepository(db, owned, "owner", urls),
    sender: toAnonymousView(actor, urls),
  };
}

/** `organization` is an event of croft that the document does not define. */
export function toOrganizationPayload(
  action: "created",
  organization: ForgeUser,
  sender: ForgeUser,
  urls: ForgeUrls,
) {
  return {
    action,
    organization: toOrganizationView(organization, urls),
    sender: toAnonymousView(sender, urls),
  };
}

export async function toPackagePayload(
  db: Queries,
  action: "created" | "deleted",
  { view, owner, sender, linked }: PublishedPackage,
  urls: ForgeUrls,
) {
  return {
    action,
    repository: linked === undefined ? null : await toEmbeddedRepository(db, linked, "owner", urls),
    package: view,
    organization: owner.kind === "organization" ? toOrganizationView(owner, urls) : null,
    sender: toAnonymousView(sender, urls),
  };
}

/** Returns the payload of a branch or tag that was created or deleted. */
export async function toRefPayload(
  db: Queries,
  owned: OwnedRepository,
  { ref, after }: RefChange,
  sender: ForgeUser,
  urls: ForgeUrls,
) {
  const refType = ref.startsWith("refs/tags/") ? "tag" : "branch";
  const common = { ref: toShortRef(ref), ref_type: refType };
  // Only a created ref has no permissions in its repository.
  const access = after === undefined ? "owner" : "none";
  const ends = {
    repository: await toEmbeddedRepository(db, owned, access, urls),
    sender: toAnonymousView(sender, urls),
  };
  return after === undefined
    ? { ...common, pusher_type: "user", ...ends }
    : { sha: after, ...common, ...ends };
}

export async function toPushPayload(
  db: Queries,
  owned: OwnedRepository,
  change: RefChange,
  pushed: PushedCommits,
  sender: ForgeUser,
  urls: ForgeUrls,
) {
  const user = toAnonymousView(sender, urls);
  return {
    ...toPushDetails(owned, change, pushed, urls),
    repository: await toEmbeddedRepository(db, owned, "owner", urls),
    pusher: user,
    sender: user,
  };
}

/** Returns the payload of a push without its repository, pusher and sender. */
export function toPushDetails(
  { repository, owner }: OwnedRepository,
  { ref, before, after }: RefChange,
  pushed: PushedCommits,
  urls: ForgeUrls,
) {
  const home = toUrl(urls, `/${owner.name}/${repository.name}`);
  const nothing = "0".repeat(repository.objectFormat === "sha256" ? 64 : 40);
  const toCommit = (commit: CommitWithFiles) => toCommitView(commit, home, pushed.usernames);
  return {
    ref,
    before: before ?? nothing,
    after: after ?? nothing,
    compare_url: toCompareUrl(home, { ref, before, after }, repository.defaultBranch),
    commits: pushed.commits.map(toCommit),
    total_commits: pushed.total,
    head_commit: pushed.head === undefined ? null : toCommit(pushed.head),
  };
}

/** `main` of `refs/heads/main`, `v1` of `refs/tags/v1`. */
function toShortRef(ref: string): string {
  return ref.replace(/^refs\/(?:heads|tags)\//, "");
}

function toCompareUrl(
  home: string,
  { ref, before, after }: RefChange,
  defaultBranch: string,
): string {
  if (before !== undefined && after !== undefined) return `${home}/compare/${before}...${after}`;
  if (ref === `refs/heads/${defaultBranch}` || after === undefined)
    return after === undefined ? home : `${home}/commit/${after}`;
  return `${home}/compare/${encodeURI(defaultBranch)}...${after}`;
}

/**
 * Returns a commit.
 * @param home the repository's page
 * @param usernames account names by lower-case address
 */
export function toCommitView(
  commit: CommitWithFiles,
  home: string,
  usernames: ReadonlyMap<string, string>,
) {
  const toPerson = ({ name, email }: CommitSignature) => ({
    name,
    email,
    username: usernames.get(email.toLowerCase()) ?? "",
  });
  return {
    id: commit.id,
    message: commit.message,
    url: `${home}/commit/${commit.id}`,
    author: toPerson(commit.author),
    committer: toPerson(commit.committer),
    verification: null,
    // Git writes UTC in either form, depending on its version.
    timestamp: commit.committer.at.replace(/\+00:00$/, "Z"),
    added: commit.added,
    removed: commit.removed,
    modified: commit.modified,
  };
}

async function toEmbeddedRepository(
  db: Queries,
  owned: OwnedRepository,
  access: AccessLevel,
  urls: ForgeUrls,
) {
  const { id } = owned.repository;
  const watchers = (await countWatchers(db, [id])).get(id) ?? 0;
  const details = { ...owned, watchers, access, isSignedIn: false };
  // Any person may read the receiver, so a private parent is left out.
  const [shown = details] = await withParents(db, [details], undefined);
  return toRepositoryView(shown, urls);
}

function toAnonymousView(user: ForgeUser, urls: ForgeUrls) {
  return toEmbeddedUserView(user, false, urls);
}
