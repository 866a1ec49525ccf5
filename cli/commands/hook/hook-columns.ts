import type {
  WireDelivery,
  WireDeliveryDetails,
  WireHook,
} from "../../../daemon/contract/forge/hooks/admin-hooks.ts";
import { type Column, time } from "../../output/cells.ts";

/** A hook in a table. */
export const hookColumns: readonly Column<WireHook>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "type", cell: ({ type }) => type },
  { header: "active", cell: ({ active }) => active },
  { header: "url", cell: ({ config }) => config["url"] },
  { header: "events", cell: ({ events }) => events },
  { header: "branches", cell: ({ branch_filter: filter }) => filter },
  { header: "name", cell: ({ name }) => name },
  { header: "updated", cell: ({ updated_at: updatedAt }) => time(updatedAt) },
];

/** A delivery in a table. */
export const deliveryColumns: readonly Column<WireDelivery>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "event", cell: ({ event }) => event },
  { header: "state", cell: ({ state }) => state },
  { header: "attempts", cell: ({ attempts }) => attempts },
  { header: "status", cell: ({ response_status: status }) => status },
  { header: "created", cell: ({ created_at: createdAt }) => time(createdAt) },
  { header: "next", cell: ({ next_attempt_at: nextAt }) => time(nextAt) },
  { header: "error", cell: ({ error }) => error },
];

/** One delivery, with both bodies. */
export const deliveryDetailsColumns: readonly Column<WireDeliveryDetails>[] = [
  ...deliveryColumns,
  { header: "uuid", cell: ({ uuid }) => uuid },
  { header: "sent", cell: ({ request }) => request.body },
  { header: "answer", cell: ({ response }) => response?.body },
];
