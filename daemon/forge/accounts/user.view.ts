import { createHash } from "node:crypto";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { WireUser } from "../../contract/forge/accounts/users.ts";
import { type ForgeUrls, neverTime, toDomain, toUrl, toWireTime, unfilledTime } from "../urls.ts";

/**
 * Returns a user as a viewer may see it. Private members are filled for site administrators and for
 * the user itself.
 * @param viewer undefined for an anonymous caller
 */
export function toUserView(
  user: ForgeUser,
  viewer: Pick<ForgeUser, "id" | "isAdmin"> | undefined,
  urls: ForgeUrls,
): WireUser {
  const seesAll = viewer !== undefined && (viewer.isAdmin || viewer.id === user.id);
  return toView(
    user,
    { seesAll, seesEmail: seesAll || (viewer !== undefined && !user.keepEmailPrivate) },
    urls,
  );
}

/** A user embedded in another resource, as a signed-in or anonymous caller sees it; never with private members. */
export function toEmbeddedUserView(
  user: ForgeUser,
  isSignedIn: boolean,
  urls: ForgeUrls,
): WireUser {
  return toView(user, { seesAll: false, seesEmail: isSignedIn && !user.keepEmailPrivate }, urls);
}

/** Returns the placeholder for a deleted account. The name is reserved. */
export function toGhostView(urls: ForgeUrls): WireUser {
  const email = `ghost@noreply.${toDomain(urls)}`;
  return {
    id: -1,
    login: "Ghost",
    login_name: "",
    source_id: 0,
    full_name: "",
    email,
    avatar_url: toUrl(urls, `/avatars/${toAvatarHash(email)}`),
    html_url: toUrl(urls, "/Ghost"),
    language: "",
    is_admin: false,
    last_login: unfilledTime,
    created: neverTime,
    restricted: false,
    active: false,
    prohibit_login: false,
    location: "",
    website: "",
    description: "",
    visibility: "public",
    followers_count: 0,
    following_count: 0,
    starred_repos_count: 0,
    username: "Ghost",
  };
}

/** Returns the hash that names the default picture of an address. */
export function toAvatarHash(email: string): string {
  return createHash("md5").update(email.trim().toLowerCase()).digest("hex");
}

function toView(
  user: ForgeUser,
  { seesAll, seesEmail }: { readonly seesAll: boolean; readonly seesEmail: boolean },
  urls: ForgeUrls,
): WireUser {
  return {
    id: user.id,
    login: user.name,
    login_name: seesAll ? user.loginName : "",
    source_id: seesAll ? user.loginSource : 0,
    full_name: user.fullName,
    email: toShownEmail(user, seesEmail, urls),
    avatar_url: toUrl(urls, `/avatars/${user.avatarHash}`),
    html_url: toUrl(urls, `/${user.name}`),
    language: seesAll ? user.language : "",
    is_admin: seesAll && user.isAdmin,
    last_login: seesAll ? toLastLogin(user) : unfilledTime,
    created: toWireTime(user.createdAt),
    restricted: user.isRestricted,
    active: seesAll && user.isActive,
    prohibit_login: seesAll && user.prohibitLogin,
    location: user.location,
    website: user.website,
    description: user.description,
    visibility: user.visibility,
    followers_count: user.followerCount,
    following_count: user.followingCount,
    starred_repos_count: user.starCount,
    username: user.name,
  };
}

/** Returns the address, or a placeholder for a hidden one; an empty text for an organization without an address. */
function toShownEmail(user: ForgeUser, seesEmail: boolean, urls: ForgeUrls): string {
  if (seesEmail || user.kind === "organization") return user.email;
  return `${user.id}+${user.lowerName}@noreply.${toDomain(urls)}`;
}

function toLastLogin(user: ForgeUser): string {
  return user.lastLoginAt === undefined ? neverTime : toWireTime(user.lastLoginAt);
}
