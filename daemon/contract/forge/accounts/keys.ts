import { z } from "zod";
import { empty, endpoint, forgeUser, siteAdmin } from "../../endpoint.ts";
import {
  apiError,
  optionalFlag,
  paging,
  pathInteger,
  queryText,
  requiredText,
  signedInReplies,
  usernameParams,
  wireId,
  wireTime,
} from "../common.ts";
import { userShape } from "./users.ts";

/** A public key. */
const publicKeyShape = z.object({
  id: wireId,
  key: z.string(),
  url: z.string(),
  title: z.string(),
  fingerprint: z.string(),
  created_at: wireTime,
  last_used_at: wireTime,
  user: userShape,
  read_only: z.boolean(),
  key_type: z.literal("user"),
});
const foreignKeyShape = publicKeyShape.partial({ user: true, read_only: true, key_type: true });
export type WireForeignKey = z.output<typeof foreignKeyShape>;
export type WirePublicKey = z.output<typeof publicKeyShape>;

export const addUserKey = endpoint({
  name: "forge.admin.users.keys.add",
  method: "POST",
  path: "/api/v1/admin/users/:username/keys",
  summary: "Add a public key to a user",
  gate: siteAdmin,
  params: usernameParams,
  body: z.object({ title: requiredText(), key: requiredText(), read_only: optionalFlag }),
  replies: { 201: publicKeyShape, ...signedInReplies, 404: apiError, 422: apiError },
});

export const deleteUserKey = endpoint({
  name: "forge.admin.users.keys.delete",
  method: "DELETE",
  path: "/api/v1/admin/users/:username/keys/:id",
  summary: "Delete a user's public key",
  gate: siteAdmin,
  params: z.object({ username: z.string(), id: pathInteger }),
  replies: { 204: empty, ...signedInReplies, 404: apiError },
});

export const adminKeyEndpoints = { addUserKey, deleteUserKey };

const keyParams = z.object({ id: pathInteger });

export const listOwnKeys = endpoint({
  name: "forge.user.keys.list",
  method: "GET",
  path: "/api/v1/user/keys",
  summary: "Your public keys, the oldest first",
  gate: forgeUser("user"),
  query: z.object({ fingerprint: queryText, ...paging }),
  paging: "link_and_total",
  replies: { 200: z.array(publicKeyShape), ...signedInReplies },
});

export const getOwnKey = endpoint({
  name: "forge.user.keys.get",
  method: "GET",
  path: "/api/v1/user/keys/:id",
  summary: "One of your public keys",
  gate: forgeUser("user"),
  params: keyParams,
  replies: { 200: publicKeyShape, ...signedInReplies, 404: apiError },
  apiOnly: '"croft ssh-key list" shows everything about them',
});

export const addOwnKey = endpoint({
  name: "forge.user.keys.add",
  method: "POST",
  path: "/api/v1/user/keys",
  summary: "Add a public key to your account",
  gate: forgeUser("user"),
  body: z.object({ title: requiredText(), key: requiredText(), read_only: optionalFlag }),
  replies: { 201: publicKeyShape, ...signedInReplies, 422: apiError },
});

export const deleteOwnKey = endpoint({
  name: "forge.user.keys.delete",
  method: "DELETE",
  path: "/api/v1/user/keys/:id",
  summary: "Delete one of your public keys",
  gate: forgeUser("user"),
  params: keyParams,
  replies: { 204: empty, ...signedInReplies, 404: apiError },
});

/** Members about the owner are there for the user and for administrators only. */
export const listUserKeys = endpoint({
  name: "forge.users.keys.list",
  method: "GET",
  path: "/api/v1/users/:username/keys",
  summary: "The public keys of a user, the oldest first",
  gate: forgeUser("user"),
  params: usernameParams,
  query: z.object({ fingerprint: queryText, ...paging }),
  paging: "link_and_total",
  replies: { 200: z.array(foreignKeyShape), ...signedInReplies, 404: apiError },
});

const noSignatures = "signatures of commits are not verified";

export const listOwnGpgKeys = endpoint({
  name: "forge.user.gpg_keys.list",
  method: "GET",
  path: "/api/v1/user/gpg_keys",
  summary: "Your OpenPGP keys; always empty",
  gate: forgeUser("user"),
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(z.never()), ...signedInReplies },
  apiOnly: noSignatures,
});

export const listUserGpgKeys = endpoint({
  name: "forge.users.gpg_keys.list",
  method: "GET",
  path: "/api/v1/users/:username/gpg_keys",
  summary: "The OpenPGP keys of a user; always empty",
  gate: forgeUser("user"),
  params: usernameParams,
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(z.never()), ...signedInReplies, 404: apiError },
  apiOnly: noSignatures,
});

export const ownKeyEndpoints = {
  listOwnKeys,
  getOwnKey,
  addOwnKey,
  deleteOwnKey,
  listUserKeys,
  listOwnGpgKeys,
  listUserGpgKeys,
};
