import type { ReleaseAsset } from "../../../storage/tables/forge/releases/assets.ts";
import type { BodyOf } from "../../contract/endpoint.ts";
import type {
  releaseEndpoints,
  WireRelease,
  WireReleaseAsset,
} from "../../contract/forge/releases/releases.ts";
import { AppError } from "../../errors.ts";
import type { MultipartForm } from "../../http/handle.ts";
import { toEmbeddedUserView, toGhostView, toUserView } from "../accounts/user.view.ts";
import type { ForgeCaller } from "../caller.ts";
import { toCodeAddresses, toSegments } from "../code/code-addresses.ts";
import type { ReleaseDetails } from "../events.ts";
import { toAttachmentAnswer } from "../issues/attachment.view.ts";
import type { OpenedAttachment } from "../issues/attachments.service.ts";
import { type ForgeUrls, toUrl, toWireTime } from "../urls.ts";
import type { NewFile, OpenedReleaseAsset } from "./assets.service.ts";
import type { ReleaseEdit, ReleaseRequest } from "./releases.service.ts";

/**
 * Converts a release.
 * @param viewer undefined for an anonymous caller; "embedded" for a reader who is not known
 */
export function toReleaseView(
  { owned, release, author, assets }: ReleaseDetails,
  viewer: ForgeCaller["user"] | "embedded" | undefined,
  urls: ForgeUrls,
): WireRelease {
  const { api, html } = toCodeAddresses(owned, urls);
  const tag = toSegments(release.tagName);
  const url = `${api}/releases/${release.id}`;
  return {
    id: release.id,
    tag_name: release.tagName,
    target_commitish: release.target,
    name: release.title,
    body: release.body,
    url,
    html_url: `${html}/releases/tag/${tag}`,
    tarball_url: `${html}/archive/${tag}.tar.gz`,
    zipball_url: `${html}/archive/${tag}.zip`,
    upload_url: `${url}/assets`,
    draft: release.isDraft,
    prerelease: release.isPrerelease,
    created_at: toWireTime(release.createdAt),
    published_at: toWireTime(release.publishedAt),
    author: toAuthorView(author, viewer, urls),
    assets: assets.map((asset) => toAssetView(asset, urls)),
  };
}

function toAuthorView(
  author: ReleaseDetails["author"],
  viewer: ForgeCaller["user"] | "embedded" | undefined,
  urls: ForgeUrls,
) {
  if (author === undefined) return toGhostView(urls);
  return viewer === "embedded"
    ? toEmbeddedUserView(author, false, urls)
    : toUserView(author, viewer, urls);
}

export function toAssetView(asset: ReleaseAsset, urls: ForgeUrls): WireReleaseAsset {
  return {
    id: asset.id,
    name: asset.name,
    size: asset.size,
    download_count: asset.downloadCount,
    created_at: toWireTime(asset.createdAt),
    uuid: asset.uuid,
    browser_download_url: asset.link || toUrl(urls, `/attachments/${asset.uuid}`),
    digest: asset.sha256 === undefined ? null : `sha256:${asset.sha256}`,
  };
}

/** Returns the bytes of the file of a release or an issue; a redirect to a file that is kept elsewhere. */
export function toFileAnswer(opened: OpenedReleaseAsset | OpenedAttachment) {
  if (!("asset" in opened)) return toAttachmentAnswer(opened);
  const { link, sha256, ...rest } = opened.asset;
  if (link !== "" || sha256 === undefined)
    return { status: 302, headers: { Location: link } } as const;
  return toAttachmentAnswer({ attachment: { ...rest, sha256 }, open: opened.open });
}

/** Returns the file or the link of a request. Refuses with `invalid_argument` a file without a name. */
export function toNewFile(
  { file }: MultipartForm<unknown>,
  {
    name: requestedName,
    external_url: link,
  }: { readonly name: string; readonly external_url: string },
): NewFile {
  const name = requestedName || file?.filename || "";
  if (link !== "") {
    file?.stream.resume();
    return { name: name || link.replace(/[?#].*$/s, ""), link };
  }
  if (file === undefined || (file.field !== "" && file.field !== "attachment")) {
    file?.stream.resume();
    throw new AppError("unprocessable", "[Attachment]: Required");
  }
  if (name === "")
    throw new AppError("invalid_argument", "Could not determine name of attachment.");
  return { name, stream: file.stream, size: file.size };
}

type NewBody = BodyOf<typeof releaseEndpoints.createRelease>;
type EditBody = BodyOf<typeof releaseEndpoints.editRelease>;

export function toReleaseRequest(body: NewBody): ReleaseRequest {
  return {
    tagName: body.tag_name,
    tagMessage: body.tag_message ?? "",
    target: body.target_commitish ?? "",
    title: body.name ?? "",
    body: body.body ?? "",
    isDraft: body.draft ?? false,
    isPrerelease: body.prerelease ?? false,
  };
}

/** Empty texts count as absent, as in the reference. */
export function toReleaseEdit(body: EditBody): ReleaseEdit {
  return {
    tagName: body.tag_name || undefined,
    target: body.target_commitish || undefined,
    title: body.name || undefined,
    body: body.body || undefined,
    isDraft: body.draft ?? undefined,
    isPrerelease: body.prerelease ?? undefined,
  };
}
