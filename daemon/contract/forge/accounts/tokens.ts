import { z } from "zod";
import { resource } from "../resource.ts";
import { anyone, basicSelfOrAdmin, empty } from "../../endpoint.ts";
import {
  optionalWords,
  paging,
  requiredText,
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

export const tokenEndpoints = {
  ...resource(
    {
      name: "forge.tokens",
      path: "/api/v1/users/:username/tokens",
      params: usernameParams,
      shape: tokenShape,
      gate: basicSelfOrAdmin,
    },
    ({ create, operation }) => ({
      listTokens: operation({
        as: "list",
        method: "GET",
        summary: "A user's access tokens, newest first",
        query: z.object(paging),
        paging: "total",
        replies: { 200: z.array(tokenShape) },
      }),
      createToken: create(
        "Create an access token; only this response shows its secret",
        z.object({ name: requiredText(), scopes: optionalWords }),
        { refuses: [400] },
      ),
      deleteToken: operation({
        as: "delete",
        method: "DELETE",
        at: ":token",
        summary: "Delete an access token by id or name",
        params: z.object({ username: z.string(), token: z.string() }),
        replies: { 204: empty },
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.token",
      path: "/api/v1/token",
      shape: currentTokenShape,
      gate: anyone,
      refuses: [403, 404],
    },
    ({ get, remove }) => ({
      /** Any scope will do; a password has no token: 404. */
      getCurrentToken: get("The access token of this request", {
        apiOnly: '"croft whoami" says who is signed in',
      }),
      deleteCurrentToken: remove("Delete the access token of this request"),
    }),
  ),
};
