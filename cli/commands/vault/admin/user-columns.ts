import type { z } from "zod";
import type { managedUser } from "../../../../daemon/contract/vault/admin.ts";
import { type Column, time } from "../../../output/cells.ts";

/** A vault user as administrators see it. */
export type ManagedUser = z.output<typeof managedUser>;

export const managedUserColumns: readonly Column<ManagedUser>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "handle", cell: ({ handle }) => handle },
  { header: "email", cell: ({ email }) => email },
  { header: "role", cell: ({ role }) => role },
  { header: "active", cell: ({ is_active: isActive }) => isActive },
  { header: "must change", cell: ({ password_must_change: mustChange }) => mustChange },
  { header: "second factor", cell: ({ totp_enabled: totpEnabled }) => totpEnabled },
  { header: "created", cell: ({ created_at: createdAt }) => time(createdAt) },
];
