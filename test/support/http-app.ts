import { recordAnswer } from "./answers.ts";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { AppError } from "../../daemon/errors.ts";
import { bindRoutes, type BinderOptions, type RequestReport } from "../../daemon/http/bind.ts";
import { createBodyBudgets } from "../../daemon/http/body-memory.ts";
import type { Api, Route } from "../../daemon/http/handle.ts";
import { refusalHeaders, statusOfCode } from "../../daemon/http/replies.ts";
import { createServerRequest } from "../../daemon/http/server-request.ts";

/** The caller of the plain API below: the NAME of `Authorization: Bearer NAME`. */
export interface PlainCaller {
  readonly name: string;
}

/** The smallest API that the binder can serve; names in the header are believed. */
const plainApi: Api<PlainCaller> = {
  headers: { "X-Content-Type-Options": "nosniff" },
  jsonContentType: "application/json",
  authenticate: async (request) => {
    const name = request.headers.authorization?.replace("Bearer ", "");
    if (name === "wrong") throw new AppError("unauthenticated", "wrong");
    return name === undefined ? undefined : { name };
  },
  authorize: async (caller, declared) => {
    if (declared.gate.admits !== "anyone" && caller === undefined)
      throw new AppError("unauthenticated", "sign in");
  },
  accountKey: (caller) => caller?.name,
  decodeBody: async (_declared, _request, readBody) => {
    try {
      return JSON.parse((await readBody()).toString());
    } catch (error) {
      if (error instanceof AppError) throw error;
      throw new AppError("unprocessable", "not JSON", { cause: error });
    }
  },
  toValidationError: (where, error) =>
    new AppError("unprocessable", `${where}: ${error.issues[0]?.path.join(".")}`),
  renderError: (error) => ({
    status: statusOfCode[error.code],
    headers: refusalHeaders(error),
    body: { detail: error.data.failures ?? error.message },
  }),
  renderEarlyRefusal: (status, message) => ({ status, headers: {}, body: { detail: message } }),
  notFound: () => ({ status: 404, headers: {}, body: { detail: "Not Found" } }),
  methodNotAllowed: (allowed) => ({
    status: 405,
    headers: { Allow: allowed.join(", ") },
    body: { detail: "Method Not Allowed" },
  }),
  internalError: () => ({ status: 500, headers: {}, body: { detail: "Internal server error" } }),
};

/** Routes served on a loopback port; `await using` stops it. */
export interface HttpApp extends AsyncDisposable {
  readonly url: string;
  readonly reports: RequestReport[];
}

/** Serves `routes` through the binder alone, without host checks, database or log. */
export async function serveRoutes(
  routes: readonly Route[],
  options: Partial<BinderOptions> & { readonly api?: Partial<Api<PlainCaller>> } = {},
): Promise<HttpApp> {
  const reports: RequestReport[] = [];
  const counts = new Map<string, number>();
  const handle = bindRoutes({ ...plainApi, ...options.api }, routes, {
    limiter: {
      counts: true,
      consume: async (key, { max, seconds }) => {
        const count = (counts.get(key) ?? 0) + 1;
        counts.set(key, count);
        return {
          allowed: count <= max,
          remaining: Math.max(0, max - count),
          resetSeconds: seconds,
        };
      },
      addressKey: (address) => address,
    },
    bodies: createBodyBudgets(1024),
    publicUrl: () => "http://croft.example",
    maxJsonBytes: 1024,
    maxUploadBytes: 64 * 1024,
    temporaryDirectory: tmpdir(),
    checkReplies: true,
    toServerRequest: createServerRequest(
      (message: IncomingMessage) => message.socket.remoteAddress ?? "",
    ),
    report(what) {
      reports.push(what);
      recordAnswer(what.route, what.status);
    },
    ...options,
  });
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    reports,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
