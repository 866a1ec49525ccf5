import type { ForgeToken } from "../../../storage/tables/forge/accounts/tokens.ts";
import type { WireToken } from "../../contract/forge/accounts/tokens.ts";
import { toWireTime, unfilledTime } from "../urls.ts";
import type { MadeToken } from "./tokens.service.ts";

/** A token as lists show it: without its secret. */
export function toTokenView(token: ForgeToken): WireToken {
  return {
    id: token.id,
    name: token.name,
    sha1: "",
    token_last_eight: token.lastEight,
    scopes: token.scope.split(","),
    created_at: toWireTime(token.createdAt),
    last_used_at: toWireTime(token.lastUsedAt),
  };
}

/** A token as the answer that made it shows it: with its secret, and without times (forge behaviour, 21.3). */
export function toMadeTokenView({ token, secret }: MadeToken): WireToken {
  return {
    ...toTokenView(token),
    sha1: secret,
    created_at: unfilledTime,
    last_used_at: unfilledTime,
  };
}
