import type { ServerRequest } from "../../http/handle.ts";
import { readRefreshCookie } from "./refresh-cookie.ts";

/** The facts about the sender of a request that the account rules use. */
export interface Client {
  readonly address: string;
  readonly userAgent: string;
  readonly acceptLanguage: string;
  /** The refresh token of the cookie, as sent. */
  readonly refreshToken: string | undefined;
}

/** Returns the client of a request. */
export function toClient({ address, headers }: ServerRequest): Client {
  return {
    address,
    userAgent: headers["user-agent"] ?? "",
    acceptLanguage: headers["accept-language"] ?? "",
    refreshToken: readRefreshCookie(headers.cookie),
  };
}
