import type { z } from "zod";
import type { CommitObject, TagObject } from "../../../storage/git/commit-objects.ts";
import type { IgnoredSpace } from "../../../storage/git/diff-files.ts";
import type { CommitSignature } from "../../../storage/git/signatures.ts";
import type { CommitChanges } from "../../../storage/git/history.ts";
import type {
  commitUserShape,
  verificationShape,
  WireCommit,
  WirePayloadCommit,
} from "../../contract/forge/code/shapes.ts";
import type { WireAnnotatedTag, WireTag } from "../../contract/forge/code/tags.ts";
import { toEmbeddedUserView } from "../accounts/user.view.ts";
import { type ForgeUrls, unfilledTime } from "../urls.ts";
import type { Authors } from "./authors.ts";
import { type CodeAddresses, toSegments } from "./code-addresses.ts";
import type { CommitDetails } from "./commits.service.ts";
import type { TagDetails } from "./tags.service.ts";

/** Returns a commit as branches show it. */
export function toPayloadCommitView(
  commit: CommitObject,
  authors: Authors,
  { html }: CodeAddresses,
): WirePayloadCommit {
  const toPerson = ({ name, email }: CommitSignature) => ({
    name,
    email,
    username: authors.get(email.toLowerCase())?.name ?? "",
  });
  return {
    id: commit.id,
    message: commit.message,
    url: `${html}/commit/${commit.id}`,
    author: toPerson(commit.author),
    committer: toPerson(commit.committer),
    verification: toVerificationView(commit),
    timestamp: commit.committer.at,
    added: null,
    removed: null,
    modified: null,
  };
}

/** Returns a commit with its accounts as anonymous callers see them. */
export function toCommitView(
  { commit, changes, withFiles, withStats, withVerification }: CommitDetails,
  authors: Authors,
  { api, html }: CodeAddresses,
  urls: ForgeUrls,
): WireCommit {
  const url = `${api}/git/commits/${commit.id}`;
  const toAccount = ({ email }: CommitSignature) => {
    const user = authors.get(email.toLowerCase());
    return user === undefined ? null : toEmbeddedUserView(user, false, urls);
  };
  return {
    url,
    sha: commit.id,
    created: commit.committer.at,
    html_url: `${html}/commit/${commit.id}`,
    commit: {
      url,
      author: toCommitUserView(commit.author),
      committer: toCommitUserView(commit.committer),
      message: commit.message,
      tree: {
        url: `${api}/git/trees/${commit.tree}`,
        sha: commit.tree,
        created: commit.committer.at,
      },
      verification: withVerification ? toVerificationView(commit) : null,
    },
    author: toAccount(commit.author),
    committer: toAccount(commit.committer),
    parents: toParentsView(commit, api),
    files: withFiles ? toFilesView(changes) : null,
    stats: withStats ? toStatsView(changes) : null,
  };
}

export function toParentsView({ parents }: CommitObject, api: string) {
  return parents.map((sha) => ({
    url: `${api}/git/commits/${sha}`,
    sha,
    created: unfilledTime,
  }));
}

export function toCommitUserView({
  name,
  email,
  at,
}: CommitSignature): z.output<typeof commitUserShape> {
  return { name, email, date: at };
}

/** Signatures are not verified, so the key of a signed commit is reported as unknown. */
export function toVerificationView({
  signature,
}: Pick<CommitObject, "signature">): z.output<typeof verificationShape> {
  return {
    verified: false,
    reason: signature === undefined ? "gpg.error.not_signed_commit" : "gpg.error.no_gpg_keys_found",
    signature: signature?.text ?? "",
    signer: null,
    payload: signature?.payload ?? "",
  };
}

export function toTagView(
  { name, id, commit, message, createdAt }: TagDetails,
  { api, html }: CodeAddresses,
): WireTag {
  const archive = `${html}/archive/${toSegments(name)}`;
  return {
    name,
    // The reference includes the final line break only in the text of an annotated tag.
    message: message.trim(),
    id,
    commit: { url: `${api}/git/commits/${commit}`, sha: commit, created: createdAt },
    zipball_url: `${archive}.zip`,
    tarball_url: `${archive}.tar.gz`,
  };
}

export function toAnnotatedTagView(
  { id, name, message, tagger, object, type }: TagObject,
  { api }: CodeAddresses,
): WireAnnotatedTag {
  return {
    tag: name,
    sha: id,
    url: `${api}/git/tags/${id}`,
    message,
    tagger: tagger === undefined ? null : toCommitUserView(tagger),
    object: { type, url: `${api}/git/${type}s/${object}`, sha: object },
    verification: toVerificationView({ signature: undefined }),
  };
}

function toFilesView(changes: CommitChanges | undefined): WireCommit["files"] {
  return (changes?.files ?? []).map(({ path, status }) => ({ filename: path, status }));
}

function toStatsView(changes: CommitChanges | undefined): WireCommit["stats"] {
  const { additions = 0, deletions = 0 } = changes ?? {};
  return { total: additions + deletions, additions, deletions };
}

/** Returns what a word of a request ignores; undefined for any other word. */
export function toIgnoredSpace(word: string): IgnoredSpace | undefined {
  return ignoredSpaces.get(word);
}

const ignoredSpaces = new Map<string, IgnoredSpace>([
  ["ignore-all", "all"],
  ["ignore-change", "change"],
  ["ignore-eol", "eol"],
]);
