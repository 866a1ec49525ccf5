import { createToken, deleteToken, listTokens } from "../../contract/forge/tokens.ts";
import { getCurrentUser } from "../../contract/forge/users.ts";
import { forgeVersion } from "../../contract/forge/version.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import { toMadeTokenView, toTokenView } from "./token.view.ts";
import type { Tokens } from "./tokens.service.ts";
import { toUserView } from "./user.view.ts";

/** The version of the interface that this forge speaks. */
const API_VERSION = "28.2.0";

/** Routes about the caller: version, own account, tokens. */
export function accountRoutes({ tokens, urls }: { tokens: Tokens; urls: ForgeUrls }): Route[] {
  return [
    handle(forgeVersion, async () => ({ status: 200, body: { version: API_VERSION } })),
    handle(getCurrentUser, async ({ caller }) => ({
      status: 200,
      body: toUserView(caller.user, caller.user, urls),
    })),
    handle(listTokens, async ({ params, query }) => {
      const { tokens: page, total } = await tokens.list(params.username, query);
      return { status: 200, body: page.map(toTokenView), total };
    }),
    handle(createToken, async ({ caller, params, body }) => ({
      status: 201,
      body: toMadeTokenView(
        await tokens.create(caller, params.username, { name: body.name, scopes: body.scopes ?? [] }),
      ),
    })),
    handle(deleteToken, async ({ params }) => {
      await tokens.delete(params.username, params.token);
      return { status: 204 };
    }),
  ];
}
