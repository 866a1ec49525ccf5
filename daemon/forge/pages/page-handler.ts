import { addRoute, createRouter, findRoute } from "rou3";
import { AppError } from "../../errors.ts";
import type { RateLimiter } from "../../http/bind.ts";
import type { BytesAnswer, ServerRequest } from "../../http/handle.ts";
import { statusOfCode, toRefusal } from "../../http/replies.ts";
import type { ForgeCaller } from "../caller.ts";
import type { Rendering } from "../../rendering/rendering.service.ts";
import type { ForgeUrls } from "../urls.ts";
import { toErrorPage } from "./error-page.tsx";
import { toBasePath, toDocument } from "./layout.tsx";
import type { CallOperation } from "./operations.ts";
import type { PageAnswer, PageContext, PageRoute, RenderText } from "./page.ts";
import { SESSION_MS, type Session, type Sessions } from "./sessions.ts";
import { ICON, ICON_PATH, STYLE, STYLE_PATH } from "./style.ts";
import { answerGoCommand } from "./tool-pages.ts";

/** A page as it goes to the browser. */
export interface SentPage {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | BytesAnswer | undefined;
}

export interface PageHandlerDeps {
  readonly pages: readonly PageRoute[];
  readonly sessions: Sessions;
  readonly rendering: Rendering;
  readonly urls: ForgeUrls;
  readonly instanceName: string;
  /** Returns calls of the API's operations on behalf of a request. */
  readonly operations: (request: ServerRequest, caller: ForgeCaller | undefined) => CallOperation;
  readonly limiter: Pick<RateLimiter, "consume" | "addressKey">;
  readonly reportBug: (error: unknown, request: ServerRequest) => void;
}

const COOKIE = "croft_session";
/** A comment of the largest size, percent-encoded. */
const FORM_BYTES_MAX = 256 * 1024;
const SIGN_IN_BYTES_MAX = 16 * 1024;

const HEADERS = {
  "Content-Type": "text/html; charset=utf-8",
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "same-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Content-Security-Policy":
    "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
} as const;

/** A private file must not be shown within a page of another site, nor be kept by a cache that others use. */
const FILE_HEADERS = {
  "Cache-Control": "private, no-cache",
  "X-Frame-Options": "DENY",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "same-origin",
} as const;

/** Pages of one caller, which run git and render texts. */
const PAGES_PER_MINUTE = { max: 600, seconds: 60 } as const;

/** Reads the whole body of a request. Throws `too_large` beyond `bytesMax`. */
export type ReadFormBody = (bytesMax: number) => Promise<Buffer>;

/** Answers a request for a page. Never rejects. */
export type AnswerPage = (request: ServerRequest, readBody: ReadFormBody) => Promise<SentPage>;

export function createPageHandler(deps: PageHandlerDeps): AnswerPage {
  const { pages, sessions, rendering, urls, instanceName, limiter } = deps;
  const table = createRouter<PageRoute>();
  for (const page of pages) addRoute(table, page.method, page.path, page);

  return async function answer(request, readBody) {
    const path = request.target.split("?", 1).join();
    const asset = assets[path];
    if (asset !== undefined) return asset;
    const secret = readCookie(request);
    let session: Session | undefined;
    try {
      session = secret === undefined ? undefined : await sessions.find(secret);
      const found = await run(request, readBody, session);
      return send(found, request, session);
    } catch (error) {
      if (request.signal.aborted && isAbort(error)) return unsent;
      const refusal = toRefusal(error);
      if (refusal === undefined) deps.reportBug(error, request);
      if (refusal?.code === "moved") return moved(refusal, toBasePath(urls), request.target);
      const status = refusal === undefined ? 500 : statusOfCode[refusal.code];
      const page = toErrorPage(status, refusal?.message, session !== undefined);
      return send(page, request, session);
    }
  };

  async function count(key: string): Promise<void> {
    const { allowed, resetSeconds } = await limiter.consume(`forge.pages:${key}`, PAGES_PER_MINUTE);
    if (allowed) return;
    const text = `too many pages, try again in ${resetSeconds} seconds`;
    throw new AppError("rate_limited", text, { retryAfterSeconds: resetSeconds });
  }

  async function run(
    request: ServerRequest,
    readBody: ReadFormBody,
    session: Session | undefined,
  ): Promise<PageAnswer> {
    const caller = session?.caller;
    const key =
      caller === undefined ? `a:${limiter.addressKey(request.address)}` : `u:${caller.actor.id}`;
    await count(key);
    const path = request.target
      .split("?", 1)
      .join()
      .replace(/(?<=.)\/+$/, "");
    const method = request.method === "HEAD" ? "GET" : request.method;
    if (hasDotSegment(path)) throw new AppError("not_found", "not found");
    const forGo = answerGoCommand(request, path, urls);
    if (forGo !== undefined) return forGo;
    const match = findRoute(table, method, path);
    if (match === undefined) throw new AppError("not_found", "not found");
    const page = match.data;
    const params = decode(match.params ?? {});
    const form =
      page.method === "POST" ? await readForm(request, session, readBody) : new URLSearchParams();
    if (page.method === "POST") assertOwnForm(request, session, form);
    if (caller?.user.mustChangePassword && page.beforePasswordChange !== true)
      return { kind: "redirect", to: "/user/settings/change_password" };
    const context: PageContext = {
      request,
      session,
      viewer: caller?.user,
      urls,
      instanceName,
      call: deps.operations(request, caller),
      render: (text) => render(text, key),
      form,
    };
    return page.run(context, params);
  }

  /** A text that takes too long to render is shown as it is; so is one of a busy server. */
  async function render(
    { text, mode, context, filePath = "" }: RenderText,
    caller: string,
  ): Promise<string | undefined> {
    try {
      const outcome = await rendering.render({
        text,
        mode,
        context,
        filePath,
        isWiki: false,
        hasUniqueIds: true,
        caller,
      });
      return outcome.kind === "rendered" ? outcome.html : undefined;
    } catch (error) {
      if (error instanceof AppError && error.code === "unavailable") return undefined;
      throw error;
    }
  }

  async function readForm(
    { headers }: ServerRequest,
    session: Session | undefined,
    readBody: ReadFormBody,
  ): Promise<URLSearchParams> {
    const type = headers["content-type"] ?? "";
    if (!type.toLowerCase().startsWith("application/x-www-form-urlencoded"))
      throw new AppError("invalid_argument", "the form has another type than a page sends");
    const bytes = await readBody(session === undefined ? SIGN_IN_BYTES_MAX : FORM_BYTES_MAX);
    return new URLSearchParams(bytes.toString("utf8").replaceAll("%00", ""));
  }

  function send(
    answered: PageAnswer,
    request: ServerRequest,
    session: Session | undefined,
  ): SentPage {
    if (answered.kind === "redirect") {
      const cookie = toCookie(answered.session);
      return {
        status: 303,
        headers: {
          ...HEADERS,
          Location: toBasePath(urls) + answered.to,
          ...(cookie === undefined ? {} : { "Set-Cookie": cookie }),
        },
        body: undefined,
      };
    }
    if (answered.kind === "file")
      return { status: 200, headers: FILE_HEADERS, body: answered.answer };
    if (answered.kind === "text")
      return {
        status: 200,
        headers: { ...HEADERS, "Content-Type": answered.contentType },
        body: answered.text,
      };
    const viewer = session?.caller.user;
    const document = toDocument({ request, session, viewer, urls, instanceName }, answered);
    return { status: answered.status ?? 200, headers: HEADERS, body: document };
  }

  function toCookie(session: Session | null | undefined): string | undefined {
    if (session === undefined) return undefined;
    const secure = urls.publicUrl().startsWith("https:") ? "; Secure" : "";
    const common = `; Path=/; HttpOnly; SameSite=Strict${secure}`;
    return session === null
      ? `${COOKIE}=${common}; Max-Age=0`
      : `${COOKIE}=${session.secret}${common}; Max-Age=${SESSION_MS / 1000}`;
  }
}

/** The logged status when the client has disconnected; nginx introduced it. */
const unsent: SentPage = { status: 499, headers: {}, body: undefined };

const isAbort = (error: unknown) => error instanceof Error && error.name === "AbortError";

const assets: Readonly<Record<string, SentPage>> = {
  [STYLE_PATH]: toAsset("text/css; charset=utf-8", STYLE),
  [ICON_PATH]: toAsset("image/svg+xml", ICON),
};

function toAsset(type: string, body: string): SentPage {
  return {
    status: 200,
    headers: {
      "Content-Type": type,
      "Cache-Control": "public, max-age=31536000, immutable",
      "X-Content-Type-Options": "nosniff",
    },
    body,
  };
}

/** A renamed user or repository: the same page under the current names, which the address in the API contains. */
function moved({ data }: AppError, basePath: string, target: string): SentPage {
  const Location = basePath + toMovedPage(data.location ?? "/", target);
  return { status: 307, headers: { ...HEADERS, Location }, body: undefined };
}

/** Replaces the owner, and the repository if the address in the API has one, at the beginning of a page's address. */
export function toMovedPage(location: string, target: string): string {
  const [, owner, repo] =
    /^\/api\/v1\/(?:(?:users|orgs)\/([^/?]+)|repos\/([^/]+)\/([^/?]+))/
      .exec(location)
      ?.filter((part) => part !== undefined) ?? [];
  if (owner === undefined) return "/";
  const [, formerOwner = "", formerRepo = "", rest = ""] =
    /^\/([^/?]*)((?:\/[^/?]*)?)(.*)$/s.exec(target) ?? [];
  // Public keys of an account have its name and an ending.
  const ending = repo === undefined ? (/\.(?:keys|gpg)$/.exec(formerOwner)?.[0] ?? "") : "";
  return `/${owner}${ending}${repo === undefined ? formerRepo : `/${repo}`}${rest}`;
}

/** Refuses a form that no page of this session sent. The sign-in form has no session yet: only a page here may send it. */
function assertOwnForm(
  { headers }: ServerRequest,
  session: Session | undefined,
  form: URLSearchParams,
): void {
  const site = headers["sec-fetch-site"];
  const isSameOrigin =
    site === "same-origin" || (site === undefined && headers.origin !== undefined);
  if (session === undefined ? isSameOrigin : form.get("form_token") === session.formToken) return;
  throw new AppError(
    "forbidden",
    "The form is out of date. Go back, reload the page and try again.",
  );
}

/** Returns the caller of the session that a request names; undefined while its password must be changed. */
export async function findSessionCaller(
  sessions: Sessions,
  request: ServerRequest,
): Promise<ForgeCaller | undefined> {
  const secret = readCookie(request);
  const session = secret === undefined ? undefined : await sessions.find(secret);
  return session?.caller.user.mustChangePassword ? undefined : session?.caller;
}

/** Returns the secret of the session that a request names. */
function readCookie({ headers }: ServerRequest): string | undefined {
  for (const part of (headers.cookie ?? "").split(";")) {
    const [name, value] = part.trim().split("=");
    if (name === COOKIE && value !== undefined && /^[\w-]{43}$/.test(value)) return value;
  }
  return undefined;
}

const hasDotSegment = (path: string) => /\/(?:\.|%2e){1,2}(?:\/|$)/i.test(path);

function decode(params: Readonly<Record<string, string>>): Record<string, string> {
  const decoded: Record<string, string> = {};
  for (const [name, value] of Object.entries(params)) {
    const text = decodeOrRefuse(value);
    if (text.includes("\0")) throw new AppError("not_found", "not found");
    decoded[name] = text;
  }
  return decoded;
}

function decodeOrRefuse(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch (error) {
    throw new AppError("invalid_argument", "the address cannot be decoded", { cause: error });
  }
}
