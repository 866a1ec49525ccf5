import { z } from "zod";
import { empty, endpoint, perAccount, vaultUser, type AnyEndpoint } from "../endpoint.ts";
import { detail, handleName, oneOf, pageOf, paging, time, uuid } from "./common.ts";

const perMinute = perAccount(100, 60);
const shareParams = z.object({ share_id: uuid });
const refusals = { 401: detail, 403: detail, 422: detail, 429: detail } as const;

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

export const createShare = endpoint({
  name: "vault.shares.create",
  method: "POST",
  path: "/api/shares",
  summary: "Share a document with a user",
  gate: vaultUser,
  limit: perMinute,
  body: z.object({
    document_id: uuid.brand<"DocumentId">(),
    recipient_handle: handleName,
    permission: permission.default("view"),
  }),
  replies: { 201: share, 404: detail, 409: detail, ...refusals },
});

export const listShares = endpoint({
  name: "vault.shares.list",
  method: "GET",
  path: "/api/shares",
  summary: "List the shares that the caller gave",
  gate: vaultUser,
  limit: perMinute,
  query: z.object(paging),
  replies: { 200: pageOf(share), ...refusals },
});

export const listReceivedShares = endpoint({
  name: "vault.shares.list_received",
  method: "GET",
  path: "/api/shares/received",
  summary: "List the shares that the caller received",
  gate: vaultUser,
  limit: perMinute,
  query: z.object(paging),
  replies: { 200: pageOf(share), ...refusals },
});

export const updateShare = endpoint({
  name: "vault.shares.update",
  method: "PATCH",
  path: "/api/shares/:share_id",
  summary: "Change the permission of a share; owner only",
  gate: vaultUser,
  limit: perMinute,
  params: shareParams,
  body: z.object({ permission }),
  replies: { 200: share, 404: detail, ...refusals },
});

export const revokeShare = endpoint({
  name: "vault.shares.revoke",
  method: "DELETE",
  path: "/api/shares/:share_id",
  summary: "Revoke a share; it takes effect at once",
  gate: vaultUser,
  limit: perMinute,
  params: shareParams,
  replies: { 204: empty, 404: detail, ...refusals },
});

/** Operations on shares. */
export const shareEndpoints: readonly AnyEndpoint[] = [
  createShare,
  listShares,
  listReceivedShares,
  updateShare,
  revokeShare,
];
