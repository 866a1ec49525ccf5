import type { ForgeBadge } from "../../../storage/tables/forge/accounts/badges.ts";
import type { ForgeEmail, OwnedEmail } from "../../../storage/tables/forge/accounts/emails.ts";
import type { ForgeToken } from "../../../storage/tables/forge/accounts/tokens.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { WireEmail } from "../../contract/forge/accounts/admin-emails.ts";
import type { WireBadge } from "../../contract/forge/accounts/badges.ts";
import type { WireForeignKey, WirePublicKey } from "../../contract/forge/accounts/keys.ts";
import type { WireCurrentToken, WireToken } from "../../contract/forge/accounts/tokens.ts";
import { type ForgeUrls, toApiUrl, toWireTime, unfilledTime } from "../urls.ts";
import type { OwnedKey } from "./keys.service.ts";
import type { MadeToken } from "./tokens.service.ts";
import { toUserView } from "./user.view.ts";

/** An address with its owner. */
export function toEmailView(email: OwnedEmail): WireEmail {
  return {
    email: email.email,
    verified: email.isVerified,
    primary: email.isPrimary,
    user_id: email.userId,
    username: email.userName,
  };
}

/** A badge. */
export function toBadgeView(badge: ForgeBadge): WireBadge {
  return {
    id: badge.id,
    slug: badge.slug,
    description: badge.description,
    image_url: badge.imageUrl,
  };
}

/** A public key with its owner. */
export function toPublicKeyView(
  { key, owner }: OwnedKey,
  viewer: ForgeUser,
  urls: ForgeUrls,
): WirePublicKey {
  return {
    id: key.id,
    key: key.content,
    url: toApiUrl(urls, `/user/keys/${key.id}`),
    title: key.title,
    fingerprint: key.fingerprint,
    created_at: toWireTime(key.createdAt),
    last_used_at: toWireTime(key.lastUsedAt),
    user: toUserView(owner, viewer, urls),
    read_only: false,
    key_type: "user",
  };
}

/** A public key in the list of its owner. It names the owner only to the owner and to administrators. */
export function toForeignKeyView(
  key: OwnedKey,
  viewer: ForgeUser,
  urls: ForgeUrls,
): WireForeignKey {
  const { user, read_only, key_type, ...shown } = toPublicKeyView(key, viewer, urls);
  const mayKnow = viewer.isAdmin || viewer.id === key.owner.id;
  return mayKnow ? { ...shown, user, read_only, key_type } : shown;
}

/** A person's own address. */
export function toOwnEmailView(email: ForgeEmail, owner: Pick<ForgeUser, "name">): WireEmail {
  return {
    email: email.email,
    verified: email.isVerified,
    primary: email.isPrimary,
    user_id: email.userId,
    username: owner.name,
  };
}

/** A token as lists show it: without its secret. */
export function toTokenView(token: ForgeToken): WireToken {
  return {
    id: token.id,
    name: token.name,
    sha1: "",
    token_last_eight: token.lastEight,
    scopes: token.scope.split(","),
    created_at: toWireTime(token.createdAt),
    last_used_at: toWireTime(token.lastUsedAt),
  };
}

/** The token of a request, with its owner. */
export function toCurrentTokenView(
  token: ForgeToken,
  owner: Pick<ForgeUser, "name"> | undefined,
): WireCurrentToken {
  const { id, name, scopes, created_at, last_used_at } = toTokenView(token);
  const user = { id: token.userId, login: owner?.name ?? "" };
  return { id, name, scopes, created_at, last_used_at, user };
}

/** A new token in the response to its creation: with its secret, without times. */
export function toMadeTokenView({ token, secret }: MadeToken): WireToken {
  return {
    ...toTokenView(token),
    sha1: secret,
    created_at: unfilledTime,
    last_used_at: unfilledTime,
  };
}
