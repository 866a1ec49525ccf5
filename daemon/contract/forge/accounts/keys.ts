import { z } from "zod";
import { resource } from "../resource.ts";
import { empty, forgeUser, siteAdmin } from "../../endpoint.ts";
import {
  optionalFlag,
  paging,
  pathInteger,
  queryText,
  requiredText,
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

export const adminKeyEndpoints = resource(
  {
    name: "forge.admin.users.keys",
    path: "/api/v1/admin/users/:username/keys",
    params: usernameParams,
    shape: publicKeyShape,
    gate: siteAdmin,
  },
  ({ create, operation }) => ({
    addUserKey: create(
      "Add a public key to a user",
      z.object({ title: requiredText(), key: requiredText(), read_only: optionalFlag }),
      { as: "add" },
    ),
    deleteUserKey: operation({
      as: "delete",
      method: "DELETE",
      at: ":id",
      summary: "Delete a user's public key",
      params: z.object({ username: z.string(), id: pathInteger }),
      replies: { 204: empty },
    }),
  }),
);

const noSignatures = "signatures of commits are not verified";

export const ownKeyEndpoints = {
  ...resource(
    {
      name: "forge.user.keys",
      path: "/api/v1/user/keys",
      id: { id: pathInteger },
      shape: publicKeyShape,
      gate: forgeUser("user"),
    },
    ({ list, create, get, remove }) => ({
      listOwnKeys: list("Your public keys, the oldest first", {
        filters: { fingerprint: queryText },
      }),
      getOwnKey: get("One of your public keys", {
        apiOnly: '"croft ssh-key list" shows everything about them',
      }),
      addOwnKey: create(
        "Add a public key to your account",
        z.object({ title: requiredText(), key: requiredText(), read_only: optionalFlag }),
        { as: "add" },
      ),
      deleteOwnKey: remove("Delete one of your public keys"),
    }),
  ),
  ...resource(
    {
      name: "forge.users.keys",
      path: "/api/v1/users/:username/keys",
      params: usernameParams,
      shape: foreignKeyShape,
      gate: forgeUser("user"),
    },
    ({ list }) => ({
      /** Members about the owner are there for the user and for administrators only. */
      listUserKeys: list("The public keys of a user, the oldest first", {
        filters: { fingerprint: queryText },
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.user.gpg_keys",
      path: "/api/v1/user/gpg_keys",
      gate: forgeUser("user"),
    },
    ({ operation }) => ({
      listOwnGpgKeys: operation({
        as: "list",
        method: "GET",
        summary: "Your OpenPGP keys; always empty",
        query: z.object(paging),
        paging: "link_and_total",
        replies: { 200: z.array(z.never()) },
        apiOnly: noSignatures,
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.users.gpg_keys",
      path: "/api/v1/users/:username/gpg_keys",
      params: usernameParams,
      gate: forgeUser("user"),
    },
    ({ operation }) => ({
      listUserGpgKeys: operation({
        as: "list",
        method: "GET",
        summary: "The OpenPGP keys of a user; always empty",
        query: z.object(paging),
        paging: "link_and_total",
        replies: { 200: z.array(z.never()) },
        apiOnly: noSignatures,
      }),
    }),
  ),
};
