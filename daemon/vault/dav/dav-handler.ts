import type { IncomingMessage, ServerResponse } from "node:http";
import type { BinderOptions } from "../../http/bind.ts";
import { createByteSender } from "../../http/bytes.ts";
import { isDisconnect } from "../../http/disconnect.ts";
import type { ServerRequest } from "../../http/handle.ts";
import { toRefusal, writeAnswer } from "../../http/replies.ts";
import {
  closeAfterUnreadBody,
  cutRevokedBody,
  cutStalledBody,
  readWholeBody,
} from "../../http/request-body.ts";
import type { PartHandler } from "../../http/server.ts";
import type { Authentication } from "../accounts/authentication.ts";
import type { VaultCaller } from "../caller.ts";
import { mkcol, proppatch, put, remove } from "./change-methods.ts";
import {
  assertConditions,
  type DavAnswer,
  type DavContext,
  type DavMethod,
  type DavServices,
  headerOf,
} from "./context.ts";
import type { DavSignIn } from "./credentials.ts";
import { parseIf, tokensOf } from "./if-header.ts";
import { lock, unlock } from "./lock-methods.ts";
import { propfind, read } from "./read-methods.ts";
import { DavRefusal, toDavRefusal } from "./refusals.ts";
import type { DavTree } from "./spaces.ts";
import { createDavAddresses, toDavPath } from "./target.ts";
import { copy, move } from "./transfer-methods.ts";
import { escapeText, parseXml, XML_DECLARATION, XML_TYPE } from "./xml.ts";

export interface DavHandlerDeps extends Omit<DavServices, "sendBytes"> {
  readonly signIn: DavSignIn;
  readonly authentication: Pick<Authentication, "isStillSignedIn">;
  readonly openTree: (caller: VaultCaller) => DavTree;
  readonly publicUrl: () => string;
  readonly transport: Pick<BinderOptions, "bodies" | "toServerRequest" | "report" | "spendReserve">;
}

const methods: ReadonlyMap<string, DavMethod> = new Map([
  ["GET", read],
  ["HEAD", read],
  ["PROPFIND", propfind],
  ["PUT", put],
  ["DELETE", remove],
  ["MKCOL", mkcol],
  ["COPY", copy],
  ["MOVE", move],
  ["LOCK", lock],
  ["UNLOCK", unlock],
  ["PROPPATCH", proppatch],
]);
const ALLOW = ["OPTIONS", ...methods.keys()].join(", ");

/** What a token of the scope `read` may do. */
const READS: ReadonlySet<string> = new Set(["GET", "HEAD", "PROPFIND"]);

/** Headers of every response. Windows looks for the second and mounts nothing without it. */
const HEADERS = { DAV: "1, 2", "MS-Author-Via": "DAV", "X-Content-Type-Options": "nosniff" };

const XML_BYTES_MAX = 128 * 1024;
const CLIENT_CLOSED_REQUEST = 499;

/** Creates the handler of everything below `/dav`. */
export function createDavHandler(deps: DavHandlerDeps): PartHandler {
  const { transport } = deps;
  const sendBytes = createByteSender(HEADERS);

  return async (message, response) => {
    const request = transport.toServerRequest(message, response);
    const release: (() => void)[] = [];
    let status: number;
    let cause: unknown;
    try {
      const answer = await withReserve(request, () => serve(request, message, response, release));
      status = send(request, response, answer);
    } catch (error) {
      if (isDisconnect(error, message, response)) {
        response.destroy();
        status = CLIENT_CLOSED_REQUEST;
      } else {
        cause = error;
        status = sendRefusal(request, response, toDavRefusal(error) ?? internalError());
      }
    } finally {
      for (const each of release) each();
    }
    transport.report({
      request,
      route: `dav.${toRouteName(request.method)}`,
      status,
      error: cause,
    });
  };

  async function serve(
    request: ServerRequest,
    message: IncomingMessage,
    response: ServerResponse,
    release: (() => void)[],
  ): Promise<DavAnswer> {
    // Clients ask this before they sign in. The answer is the same everywhere.
    if (request.method === "OPTIONS") return { status: 200, headers: { Allow: ALLOW } };
    const method = methods.get(request.method);
    if (method === undefined)
      throw new DavRefusal(405, "WebDAV has no such method.", { headers: { Allow: ALLOW } });
    const { caller, token } = await deps.signIn.find(request, message);
    if (caller.tokenScope === "read" && !READS.has(request.method))
      throw new DavRefusal(403, "This machine token has the scope read.");
    if (!message.complete) {
      cutStalledBody(message);
      await cutRevokedBody(message, () => deps.authentication.isStillSignedIn(caller, token));
    }
    const tree = deps.openTree(caller);
    const addresses = createDavAddresses(deps.publicUrl(), request.headers.host);
    const [target = ""] = request.target.split("?");
    const ifHeader = headerOf({ request }, "if");
    const ifLists = ifHeader === undefined ? [] : parseIf(ifHeader);
    const context: DavContext = {
      ...deps,
      sendBytes,
      request,
      message,
      response,
      caller,
      tree,
      found: await tree.find(toDavPath(target)),
      addresses,
      ifLists,
      tokens: tokensOf(ifLists),
      async readXml() {
        const memory = transport.bodies.signedIn(caller.userId);
        release.push(() => memory.release());
        const body = await readWholeBody(message, { maxBytes: XML_BYTES_MAX, memory });
        return body.byteLength === 0 ? undefined : parseXml(body);
      },
    };
    await assertConditions(context);
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    return method(context);
  }

  /** Deletes with the disk space that is kept for it when the disk is full. */
  async function withReserve<T>(request: ServerRequest, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const mayUse = request.method === "DELETE" && transport.spendReserve !== undefined;
      if (!mayUse || toRefusal(error)?.code !== "storage_full") throw error;
      return transport.spendReserve(error, work);
    }
  }
}

/** Names of routes are labels of metrics: there must not be one for each word that a client sends. */
function toRouteName(method: string): string {
  return method === "OPTIONS" || methods.has(method) ? method.toLowerCase() : "unknown";
}

function send(request: ServerRequest, response: ServerResponse, answer: DavAnswer): number {
  if (typeof answer === "number") return answer;
  const { status, headers, body } = answer;
  closeAfterUnreadBody(response.req, response);
  const all = { ...HEADERS, "Cache-Control": "no-store", ...headers };
  writeAnswer(response, status, all, body, XML_TYPE);
  return status;
}

function sendRefusal(
  request: ServerRequest,
  response: ServerResponse,
  { status, message, condition, headers }: DavRefusal,
): number {
  closeAfterUnreadBody(response.req, response);
  const all = {
    ...HEADERS,
    "Cache-Control": "no-store",
    "X-Request-Id": request.id,
    ...headers,
    ...(status === 405 ? { Allow: ALLOW } : {}),
    "Content-Type": condition === undefined ? "text/plain; charset=utf-8" : XML_TYPE,
  };
  const hrefs = condition?.hrefs ?? [];
  const body =
    condition === undefined
      ? `${message}\n`
      : `${XML_DECLARATION}<D:error xmlns:D="DAV:"><D:${condition.element}>${hrefs
          .map((href) => `<D:href>${escapeText(href)}</D:href>`)
          .join("")}</D:${condition.element}></D:error>`;
  writeAnswer(response, status, all, body, XML_TYPE);
  return status;
}

function internalError(): DavRefusal {
  return new DavRefusal(500, "Internal server error");
}
