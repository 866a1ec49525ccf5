import { z } from "zod";
import { resource } from "./resource.ts";
import { vaultAccountInSession } from "../endpoint.ts";
import { line, message, oneOf, pageOf, paging, time, uuid } from "./common.ts";

/** A token for scripts, without its secret. */
export const machineToken = z.object({
  id: uuid,
  name: z.string(),
  scope: z.enum(["read", "write"]),
  created_at: time,
  expires_at: time.nullable(),
  last_used_at: time.nullable(),
});

/** Tokens for scripts. */
export const tokenEndpoints = resource(
  {
    name: "vault.auth.token",
    path: "/api/auth/tokens",
    id: { id: uuid },
    shape: machineToken.extend({ token: z.string() }),
    gate: vaultAccountInSession,
  },
  ({ create, operation }) => ({
    createToken: create(
      "Create a token for scripts; the answer shows its secret once",
      z.object({
        name: line(100).refine((name) => name.trim() !== "", "A token needs a name"),
        scope: oneOf(["read", "write"]),
        expires_at: z.iso
          .datetime({ offset: true, error: "Give a time such as 2027-01-31T00:00:00Z" })
          .transform((text) => Date.parse(text))
          .nullish(),
      }),
      { refuses: [409] },
    ),
    listTokens: operation({
      as: "list",
      method: "GET",
      summary: "The caller's tokens for scripts, newest first, without their secrets",
      query: z.object(paging),
      replies: { 200: pageOf(machineToken) },
    }),
    deleteToken: operation({
      as: "delete",
      method: "DELETE",
      item: true,
      summary: "Revoke one of the caller's tokens for scripts",
      replies: { 200: message },
    }),
  }),
);
