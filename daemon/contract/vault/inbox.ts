import { z } from "zod";
import { resource } from "./resource.ts";
import { perAccount, vaultUser } from "../endpoint.ts";
import { text, time } from "./common.ts";

/** A file of an inbox folder that is no document yet. */
const inboxFile = z.object({
  name: z.string(),
  size_bytes: z.int().min(0),
  /** `waiting` to settle; `retrying` each minute, after a failure that passes; `refused` until it changes or is retried. */
  status: z.enum(["waiting", "retrying", "refused"]),
  /** Why it is not taken in; null when it waits. */
  reason: z.string().nullable(),
  modified_at: time,
});

/** The operations on the inbox folder of the caller. */
export const inboxEndpoints = resource(
  {
    name: "vault.inbox",
    path: "/api/inbox",
    shape: z.object({
      is_enabled: z.boolean(),
      /** Below the data directory of the server. */
      folder: z.string(),
      /** Why nothing is taken in; null while files are. */
      problem: z.string().nullable(),
      /** At most 1,000 that wait and 1,000 that were refused, by name. */
      files: z.array(inboxFile),
    }),
    gate: vaultUser,
    limit: perAccount(100, 60),
  },
  ({ get, operation }) => ({
    getInbox: get("The inbox folder of the caller: files that wait or were refused, with reasons"),
    retryInbox: operation({
      as: "retry",
      method: "POST",
      at: "retry",
      summary: "Try refused files again: one by its name, or all",
      body: z.object({ name: text(255).optional() }),
      replies: { 200: z.object({ retried: z.int().min(0) }) },
      refuses: [404, 409],
    }),
  }),
);
