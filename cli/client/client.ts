import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { apiOf } from "../../daemon/contract/api-of.ts";
import type { AnswerOf, AnyEndpoint, InputOf } from "../../daemon/contract/endpoint.ts";
import { CliError, DryRun } from "../errors.ts";
import type { Service } from "../profile/credentials.ts";
import { type AuthorizerDeps, createAuthorizer } from "./authorize.ts";
import type { ByteDownload, ByteUpload } from "./bytes.ts";
import type { AnyOperation, Operation } from "./operations.ts";
import { toAddress, toPreview } from "./request.ts";
import type { Target } from "./target.ts";
import {
  createTransport,
  type IncomingResponse,
  type Transport,
  createTrust,
} from "./transport.ts";
import { parseJson } from "../support/json.ts";
import { failureOf, toText, isJson, isTokenRefusal } from "./outcomes.ts";

/** Values for one call; the type requires the same ones as the endpoint. */
export type CallInput<E extends AnyEndpoint> = InputOf<E>;

/** Options of one call. */
export interface CallOptions {
  /**
   * `none` sends no credentials; a text is the `Authorization` header itself. Defaults to the credentials for the
   * endpoint's service.
   */
  readonly authorization?: "none" | string;
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Selects failures that are returned instead of thrown. */
  readonly accept?: (answer: { readonly status: number; readonly body: unknown }) => boolean;
}

/** Options of one download. */
export interface DownloadOptions {
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Cancels the download, as the command's stop signals do. */
  readonly signal?: AbortSignal;
  /** The caller reads `raw` of the download if present. */
  readonly isLarge?: boolean;
}

type SuccessStatus = 200 | 201 | 202 | 204 | 205 | 302;

/** The answers of `E` that are not failures by their status; a redirect must be accepted. */
export type SuccessOf<E extends AnyEndpoint> = Extract<AnswerOf<E>, { status: SuccessStatus }>;

/** An answer that was not a failure. */
export type Answer<E extends AnyEndpoint> = SuccessOf<E> & {
  readonly headers: IncomingHttpHeaders;
  /** The unparsed response. */
  readonly raw: IncomingResponse;
};

/** A request of any shape, for `croft api`. */
export interface FreeRequest {
  readonly service: Service;
  readonly method: string;
  /** With query, from the server's origin. */
  readonly path: string;
  readonly body: string | Uint8Array | undefined;
  readonly contentType: string | undefined;
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends requests to the daemon as the profile in use. Every failure is a `CliError`. */
export type Client = ReturnType<typeof createClient>;

/** Constant: access tokens of the vault are bound to both, and a version would end every session at an upgrade. */
export const clientHeaders = { "User-Agent": "croft-cli", "Accept-Language": "en" } as const;

/** Routes that treat the session of the refresh cookie in the request as the caller's own. */
const cookieRoutes: ReadonlySet<string> = new Set([
  "/api/auth/logout",
  "/api/auth/logout-all",
  "/api/auth/change-password",
  "/api/auth/totp",
  "/api/auth/totp/enable",
]);

const refreshPath = "/api/auth/refresh";

export function createClient(
  cli: AuthorizerDeps,
  transport: Transport = createTransport(cli.system, createTrust(cli)),
) {
  const { system, signal } = cli;

  const authorizer = createAuthorizer(cli, (address, cookie) =>
    transport.send({
      method: "POST",
      url: `${address}${refreshPath}`,
      headers: { ...clientHeaders, Accept: "application/json", Cookie: cookie },
      body: undefined,
      signal,
    }),
  );

  const client = {
    /** The daemon that requests go to. */
    target: (): Promise<Target> => authorizer.target(),
    authorizer,
    /** Calls an operation. With `--dry-run` a request that writes is not sent but thrown as `DryRun`. */
    async call<E extends AnyEndpoint>(
      operation: Operation<E>,
      input: CallInput<E> = {},
      options: CallOptions = {},
    ): Promise<Answer<E>> {
      const path = toAddress(operation.path, input.params, input.query);
      const isText = typeof input.body === "string";
      const body =
        input.body === undefined
          ? undefined
          : isText
            ? String(input.body)
            : JSON.stringify(input.body);
      await stopDryRun(operation, path, input.body);
      const contentType = isText ? "text/plain; charset=utf-8" : "application/json";
      const answer = await sendSigned(
        serviceOf(operation),
        operation.method,
        path,
        { ...options.headers, ...(body === undefined ? {} : { "Content-Type": contentType }) },
        body,
        options.authorization,
      );
      try {
        return toAnswer<E>(operation, answer, options.accept);
      } catch (error) {
        if (!(error instanceof CliError) || error.code !== "invalid") throw error;
        const { withAllProblems } = await import("./refused-values.ts");
        throw withAllProblems(error, operation, input.body);
      }
    },
    /** Calls an operation whose answer is bytes, as a stream. */
    async download<E extends AnyEndpoint>(
      operation: Operation<E>,
      input: CallInput<E>,
      options: DownloadOptions = {},
    ): Promise<ByteDownload> {
      const path = toAddress(operation.path, input.params, input.query);
      const service = serviceOf(operation);
      const { downloadFailure, openDownload } = await import("./bytes.ts");
      const answer = await withRenewal(service, undefined, async (headers) =>
        openDownload(transport, {
          url: `${await authorizer.address()}${path}`,
          headers: { ...clientHeaders, Accept: "*/*", ...options.headers, ...headers },
          isLarge: options.isLarge,
          signal: options.signal === undefined ? signal : AbortSignal.any([signal, options.signal]),
          service,
        }),
      );
      if (answer.body === undefined) return answer;
      throw downloadFailure(service, answer.status, answer.headers, answer.body);
    },
    /**
     * Calls an operation that takes a stream or JSON and answers with a stream, which may begin before the body has
     * ended. After a renewal of the credentials `body` is called again and must restart from the beginning.
     */
    async exchange<E extends AnyEndpoint>(
      operation: Operation<E>,
      input: Omit<CallInput<E>, "body">,
      {
        contentType,
        headers: more,
        body,
        canRestart,
        onlyReads,
      }: {
        readonly contentType: string;
        readonly headers?: Readonly<Record<string, string>>;
        readonly body: () => string | Readable;
        /** False when `body` can be called only once. */
        readonly canRestart?: boolean;
        /** The request changes nothing: a dry run sends it. */
        readonly onlyReads?: boolean;
      },
    ): Promise<ByteDownload> {
      const path = toAddress(operation.path, input.params, input.query);
      const service = serviceOf(operation);
      if (onlyReads !== true) await stopDryRun(operation, path, undefined);
      const { downloadFailure, openDownload } = await import("./bytes.ts");
      const answer = await withRenewal(service, canRestart, async (headers) =>
        openDownload(transport, {
          url: `${await authorizer.address()}${path}`,
          method: operation.method,
          headers: {
            ...clientHeaders,
            Accept: "*/*",
            "Content-Type": contentType,
            ...more,
            ...headers,
          },
          body: body(),
          signal,
          service,
        }),
      );
      if (answer.body === undefined) return answer;
      throw downloadFailure(service, answer.status, answer.headers, answer.body);
    },
    /** Calls an operation that takes a multipart form with a file at its end. */
    async upload<E extends AnyEndpoint>(
      operation: Operation<E>,
      input: Omit<CallInput<E>, "body">,
      form: ByteUpload,
    ): Promise<Answer<E>> {
      const path = toAddress(operation.path, input.params, input.query);
      await stopDryRun(operation, path, {
        ...form.fields,
        [form.fileField]: { filename: form.filename, size: form.size ?? null },
      });
      const { sendUpload } = await import("./bytes.ts");
      const answer = await withRenewal(serviceOf(operation), form.canRestart, async (headers) =>
        sendUpload(transport, {
          method: operation.method,
          url: `${await authorizer.address()}${path}`,
          headers: { ...clientHeaders, Accept: "application/json", ...headers },
          signal,
          form,
          boundary: Buffer.from(system.random(16)).toString("hex"),
        }),
      );
      return toAnswer<E>(operation, answer, undefined);
    },
    /** Sends any request; any status is an answer. */
    async send({
      service,
      method,
      path,
      body,
      contentType,
      headers: further,
    }: FreeRequest): Promise<IncomingResponse> {
      if (cli.flags.dryRun && method !== "GET" && method !== "HEAD")
        throw new DryRun(await preview(method, path, toReadable(body)));
      const headers = {
        ...further,
        ...(contentType === undefined ? {} : { "Content-Type": contentType }),
      };
      try {
        return await sendSigned(service, method, path, headers, body, undefined);
      } catch (error) {
        if (!(error instanceof CliError) || error.code !== "not_signed_in") throw error;
        // A route may need no credentials; only the daemon knows.
        const answer = await sendSigned(service, method, path, headers, body, "none");
        if (answer.status === 401) throw error;
        return answer;
      }
    },
    /** Sends a GET request without credentials and returns any response. */
    async probe(path: string): Promise<IncomingResponse> {
      const url = await authorizer.address();
      const headers = { ...clientHeaders, Accept: "*/*" };
      return transport.send({
        method: "GET",
        url: `${url}${path}`,
        headers,
        body: undefined,
        signal,
      });
    },
  };
  return client;

  async function sendSigned(
    service: Service,
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body: string | Uint8Array | undefined,
    authorization: "none" | string | undefined,
  ): Promise<IncomingResponse> {
    const url = await authorizer.address();
    const pathOnly = path.split("?")[0] ?? path;
    const cookie =
      service === "vault" && cookieRoutes.has(pathOnly)
        ? await authorizer.vaultSession.cookie()
        : undefined;
    const sendTo = (to: string, signed: Readonly<Record<string, string>>) =>
      transport.send({
        method,
        url: `${url}${to}`,
        headers: {
          ...clientHeaders,
          Accept: "application/json, */*;q=0.5",
          ...headers,
          ...(cookie === undefined ? {} : { Cookie: cookie }),
          ...signed,
        },
        body,
        signal,
      });
    const send = async (signed: Readonly<Record<string, string>>) => {
      const answer = await sendTo(path, signed);
      const moved = service === "forge" ? movedPathOf(answer) : undefined;
      if (moved === undefined) return answer;
      // A person has confirmed the name of the line, which may be that of something gone.
      if (method === "DELETE") throw formerName(path, moved);
      return sendTo(moved, signed);
    };
    if (authorization === "none") return send({});
    if (authorization !== undefined) return send({ Authorization: authorization });
    return withRenewal(service, undefined, send);
  }

  /** Sends a request, and repeats it once with renewed credentials if the first were refused. */
  async function withRenewal<T extends { readonly status: number; readonly body?: unknown }>(
    service: Service,
    canRepeat: boolean | undefined,
    send: (headers: Readonly<Record<string, string>>) => Promise<T>,
  ): Promise<T> {
    const authorization = await authorizer.authorization(service);
    const first = await send({ Authorization: authorization.header });
    const { renew } = authorization;
    if (first.status !== 401 || renew === undefined || canRepeat === false) return first;
    // A 401 may also mean that the cloud provider or a password in the body was refused; a new token would not help.
    if (Buffer.isBuffer(first.body) && !isTokenRefusal(first.body)) return first;
    return send({ Authorization: await renew() });
  }

  async function stopDryRun(operation: AnyOperation, path: string, body: unknown): Promise<void> {
    if (!cli.flags.dryRun || operation.method === "GET") return;
    throw new DryRun(await preview(operation.method, path, body));
  }

  async function preview(method: string, path: string, body: unknown) {
    const { url } = await authorizer.target();
    return { request: toPreview(method, `${url}${path}`, body) };
  }
}

/** Parses a JSON body, so that a preview can hide its secrets. */
function toReadable(body: FreeRequest["body"]): unknown {
  return typeof body === "string" ? (parseJson(Buffer.from(body)) ?? body) : body;
}

/** Returns the new path of a renamed user; never another server, because credentials are sent along. */
function movedPathOf({ status, headers }: IncomingResponse): string | undefined {
  const { location } = headers;
  return status === 307 && location?.startsWith("/api/v1/") === true ? location : undefined;
}

function formerName(path: string, moved: string): CliError {
  const [former, present] = [path, moved].map((each) =>
    each.slice("/api/v1/".length).replace(/\?.*$/, ""),
  );
  return new CliError("not_found", `${former} is the former name of ${present}`, {
    service: "forge",
    hint: "nothing was deleted; give the present name",
  });
}

/** Returns the service of an operation. */
function serviceOf(operation: { readonly path: string }): Service {
  return apiOf(operation);
}

function toAnswer<E extends AnyEndpoint>(
  operation: AnyOperation,
  answer: IncomingResponse,
  accept: CallOptions["accept"],
): Answer<E> {
  const body = isJson(answer.headers) ? parseJson(answer.body) : toText(answer.body);
  const failure = failureOf(serviceOf(operation), answer);
  if (failure !== undefined && accept?.({ status: answer.status, body }) !== true) throw failure;
  if (isJson(answer.headers) && body === undefined && answer.body.byteLength > 0)
    throw new CliError("unexpected_answer", "the daemon's response is not valid JSON");
  return {
    status: answer.status,
    body,
    headers: answer.headers,
    raw: answer,
  } as unknown as Answer<E>;
}
