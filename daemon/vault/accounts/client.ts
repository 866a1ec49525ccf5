import type { ServerRequest } from "../../http/handle.ts";
import { readRefreshCookie } from "./refresh-cookie.ts";

/** What the account rules look at of who sends a request. */
export interface Client {
  readonly address: string;
  readonly userAgent: string;
  readonly acceptLanguage: string;
  /** The refresh token of the cookie, as sent. */
  readonly refreshToken: string | undefined;
}

/** The client of a request. */
export function toClient({ address, headers }: ServerRequest): Client {
  return {
    address,
    userAgent: headers["user-agent"] ?? "",
    acceptLanguage: headers["accept-language"] ?? "",
    refreshToken: readRefreshCookie(headers.cookie),
  };
}
