import type { CommitObject } from "../../../storage/git/commit-objects.ts";
import type {
  WikiPageBody,
  WireWikiCommit,
  WireWikiPage,
  WireWikiPageMeta,
} from "../../contract/forge/repositories/wiki.ts";
import { AppError } from "../../errors.ts";
import { toCommitUserView } from "../code/commit.view.ts";
import { decodeBase64 } from "../code/file-operations.ts";
import type { OwnedRepository } from "../events.ts";
import { type ForgeUrls, toUrl } from "../urls.ts";
import type { WikiPage, WikiPageSummary } from "./wiki.service.ts";

export function toWikiPageView(
  page: WikiPage,
  owned: OwnedRepository,
  urls: ForgeUrls,
): WireWikiPage {
  return {
    ...toWikiPageMetaView(page, owned, urls),
    content_base64: toBase64(page.content),
    commit_count: page.revisions,
    sidebar: toBase64(page.sidebar),
    footer: toBase64(page.footer),
  };
}

const toBase64 = (content: Buffer | undefined) => content?.toString("base64") ?? "";

export function toWikiPageMetaView(
  { name, title, last }: WikiPageSummary,
  { repository, owner }: OwnedRepository,
  urls: ForgeUrls,
): WireWikiPageMeta {
  return {
    title,
    html_url: toUrl(urls, `/${owner.name}/${repository.name}/wiki/${name}`),
    sub_url: name,
    last_commit: toWikiCommitView(last),
  };
}

export function toWikiCommitView({ id, author, committer, message }: CommitObject): WireWikiCommit {
  return {
    sha: id,
    author: toCommitUserView(author),
    commiter: toCommitUserView(committer),
    message,
  };
}

/** Refuses a content that is not base64 with `invalid_argument`. */
export function toPageEdit({ title, content_base64: encoded, message }: WikiPageBody) {
  const content = encoded == null ? undefined : decodeBase64(encoded);
  if (content === undefined && encoded != null)
    throw new AppError("invalid_argument", "illegal base64 data in content_base64");
  return { title: title ?? undefined, content, message: message ?? "" };
}
