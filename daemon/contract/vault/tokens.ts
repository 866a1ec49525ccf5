import { z } from "zod";
import { endpoint, vaultAccountInSession } from "../endpoint.ts";
import { detail, line, message, oneOf, pageOf, paging, time, uuid } from "./common.ts";

const refusals = { 401: detail, 403: detail, 422: detail } as const;

/** A token for scripts, without its secret. */
export const machineToken = z.object({
  id: uuid,
  name: z.string(),
  scope: z.enum(["read", "write"]),
  created_at: time,
  expires_at: time.nullable(),
  last_used_at: time.nullable(),
});

export const createToken = endpoint({
  name: "vault.auth.token.create",
  method: "POST",
  path: "/api/auth/tokens",
  summary: "Create a token for scripts; the answer shows its secret once",
  gate: vaultAccountInSession,
  body: z.object({
    name: line(100).refine((name) => name.trim() !== "", "A token needs a name"),
    scope: oneOf(["read", "write"]),
    expires_at: z.iso
      .datetime({ offset: true, error: "Give a time such as 2027-01-31T00:00:00Z" })
      .transform((text) => Date.parse(text))
      .nullish(),
  }),
  replies: { 201: machineToken.extend({ token: z.string() }), 409: detail, ...refusals },
});

export const listTokens = endpoint({
  name: "vault.auth.token.list",
  method: "GET",
  path: "/api/auth/tokens",
  summary: "The caller's tokens for scripts, newest first, without their secrets",
  gate: vaultAccountInSession,
  query: z.object(paging),
  replies: { 200: pageOf(machineToken), ...refusals },
});

export const deleteToken = endpoint({
  name: "vault.auth.token.delete",
  method: "DELETE",
  path: "/api/auth/tokens/:id",
  summary: "Revoke one of the caller's tokens for scripts",
  gate: vaultAccountInSession,
  params: z.object({ id: uuid }),
  replies: { 200: message, 404: detail, ...refusals },
});

/** Tokens for scripts. */
export const tokenEndpoints = { createToken, listTokens, deleteToken };
