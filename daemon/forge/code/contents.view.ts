import type { CommitObject } from "../../../storage/git/commit-objects.ts";
import type {
  WireContents,
  WireContentsExt,
  WireFileChange,
} from "../../contract/forge/code/contents.ts";
import type { OwnedRepository } from "../events.ts";
import { type ForgeUrls, unfilledTime } from "../urls.ts";
import { toCodeAddresses, toRevisionSegments, toSegments } from "./code-addresses.ts";
import { toCommitUserView, toParentsView } from "./commit.view.ts";
import type { ContentsList } from "./contents.service.ts";
import type { ContentsEntry } from "./folder-listings.ts";
import type { Revision } from "./revisions.ts";

/** Returns a file as an object, a folder as a list. */
export function toContentsView(list: ContentsList, urls: ForgeUrls): WireContents | WireContents[] {
  const views = toContentsViews(list, urls);
  const [only] = views;
  return only !== undefined && !list.isFolder ? only : views;
}

/** Returns a file or a folder, each under its own member. */
export function toContentsExtView(
  list: ContentsList,
  urls: ForgeUrls,
  hasMessages: boolean,
): WireContentsExt {
  const views = toContentsViews(list, urls).map((view, index) => {
    const title = list.entries[index]?.last?.title;
    return hasMessages && title !== undefined ? { ...view, last_commit_message: title } : view;
  });
  const [only] = views;
  return only !== undefined && !list.isFolder ? { file_contents: only } : { dir_contents: views };
}

export function toContentsViews(
  { owned, revision, ref, entries }: ContentsList,
  urls: ForgeUrls,
): WireContents[] {
  return entries.map((each) => toEntryView(each, { owned, revision, ref }, urls));
}

/** Returns files in the order of a request; null for a path without a file. */
export function toFilesView(
  files: readonly (ContentsList | undefined)[],
  urls: ForgeUrls,
): (WireContents | null)[] {
  return files.map((file) =>
    file === undefined ? null : (toContentsViews(file, urls)[0] ?? null),
  );
}

/** Returns an entry of a revision. Submodules have no pages and no bytes here. */
export function toEntryView(
  { entry, last, content, target, submoduleUrl }: ContentsEntry,
  {
    owned,
    revision,
    ref,
  }: { readonly owned: OwnedRepository; readonly revision: Revision; readonly ref: string },
  urls: ForgeUrls,
): WireContents {
  const { api, html } = toCodeAddresses(owned, urls);
  const path = toSegments(entry.path);
  const place = `${toRevisionSegments(revision)}/${path}`;
  const self = `${api}/contents/${path}?ref=${encodeURIComponent(ref)}`;
  const isSubmodule = entry.type === "commit";
  const gitUrl = isSubmodule ? null : `${api}/git/${entry.type}s/${entry.id}`;
  const htmlUrl = isSubmodule ? null : `${html}/src/${place}`;
  return {
    name: entry.path.slice(entry.path.lastIndexOf("/") + 1),
    path: entry.path,
    sha: entry.id,
    ...(last === undefined
      ? {}
      : {
          last_commit_sha: last.id,
          last_committer_date: last.committedAt,
          last_author_date: last.authoredAt,
        }),
    type: toType(entry.type, entry.mode),
    size: entry.size,
    encoding: content === undefined ? null : "base64",
    content: content === undefined ? null : content.toString("base64"),
    target: target ?? null,
    url: self,
    html_url: htmlUrl,
    git_url: gitUrl,
    download_url: entry.type === "blob" ? `${html}/raw/${place}` : null,
    submodule_git_url: submoduleUrl ?? null,
    _links: { self, git: gitUrl, html: htmlUrl },
  };
}

/** Returns a commit as responses to a write show it. */
export function toFileCommitView(
  commit: CommitObject,
  owned: OwnedRepository,
  urls: ForgeUrls,
): WireFileChange["commit"] {
  const { api, html } = toCodeAddresses(owned, urls);
  return {
    url: `${api}/git/commits/${commit.id}`,
    sha: commit.id,
    created: unfilledTime,
    html_url: `${html}/commit/${commit.id}`,
    author: toCommitUserView(commit.author),
    committer: toCommitUserView(commit.committer),
    parents: toParentsView(commit, api),
    message: commit.message,
    tree: { url: `${api}/git/trees/${commit.tree}`, sha: commit.tree, created: unfilledTime },
  };
}

function toType(type: "blob" | "tree" | "commit", mode: string): WireContents["type"] {
  if (type === "tree") return "dir";
  if (type === "commit") return "submodule";
  return mode === "120000" ? "symlink" : "file";
}
