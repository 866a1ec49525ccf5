import type { z } from "zod";
import type { user } from "../../../daemon/contract/vault/auth.ts";
import { type Column, time } from "../../output/cells.ts";

/** A vault account, line by line. */
export const accountColumns: readonly Column<z.output<typeof user>>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "handle", cell: ({ handle }) => handle },
  { header: "email", cell: ({ email }) => email },
  { header: "role", cell: ({ role }) => role },
  { header: "second factor", cell: ({ totp_enabled: totpEnabled }) => totpEnabled },
  { header: "created", cell: ({ created_at: createdAt }) => time(createdAt) },
];
