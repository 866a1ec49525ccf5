import type { z } from "zod";
import type { connection } from "../../../../daemon/contract/vault/cloud/shapes.ts";
import { type Column, size, time } from "../../../output/cells.ts";

export type WireConnection = z.output<typeof connection>;

/** A connection in a table. */
export const connectionColumns: readonly Column<WireConnection>[] = [
  { header: "name", cell: ({ display_name: name }) => name },
  { header: "provider", cell: ({ provider }) => provider },
  { header: "status", cell: ({ status }) => status },
  { header: "used", cell: ({ quota }) => size(quota?.used_bytes) },
  { header: "total", cell: ({ quota }) => size(quota?.total_bytes) },
  { header: "checked", cell: ({ last_checked_at: checkedAt }) => time(checkedAt) },
  { header: "created", cell: ({ created_at: createdAt }) => time(createdAt) },
  { header: "id", cell: ({ id }) => id },
];
