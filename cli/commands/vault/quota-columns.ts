import type { z } from "zod";
import type { quota } from "../../../daemon/contract/vault/auth.ts";
import { type Column, size } from "../../output/cells.ts";

/** A storage quota, line by line. */
export const quotaColumns: readonly Column<z.output<typeof quota>>[] = [
  { header: "used", cell: (one) => size(one.used_bytes) },
  { header: "limit", cell: (one) => size(one.limit_bytes) },
  { header: "free", cell: (one) => size(Math.max(0, one.limit_bytes - one.used_bytes)) },
];
