import type { IncomingMessage } from "node:http";
import type { HostRefusal } from "./host-check.ts";
import type { NodeHandler } from "./server.ts";

/** Which other web pages may call the APIs. */
export interface CorsRules {
  /** Origins as browsers write them; none leaves every request as it is. */
  readonly origins: readonly string[];
  readonly checkHost: (request: IncomingMessage) => HostRefusal | undefined;
}

/**
 * Lets pages of the allowed origins read answers, and answers what browsers ask before unusual requests (CORS; forge
 * behaviour, 4.4). Origins are compared whole and never echoed unless they are on the list. No credentials: pages send
 * tokens in a header, and the cookie of a session is for its own site.
 */
export function withCors(handler: NodeHandler, { origins, checkHost }: CorsRules): NodeHandler {
  if (origins.length === 0) return handler;
  const allowed: ReadonlySet<string> = new Set(origins);
  return (message, response) => {
    const { origin } = message.headers;
    // A cache must not hand one page's answer to another.
    response.setHeader("Vary", "Origin");
    if (origin === undefined || !allowed.has(origin)) return handler(message, response);
    response.setHeader("Access-Control-Allow-Origin", origin);
    response.setHeader("Access-Control-Expose-Headers", EXPOSED);
    const isAsking =
      message.method === "OPTIONS" && "access-control-request-method" in message.headers;
    if (!isAsking || checkHost(message) !== undefined) return handler(message, response);
    response.writeHead(204, PERMISSION).end();
  };
}

const EXPOSED =
  "Link, X-Total-Count, Content-Disposition, Content-Range, ETag, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id";

const PERMISSION = {
  "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
  "Access-Control-Allow-Headers":
    "Authorization, X-Gitea-OTP, Content-Type, User-Agent, Sudo, Range, If-Range, If-Match, If-None-Match, If-Modified-Since, Last-Event-ID",
  "Access-Control-Max-Age": "600",
} as const;
