import { z } from "zod";
import { anyone, basicSelfOrAdmin, empty, endpoint } from "../../endpoint.ts";
import {
  apiError,
  optionalWords,
  paging,
  requiredText,
  signedInReplies,
  usernameParams,
  wireId,
  wireTime,
} from "../common.ts";

/** An access token; `sha1` is the secret in the response to the creation, and empty afterwards. */
const tokenShape = z.object({
  id: wireId,
  name: z.string(),
  sha1: z.string(),
  token_last_eight: z.string(),
  scopes: z.array(z.string()),
  created_at: wireTime,
  last_used_at: wireTime,
});
export type WireToken = z.output<typeof tokenShape>;

const currentTokenShape = z.object({
  id: wireId,
  name: z.string(),
  scopes: z.array(z.string()),
  created_at: wireTime,
  last_used_at: wireTime,
  user: z.object({ id: wireId, login: z.string() }),
});
export type WireCurrentToken = z.output<typeof currentTokenShape>;

export const listTokens = endpoint({
  name: "forge.tokens.list",
  method: "GET",
  path: "/api/v1/users/:username/tokens",
  summary: "A user's access tokens, newest first",
  gate: basicSelfOrAdmin,
  params: usernameParams,
  query: z.object(paging),
  paging: "total",
  replies: { 200: z.array(tokenShape), ...signedInReplies, 404: apiError },
});

export const createToken = endpoint({
  name: "forge.tokens.create",
  method: "POST",
  path: "/api/v1/users/:username/tokens",
  summary: "Create an access token; only this response shows its secret",
  gate: basicSelfOrAdmin,
  params: usernameParams,
  body: z.object({ name: requiredText(), scopes: optionalWords }),
  replies: { 201: tokenShape, 400: apiError, ...signedInReplies, 404: apiError, 422: apiError },
});

export const deleteToken = endpoint({
  name: "forge.tokens.delete",
  method: "DELETE",
  path: "/api/v1/users/:username/tokens/:token",
  summary: "Delete an access token by id or name",
  gate: basicSelfOrAdmin,
  params: z.object({ username: z.string(), token: z.string() }),
  replies: { 204: empty, ...signedInReplies, 404: apiError },
});

/** Any scope will do; a password has no token: 404. */
export const getCurrentToken = endpoint({
  name: "forge.token.get",
  method: "GET",
  path: "/api/v1/token",
  summary: "The access token of this request",
  gate: anyone,
  replies: {
    200: currentTokenShape,
    ...signedInReplies,
    404: apiError,
  },
  apiOnly: '"croft whoami" says who is signed in',
});

export const deleteCurrentToken = endpoint({
  name: "forge.token.delete",
  method: "DELETE",
  path: "/api/v1/token",
  summary: "Delete the access token of this request",
  gate: anyone,
  replies: { 204: empty, ...signedInReplies, 404: apiError },
});

export const tokenEndpoints = {
  listTokens,
  createToken,
  deleteToken,
  getCurrentToken,
  deleteCurrentToken,
};
