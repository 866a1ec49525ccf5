import { toVersionKey } from "../../../storage/tables/forge/packages/packages.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { WirePackage, WirePackageFile } from "../../contract/forge/packages/admin-packages.ts";
import { toGhostView, toUserView } from "../accounts/user.view.ts";
import { type RepositoryDetails, toRepositoryView } from "../repositories/repository.view.ts";
import { type ForgeUrls, toUrl, toWireTime } from "../urls.ts";
import type { OwnedVersion } from "../events.ts";

/** A version with its publisher and its linked repository. */
export interface PackageVersionDetails extends OwnedVersion {
  /** Undefined once the account is deleted. */
  readonly creator: ForgeUser | undefined;
  /** The repository that the package is linked to, if the viewer may read it. */
  readonly linked: RepositoryDetails | undefined;
}

/** Converts a version of a package. Users have the members that the viewer may see. */
export function toPackageView(
  { package: { type, name }, version, owner, creator, linked }: PackageVersionDetails,
  viewer: ForgeUser | undefined,
  urls: ForgeUrls,
): WirePackage {
  const key = toVersionKey(type, version.version);
  const path = [type, name.toLowerCase(), key].map(encodeURIComponent);
  return {
    id: version.id,
    owner: toUserView(owner, viewer, urls),
    repository: linked === undefined ? null : toRepositoryView(linked, urls),
    creator: creator === undefined ? toGhostView(urls) : toUserView(creator, viewer, urls),
    type,
    name,
    version: version.version,
    html_url: toUrl(urls, `/${owner.name}/-/packages/${path.join("/")}`),
    created_at: toWireTime(version.createdAt),
  };
}

/** Converts a file of a version. */
export function toPackageFileView(file: WirePackageFile): WirePackageFile {
  const { id, size, name, md5, sha1, sha256, sha512 } = file;
  return { id, size, name, md5, sha1, sha256, sha512 };
}
