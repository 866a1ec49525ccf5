import type { IncomingMessage, ServerResponse } from "node:http";
import type { Database } from "../../storage/engine/database.ts";
import { findInstanceValue } from "../../storage/tables/common/instance.ts";
import { apiOf, surfaceOf } from "../contract/api-of.ts";
import { allEndpoints } from "../contract/all.ts";
import { isLoopback } from "../http/listen.ts";
import type { NodeHandler, PlainRoute } from "../http/server.ts";
import type { Api, BytesAnswer, Route, ServerRequest } from "../http/handle.ts";
import type { Metrics } from "../http/metrics.ts";
import { statusOfCode, toRefusal, writeAnswer } from "../http/replies.ts";
import { createResetPage, RESET_PAGE_PATH } from "../vault/pages/reset-page.ts";
import { AppError } from "../errors.ts";
import type { PublicKeys } from "../forge/accounts/keys.service.ts";
import type { ForgeCaller } from "../forge/caller.ts";
import { createOperations } from "../forge/pages/operations.ts";
import {
  createPageHandler,
  type PageHandlerDeps,
  type ReadFormBody,
  type SentPage,
} from "../forge/pages/page-handler.ts";
import { forgePages } from "../forge/pages/pages.ts";
import type { Sessions } from "../forge/pages/sessions.ts";
import type { Rendering } from "../forge/rendering/rendering.service.ts";
import { createByteSender } from "../http/bytes.ts";
import type { RequestReport } from "../http/bind.ts";
import type { BodyBudgets } from "../http/body-memory.ts";
import { closeAfterUnreadBody, readWholeBody } from "../http/request-body.ts";
import type { ServiceDeps } from "./accounts.ts";

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
  readonly hasSpace: () => Promise<boolean>;
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
  hasSpace,
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
            ...((await hasSpace()) ? {} : { disk: "full" }),
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

/** Answers a request for a page of the forge. */
export type AnswerPage = (request: ServerRequest, readBody: ReadFormBody) => Promise<SentPage>;

/** Pages of one caller, which run git and render texts. */
const PAGES_PER_MINUTE = { max: 600, seconds: 60 } as const;

/** Wires up the pages of the forge. */
export function createPageAnswers(
  { addresses, input, limiter, log }: ServiceDeps,
  {
    sessions,
    publicKeys,
    rendering,
    api,
    routes,
  }: {
    readonly sessions: Sessions;
    readonly publicKeys: PublicKeys;
    readonly rendering: Rendering;
    readonly api: Api<ForgeCaller>;
    readonly routes: readonly Route[];
  },
): AnswerPage {
  const deps: PageHandlerDeps = {
    pages: forgePages(sessions, publicKeys),
    sessions,
    rendering,
    urls: { publicUrl: addresses.publicUrl },
    instanceName: input.settings.instanceName,
    operations: createOperations(api, routes),
    addressKey: limiter.addressKey,
    async count(key) {
      const { allowed, resetSeconds } = await limiter.consume(
        `forge.pages:${key}`,
        PAGES_PER_MINUTE,
      );
      if (allowed) return;
      const text = `too many pages, try again in ${resetSeconds} seconds`;
      throw new AppError("rate_limited", text, { retryAfterSeconds: resetSeconds });
    },
    toRefusal,
    statusOf: ({ code }) => statusOfCode[code],
    reportBug: (error, request) =>
      log.error({ err: error, request_id: request.id }, "a page failed"),
  };
  return createPageHandler(deps);
}

/**
 * Returns whether a request is for a page of the forge: any address that is neither an API's nor a page of its own. The
 * start page shows repositories to browsers only.
 */
export function isPage(
  path: string,
  { method = "", headers }: IncomingMessage,
  own: ReadonlyMap<string, unknown>,
): boolean {
  if (!["GET", "HEAD", "POST"].includes(method) || surfaceOf(path) !== undefined) return false;
  return path === "/" ? wantsHtml(headers.accept) : !own.has(path);
}

const wantsHtml = (accept = ""): boolean => accept.includes("text/html");

/** Serves pages; a client that wants no HTML gets a plain text for an unknown address. */
export function createForgePages({
  answerPage,
  toServerRequest,
  bodies,
  addressKey,
  report,
}: {
  readonly answerPage: AnswerPage;
  readonly toServerRequest: (message: IncomingMessage, response: ServerResponse) => ServerRequest;
  readonly bodies: BodyBudgets;
  readonly addressKey: (address: string) => string;
  readonly report: (result: RequestReport) => void;
}): NodeHandler {
  const sendBytes = createByteSender({});
  return (message, response) => void serve(message, response);

  async function serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = toServerRequest(message, response);
    const memory = bodies.anonymous(addressKey(request.address));
    const page = await answerPage(request, (maxBytes) =>
      readWholeBody(message, { maxBytes, memory }),
    );
    memory.release();
    if (response.destroyed) {
      if (typeof page.body === "object") page.body.bytes.release?.();
      report({ request, route: "forge.pages", status: page.status, error: undefined });
      return;
    }
    closeAfterUnreadBody(message, response);
    if (typeof page.body === "object") {
      await sendFile(request, response, page.headers, page.body);
      return;
    }
    const isPlain = page.status === 404 && !wantsHtml(message.headers.accept);
    const body = isPlain ? "404 page not found\n" : page.body;
    const headers = { ...page.headers, "X-Request-Id": request.id, ...(isPlain ? PLAIN : {}) };
    writeAnswer(response, page.status, headers, body, "");
    report({ request, route: "forge.pages", status: page.status, error: undefined });
  }

  async function sendFile(
    request: ServerRequest,
    response: ServerResponse,
    common: Readonly<Record<string, string>>,
    answer: BytesAnswer,
  ): Promise<void> {
    const headers = { ...common, ...answer.headers, "X-Request-Id": request.id };
    try {
      const status = await sendBytes(request, response, { ...answer, headers });
      report({ request, route: "forge.pages", status, error: undefined });
    } catch (error) {
      response.destroy();
      report({ request, route: "forge.pages", status: 500, error });
    }
  }
}

const PLAIN = { "Content-Type": "text/plain; charset=utf-8" } as const;
