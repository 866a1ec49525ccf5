import type { z } from "zod";
import type { AuditRecord } from "../../../storage/tables/vault/audit.ts";
import type { VaultUser } from "../../../storage/tables/vault/users.ts";
import type { auditEntry, managedUser } from "../../contract/vault/admin.ts";
import { toTime, toUser } from "../accounts/accounts.view.ts";
import type { PageRequest } from "./users.service.ts";

/** A user as administrators see it. */
export function toManagedUser(user: VaultUser): z.output<typeof managedUser> {
  return {
    ...toUser(user),
    is_active: user.isActive,
    password_must_change: user.passwordMustChange,
  };
}

/** An audit record as the list shows it. */
export function toAuditEntry(record: AuditRecord): z.output<typeof auditEntry> {
  return {
    id: record.id,
    event_type: record.eventType,
    user_id: record.userId ?? null,
    user_handle: record.userHandle ?? null,
    user_email: record.userEmail ?? null,
    actor_id: record.actorId ?? null,
    actor_handle: record.actorHandle ?? null,
    resource_id: record.resourceId ?? null,
    ip_address: record.ipAddress ?? null,
    metadata: record.metadata,
    created_at: toTime(record.createdAt),
  };
}

/** One page of a list, in the vault's form. */
export function toPage<Item>(items: Item[], total: number, { page, perPage }: PageRequest) {
  return { items, total, page, per_page: perPage };
}
