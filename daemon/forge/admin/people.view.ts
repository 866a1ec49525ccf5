import type { ForgeBadge } from "../../../storage/tables/forge/accounts/badges.ts";
import type { OwnedEmail } from "../../../storage/tables/forge/accounts/emails.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { WireBadge } from "../../contract/forge/accounts/badges.ts";
import type { WireEmail } from "../../contract/forge/accounts/admin-emails.ts";
import type { WirePublicKey } from "../../contract/forge/accounts/keys.ts";
import type { OwnedKey } from "../accounts/keys.service.ts";
import { toUserView } from "../accounts/user.view.ts";
import { type ForgeUrls, toApiUrl, toWireTime } from "../urls.ts";

/** An address with its owner (forge behaviour, 7.3). */
export function toEmailView(email: OwnedEmail): WireEmail {
  return {
    email: email.email,
    verified: email.isVerified,
    primary: email.isPrimary,
    user_id: email.userId,
    username: email.userName,
  };
}

/** A badge (forge behaviour, 7.7). */
export function toBadgeView(badge: ForgeBadge): WireBadge {
  return {
    id: badge.id,
    slug: badge.slug,
    description: badge.description,
    image_url: badge.imageUrl,
  };
}

/** A public key with its owner (forge behaviour, 7.6). */
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
