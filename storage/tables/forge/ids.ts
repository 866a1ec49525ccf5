import type { z } from "zod";

// Ids of rows. A brand keeps an id of one table from being taken for another's; endpoints brand the ids in their paths.

/** A user or an organization: one table holds both. */
export type UserId = number & z.$brand<"UserId">;
export type HookId = number & z.$brand<"HookId">;
export type DeliveryId = number & z.$brand<"DeliveryId">;
