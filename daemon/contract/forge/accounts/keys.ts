import { z } from "zod";
import { empty, endpoint, siteAdmin } from "../../endpoint.ts";
import {
  apiError,
  optionalFlag,
  pathInteger,
  requiredText,
  signedInReplies,
  usernameParams,
  wireId,
  wireTime,
} from "../common.ts";
import { userShape } from "./users.ts";

/** A public key (forge behaviour, 7.6). */
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

export const adminKeyEndpoints = [addUserKey, deleteUserKey];
