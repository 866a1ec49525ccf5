import type { ServerResponse } from "node:http";
import type { Database } from "../../storage/engine/database.ts";
import { findInstanceValue } from "../../storage/tables/common/instance.ts";
import { apiOf } from "../contract/api-of.ts";
import { allEndpoints } from "../contract/all.ts";
import { isLoopback } from "../http/listen.ts";
import type { PlainRoute } from "../http/server.ts";
import type { ServerRequest } from "../http/handle.ts";
import type { Metrics } from "../http/metrics.ts";
import { writeAnswer } from "../http/replies.ts";
import { createResetPage, RESET_PAGE_PATH } from "../vault/pages/reset-page.ts";

const NO_STORE = { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" } as const;
const TEXT = { ...NO_STORE, "Content-Type": "text/plain; charset=utf-8" } as const;
const JSON_TYPE = "application/json";

export interface PageDeps {
  readonly db: Database;
  readonly metrics: Metrics;
  readonly version: string;
  readonly instanceName: string;
  /** Returns false once the daemon is stopping. */
  readonly accepts: () => boolean;
  /** Returns whether the disk has space left beyond the reserve. */
  readonly hasReserve: () => Promise<boolean>;
  /** Returns whether the bucket of objects can be read at the moment; absent without a bucket. */
  readonly isBucketReachable?: () => Promise<boolean>;
}

/** Creates the pages outside both APIs: health and metrics, API documents, and the page of reset links. */
export function createPages({
  db,
  metrics,
  version,
  instanceName,
  accepts,
  hasReserve,
  isBucketReachable,
}: PageDeps): Map<string, PlainRoute> {
  const resetPage = createResetPage(instanceName);
  const documents = createDocuments(version);
  const forgeDocument: PlainRoute = async (_request, response) =>
    writeAnswer(response, 200, NO_STORE, await documents.forge(), JSON_TYPE);
  return new Map<string, PlainRoute>([
    [
      "/",
      (_request, response) =>
        writeAnswer(
          response,
          200,
          TEXT,
          `croft ${version}\n\nThis daemon is used by its command line: croft --help\nIts APIs are described at /openapi/forge.json and /openapi/vault.json.\n`,
          "",
        ),
    ],
    [
      "/healthz",
      (_request, response) => writeAnswer(response, 200, NO_STORE, { status: "ok" }, JSON_TYPE),
    ],
    [
      "/readyz",
      async (_request, response) => {
        const ready = accepts() && (await canServe(db));
        writeAnswer(
          response,
          ready ? 200 : 503,
          NO_STORE,
          {
            status: ready ? "ready" : "not ready",
            ...((await hasReserve()) ? {} : { disk: "full" }),
            // Everything except packages works without it; a failed check of every daemon would stop that as well.
            ...(isBucketReachable === undefined
              ? {}
              : { objects: (await isBucketReachable()) ? "reachable" : "unreachable" }),
          },
          JSON_TYPE,
        );
      },
    ],
    [
      "/metrics",
      async (request, response) => {
        if (!isLocal(request, response)) {
          writeAnswer(response, 403, TEXT, "metrics are for this machine only\n", "");
          return;
        }
        const { contentType, text } = await metrics.render();
        writeAnswer(response, 200, { ...NO_STORE, "Content-Type": contentType }, text, "");
      },
    ],
    ["/openapi/forge.json", forgeDocument],
    // Where tools for Gitea look for the description.
    ["/swagger.v1.json", forgeDocument],
    ["/openapi3.v1.json", forgeDocument],
    [
      "/openapi/vault.json",
      async (_request, response) =>
        writeAnswer(response, 200, NO_STORE, await documents.vault(), JSON_TYPE),
    ],
    [
      RESET_PAGE_PATH,
      (_request, response) => writeAnswer(response, 200, resetPage.headers, resetPage.html, ""),
    ],
    [
      // The address in the `url` of every forge error.
      "/api/swagger",
      (_request, response) =>
        writeAnswer(response, 302, { ...NO_STORE, Location: "/openapi/forge.json" }, undefined, ""),
    ],
  ]);
}

/** Returns whether both the peer and the client behind a proxy are this machine: no header makes a remote request local. */
function isLocal({ address }: ServerRequest, response: ServerResponse): boolean {
  const peer = response.req.socket.remoteAddress?.replace(/^::ffff:(?=\d)/, "");
  return peer !== undefined && isLoopback(peer) && isLoopback(address);
}

async function canServe(db: Database): Promise<boolean> {
  try {
    db.assertInPlace?.();
    await findInstanceValue(db, "initialised_at");
    return true;
  } catch {
    // The cause is in the log of the requests that fail.
    return false;
  }
}

/** Creates the document on first use: most daemons are never sent a request for it. */
function createDocuments(version: string) {
  const make = async (
    api: "forge" | "vault",
    info: { title: string; version: string; description: string },
  ) => {
    const { toOpenApi } = await import("../http/openapi.ts");
    const endpoints = allEndpoints.filter((declared) => apiOf(declared) === api);
    // Kept as text: it has two megabytes, and anonymous clients may send many requests for it at once.
    return JSON.stringify(toOpenApi(info, endpoints));
  };
  let forge: Promise<string> | undefined;
  let vault: Promise<string> | undefined;
  return {
    forge: () =>
      (forge ??= make("forge", {
        title: "croft forge API",
        version: "28.2.0",
        description:
          "People, repositories, packages, issues, hooks, notifications, templates and rendering, as Gitea's clients know them.",
      })),
    vault: () =>
      (vault ??= make("vault", {
        title: "croft vault API",
        version,
        description:
          "Accounts with a second factor, cloud storage behind a byte cache, an audit trail.",
      })),
  };
}
