import { z } from "zod";
import { perAccount, vaultUser } from "../endpoint.ts";
import { handleName, oneOf, time, uuid } from "./common.ts";
import { resource } from "./resource.ts";

/** `view` shows the document in place; `download` gives out the file as well. */
const permission = oneOf(["view", "download"]);

/** A document shared with another user. */
export const share = z.object({
  id: uuid,
  document_id: uuid,
  filename: z.string(),
  owner_handle: z.string(),
  recipient_handle: z.string(),
  permission: z.enum(["view", "download"]),
  created_at: time,
  updated_at: time,
});

const newShare = z.object({
  document_id: uuid.brand<"DocumentId">(),
  recipient_handle: handleName,
  permission: permission.default("view"),
});

/** Operations on shares. */
export const shareEndpoints = resource(
  {
    name: "vault.shares",
    path: "/api/shares",
    id: { share_id: uuid },
    shape: share,
    gate: vaultUser,
    limit: perAccount(100, 60),
  },
  ({ list, create, edit, remove }) => ({
    createShare: create("Share a document with a user", newShare, { refuses: [404, 409] }),
    listShares: list("List the shares that the caller gave"),
    listReceivedShares: list("List the shares that the caller received", {
      as: "list_received",
      at: "received",
    }),
    updateShare: edit("Change the permission of a share; owner only", z.object({ permission }), {
      as: "update",
    }),
    revokeShare: remove("Revoke a share; it takes effect at once", { as: "revoke" }),
  }),
);
