import type { VaultInvitation } from "../../../storage/tables/vault/documents/invitations.ts";
import type { VaultShare } from "../../../storage/tables/vault/documents/shares.ts";
import type { VaultTopic } from "../../../storage/tables/vault/documents/topics.ts";
import { toTime } from "../accounts/accounts.view.ts";
import { type PageRequest, toPage } from "../page.ts";

/** A share as owner and recipient see it. */
export function toShareView(share: VaultShare) {
  return {
    id: share.id,
    document_id: share.documentId,
    filename: share.filename,
    owner_handle: share.ownerHandle,
    recipient_handle: share.recipientHandle,
    permission: share.permission,
    created_at: toTime(share.createdAt),
    updated_at: toTime(share.updatedAt),
  };
}

/** One page of shares. */
export function toSharePage(
  { shares, total }: { readonly shares: readonly VaultShare[]; readonly total: number },
  page: PageRequest,
) {
  return toPage(shares.map(toShareView), total, page);
}

/** An invitation as its sender sees it. */
export function toInvitationView(invitation: VaultInvitation) {
  return {
    id: invitation.id,
    document_id: invitation.documentId,
    filename: invitation.filename,
    recipient_email: invitation.email,
    permission: invitation.permission,
    created_at: toTime(invitation.createdAt),
    expires_at: toTime(invitation.expiresAt),
  };
}

/** One page of invitations. */
export function toInvitationPage(
  found: { readonly invitations: readonly VaultInvitation[]; readonly total: number },
  page: PageRequest,
) {
  return toPage(found.invitations.map(toInvitationView), found.total, page);
}

/** A topic as recipients of a share see it. */
export function toTopicView(topic: VaultTopic) {
  return {
    id: topic.id,
    name: topic.name,
    description: topic.description,
    is_system: topic.userId === undefined,
    created_at: toTime(topic.createdAt),
    updated_at: toTime(topic.updatedAt),
  };
}
