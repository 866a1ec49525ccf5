import type { IncomingMessage } from "node:http";
import type { HostRefusal } from "./host-check.ts";
import type { NodeHandler } from "./server.ts";

/** The web pages of other origins that may call the APIs. */
export interface CorsRules {
  /** Origins as browsers write them; when empty, CORS is off. */
  readonly origins: readonly string[];
  readonly checkHost: (request: IncomingMessage) => HostRefusal | undefined;
}

/**
 * Adds CORS headers for the allowed origins and answers their preflight requests. Origins are
 * compared whole and echoed only when they are on the list. Credentials are not allowed: pages send tokens in a header,
 * and the session cookie is for its own site.
 */
export function withCors(handler: NodeHandler, { origins, checkHost }: CorsRules): NodeHandler {
  if (origins.length === 0) return handler;
  const allowed: ReadonlySet<string> = new Set(origins);
  return (message, response) => {
    const { origin } = message.headers;
    // A cache must not serve one origin's response to another.
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
