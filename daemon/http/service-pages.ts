import { createHash, timingSafeEqual } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { AnyEndpoint } from "../contract/endpoint.ts";
import type { ServerRequest } from "./handle.ts";
import { isLoopback } from "./listen.ts";
import type { Metrics } from "./metrics.ts";
import { withinMs } from "../utilities/within.ts";
import { writeAnswer } from "./replies.ts";
import type { PlainRoute } from "./server.ts";

const NO_STORE = { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" } as const;
const TEXT = { ...NO_STORE, "Content-Type": "text/plain; charset=utf-8" } as const;
const JSON_TYPE = "application/json";

/** Time without a look for due jobs after which the queue counts as stalled; it looks every second. */
const JOBS_STALLED_MS = 30_000;
/** Longest wait for the database, which may stand still without an error. Probes of services wait a few seconds. */
const PROBE_MS = 3_000;

/** The OpenAPI document of an API. */
export interface ApiDocument {
  /** The addresses of the document; the first one is its own. */
  readonly paths: readonly [string, ...string[]];
  /** The last segment of the page that shows it: `/docs/forge`. */
  readonly name: string;
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  /** Loads the operations: the first reader of the document builds their schemas. */
  readonly endpoints: () => Promise<readonly AnyEndpoint[]>;
}

export interface ServicePagesDeps {
  readonly metrics: Metrics;
  readonly version: string;
  /** The bearer token that `/metrics` demands; undefined answers this machine only. */
  readonly metricsToken?: string | undefined;
  /** Returns false once the daemon is stopping. */
  readonly accepts: () => boolean;
  /** Reads from the database. Rejects when requests cannot be served; failed requests log the cause. */
  readonly probe: () => Promise<unknown>;
  /** Returns whether the disk has space left beyond the reserve. */
  readonly hasSpace: () => Promise<boolean>;
  /** Returns whether the bucket of objects can be read now; absent if there is no bucket. */
  readonly isBucketReachable?: () => Promise<boolean>;
  /** Returns the milliseconds since due jobs could last be started. */
  readonly jobsStalledMs: () => number;
  /** Returns the state of the latest scheduled backup; undefined before the first, and when none are scheduled. */
  readonly backupState: () => Promise<string | undefined>;
  readonly documents: readonly ApiDocument[];
  /** The targets of redirects, by path. */
  readonly redirects: ReadonlyMap<string, string>;
}

/** Creates the pages outside all APIs: the start page, health and metrics, and OpenAPI documents. */
export function createServicePages(deps: ServicePagesDeps): Map<string, PlainRoute> {
  const { metrics, version, accepts, hasSpace, isBucketReachable, backupState } = deps;
  const addresses = deps.documents.map(({ paths }) => paths[0]).join(" and ");
  const start = `croft ${version}\n\nThis daemon is used by its command line: croft --help\nIts APIs are described at ${addresses}, and shown in a browser at /docs.\n`;
  const canServe = async () => {
    const answer = deps.probe().then(
      () => true,
      () => false,
    );
    return (await withinMs(PROBE_MS, answer)) ?? false;
  };
  const pages = new Map<string, PlainRoute>([
    ["/", (_request, response) => writeAnswer(response, 200, TEXT, start, "")],
    [
      "/healthz",
      (_request, response) => writeAnswer(response, 200, NO_STORE, { status: "ok" }, JSON_TYPE),
    ],
    [
      "/readyz",
      async (_request, response) => {
        // A queue that cannot claim jobs cannot write: nor can a request.
        const moves = deps.jobsStalledMs() <= JOBS_STALLED_MS;
        const ready = moves && accepts() && (await canServe());
        const backup = ready ? await withinMs(PROBE_MS, backupState()) : undefined;
        const body = {
          status: ready ? "ready" : "not ready",
          ...(moves ? {} : { jobs: "stalled" }),
          ...((await hasSpace()) ? {} : { disk: "full" }),
          // Everything except packages works without the bucket. If all daemons failed this check, everything would
          // stop.
          ...(isBucketReachable === undefined
            ? {}
            : { objects: (await isBucketReachable()) ? "reachable" : "unreachable" }),
          ...(backup === undefined ? {} : { backup }),
        };
        writeAnswer(response, ready ? 200 : 503, NO_STORE, body, JSON_TYPE);
      },
    ],
    [
      "/metrics",
      async (request, response) => {
        if (
          deps.metricsToken === undefined
            ? !isLocal(request, response)
            : !hasToken(response, deps.metricsToken)
        ) {
          const text = "metrics are for this machine without a proxy, or for the metrics_token\n";
          writeAnswer(response, 403, TEXT, text, "");
          return;
        }
        const { contentType, text } = await metrics.render();
        writeAnswer(response, 200, { ...NO_STORE, "Content-Type": contentType }, text, "");
      },
    ],
  ]);
  for (const document of deps.documents) {
    const route = createDocumentRoute(document);
    for (const path of document.paths) pages.set(path, route);
  }
  for (const [path, route] of toViewerRoutes(deps.documents)) pages.set(path, route);
  for (const [path, target] of deps.redirects)
    pages.set(path, (_request, response) =>
      writeAnswer(response, 302, { ...NO_STORE, Location: target }, undefined, ""),
    );
  return pages;
}

/** The files of the reference in a browser, besides a page for each document. */
const VIEWER_FILES = ["swagger-ui.css", "swagger-ui-bundle.js", "viewer.css", "viewer.js"];

/** The reference of the APIs at `/docs`, whose code is loaded by its first reader. */
function toViewerRoutes(documents: readonly ApiDocument[]): [string, PlainRoute][] {
  const apis = documents.map(({ name, paths, info }) => ({ name, document: paths[0], ...info }));
  const viewer = () => import("./api-viewer.ts");
  return [
    ["/docs", async (_request, response) => (await viewer()).answerIndex(apis, response)],
    ...apis.map((api): [string, PlainRoute] => [
      `/docs/${api.name}`,
      async (_request, response) => (await viewer()).answerViewer(api, apis, response),
    ]),
    ...VIEWER_FILES.map((file): [string, PlainRoute] => [
      `/docs/${file}`,
      async (_request, response) => (await viewer()).answerFile(file, response),
    ]),
  ];
}

/** Creates the document on first use, because most daemons never get a request for it. */
function createDocumentRoute({ info, endpoints }: ApiDocument): PlainRoute {
  const make = async () => {
    const { toOpenApi } = await import("./openapi.ts");
    // Kept as text: anonymous clients may send many requests for it at once.
    return JSON.stringify(await toOpenApi(info, await endpoints()));
  };
  let text: Promise<string> | undefined;
  return async (_request, response) =>
    writeAnswer(response, 200, NO_STORE, await (text ??= make()), JSON_TYPE);
}

/**
 * Returns whether the peer is this machine, and no proxy: one of this machine answers to others. No header makes a remote
 * request local.
 */
function isLocal({ address }: ServerRequest, response: ServerResponse): boolean {
  const { socket, headers } = response.req;
  const peer = socket.remoteAddress?.replace(/^::ffff:(?=\d)/, "");
  const isForwarded = PROXY_HEADERS.some((name) => headers[name] !== undefined);
  const host = URL.parse(`http://${headers.host ?? "localhost"}`)?.hostname;
  const isLocalName =
    host === "localhost" || (host !== undefined && isLoopback(host.replace(/^\[|\]$/g, "")));
  return (
    peer !== undefined && isLoopback(peer) && isLoopback(address) && !isForwarded && isLocalName
  );
}

/** Headers that proxies add, whether the proxy is trusted or not. */
const PROXY_HEADERS = [
  "forwarded",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
  "via",
];

function hasToken(response: ServerResponse, token: string): boolean {
  const given = /^Bearer +(.+)$/i.exec(response.req.headers.authorization ?? "")?.[1] ?? "";
  const [one, other] = [given, token].map((text) => createHash("sha256").update(text).digest());
  return one !== undefined && other !== undefined && timingSafeEqual(one, other);
}
