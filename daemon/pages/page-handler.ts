import { hash } from "node:crypto";
import { addRoute, createRouter, findRoute } from "rou3";
import { AppError, assertNever } from "../errors.ts";
import type { RateLimiter } from "../http/bind.ts";
import { isNotModified } from "../http/conditional.ts";
import type { BytesAnswer, FilePart, ServerRequest } from "../http/handle.ts";
import { refusalHeaders, statusOfCode, toRefusal } from "../http/replies.ts";
import { renderDocument, toBasePath } from "./document.tsx";
import { toErrorPage } from "./error-page.tsx";
import type { CallOperation } from "./operations.ts";
import type { PageAnswer, PageContext, PageRoute, RenderText } from "./page.ts";
import { readSessionCookie, type Session, toSetCookie } from "./sessions.ts";
import { noFiles, readFileForm } from "./file-form.ts";
import type { Site, SiteAsset } from "./site.ts";
import { ICON, ICON_PATH, STYLE, STYLE_PATH } from "./style.ts";

/** A page as it goes to the browser. */
export interface SentPage {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | BytesAnswer | undefined;
}

export interface PageHandlerDeps<Caller> {
  readonly site: Site<Caller>;
  /** The public address of the server, without a trailing slash. */
  readonly publicUrl: () => string;
  readonly instanceName: string;
  readonly limiter: Pick<RateLimiter, "consume" | "addressKey">;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly reportBug: (error: unknown, request: ServerRequest) => void;
}

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
} as const;

/** The content security policy of all pages. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self' data:",
  "media-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
] as const;

/** A private file must not be shown within a page of another site, nor be kept by a cache that others use. */
const FILE_HEADERS = {
  "Cache-Control": "private, no-cache",
  "X-Frame-Options": "DENY",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "same-origin",
} as const;

/** The same for a file that a page of this site shows in a frame. */
const FRAMED_HEADERS = { ...FILE_HEADERS, "X-Frame-Options": "SAMEORIGIN" } as const;

/** Pages of one caller, which run git and render texts. */
const PAGES_PER_MINUTE = { max: 600, seconds: 60 } as const;

/** The body of a request, which is read once at most. */
export interface FormBody {
  /** Reads the whole body. Throws `too_large` beyond `bytesMax`. */
  whole(bytesMax: number): Promise<Buffer>;
  /** Reads the parts of a multipart form while they arrive, and stops once the session has ended; refuses when it has by then. */
  parts(isStillSignedIn: () => Promise<boolean>): Promise<AsyncIterable<FilePart>>;
}

/** Answers a request for a page. Never rejects. */
export type AnswerPage = (request: ServerRequest, formBody: FormBody) => Promise<SentPage>;

/** Creates the handler of a site's pages. */
export function createPageHandler<Caller>(deps: PageHandlerDeps<Caller>): AnswerPage {
  const { site, publicUrl, instanceName, limiter } = deps;
  const table = createRouter<PageRoute<Caller>>();
  for (const page of site.pages) addRoute(table, page.method, page.path, page);
  const pageHeaders = {
    ...HEADERS,
    "Content-Security-Policy": [...POLICY, ...(site.policy ?? [])].join("; "),
  };
  const assets = new Map([...commonAssets, ...(site.assets ?? [])].map(toEntry));

  return async function answer(request, formBody) {
    const path = request.target.split("?", 1).join();
    const asset = assets.get(path);
    if (asset !== undefined) return asset;
    const secret = readSessionCookie(request, site.cookie);
    let session: Session<Caller> | undefined;
    try {
      session = secret === undefined ? undefined : await site.findSession(secret, request);
      const found = await run(request, formBody, session);
      return await send(found, request, session);
    } catch (error) {
      if (request.signal.aborted && isAbort(error)) return unsent;
      const refusal = toRefusal(error);
      if (refusal === undefined) deps.reportBug(error, request);
      if (refusal?.code === "moved") return moved(refusal, request.target);
      const status = refusal === undefined ? 500 : statusOfCode[refusal.code];
      const signInPath = session === undefined ? site.signInPath : undefined;
      const page = toErrorPage(status, refusal?.message, signInPath);
      const sent = await send(page, request, session);
      return { ...sent, headers: { ...sent.headers, ...(refusal && refusalHeaders(refusal)) } };
    }
  };

  async function count(key: string): Promise<void> {
    const { allowed, resetSeconds } = await limiter.consume(
      `${site.name}:${key}`,
      PAGES_PER_MINUTE,
    );
    if (allowed) return;
    const text = `too many pages, try again in ${resetSeconds} seconds`;
    throw new AppError("rate_limited", text, { retryAfterSeconds: resetSeconds });
  }

  async function run(
    request: ServerRequest,
    formBody: FormBody,
    session: Session<Caller> | undefined,
  ): Promise<PageAnswer<Caller>> {
    const caller = session?.caller;
    const key =
      caller === undefined
        ? `a:${limiter.addressKey(request.address)}`
        : `u:${site.toAccount(caller)}`;
    await count(key);
    const path = request.target
      .split("?", 1)
      .join()
      .replace(/(?<=.)\/+$/, "");
    const method = request.method === "HEAD" ? "GET" : request.method;
    if (hasDotSegment(path)) throw new AppError("not_found", "not found");
    const first = site.answerFirst?.(request, path);
    if (first !== undefined) return first;
    const match = findRoute(table, method, path);
    if (match === undefined) throw new AppError("not_found", "not found");
    const page = match.data;
    const params = decode(match.params ?? {});
    const { form, files } =
      page.method === "POST"
        ? await readForm(request, session, { page, formBody })
        : { form: new URLSearchParams(), files: noFiles() };
    const isShared = page.isShareTarget === true && request.headers["sec-fetch-site"] === "none";
    if (page.method === "POST" && !isShared) assertOwnForm(request, session, form);
    const required = caller === undefined ? undefined : site.requiredPage?.(caller);
    if (required !== undefined && page.skipsRequiredPage !== true)
      return { kind: "redirect", to: required };
    const { call, findWait } = watchWaits(site.operations(request, caller));
    const context: PageContext<Caller> = {
      request,
      session,
      publicUrl,
      instanceName,
      call,
      render: (text) => render(text, key),
      form,
      files,
    };
    const answer = await page.run(context, params);
    const wait = page.method === "POST" ? findWait() : undefined;
    return wait === undefined || answer.kind !== "page"
      ? answer
      : { ...answer, refusal: answer.refusal ?? wait, status: statusOfCode[wait.code] };
  }

  /** A text that takes too long to render is shown as it is; so is one of a busy server. */
  async function render(
    { text, mode, context, filePath = "", language }: RenderText,
    account: string,
  ): Promise<string | undefined> {
    try {
      const outcome = await site.rendering.render({
        text,
        mode,
        context,
        filePath,
        language,
        isWiki: false,
        hasUniqueIds: true,
        caller: account,
      });
      return outcome.kind === "rendered" ? outcome.html : undefined;
    } catch (error) {
      if (error instanceof AppError && error.code === "unavailable") return undefined;
      throw error;
    }
  }

  async function readForm(
    request: ServerRequest,
    session: Session<Caller> | undefined,
    { page, formBody }: { readonly page: PageRoute<Caller>; readonly formBody: FormBody },
  ): Promise<Pick<PageContext<Caller>, "form" | "files">> {
    const type = (request.headers["content-type"] ?? "").toLowerCase();
    const takesFiles = page.takesFiles === true;
    if (takesFiles && session !== undefined && type.startsWith("multipart/form-data")) {
      const find = () => site.findSession(session.secret, request);
      return readFileForm(await formBody.parts(async () => (await find()) !== undefined));
    }
    if (!type.startsWith("application/x-www-form-urlencoded")) {
      // The session may have ended since the page was opened: its file is not read.
      if (takesFiles && session === undefined)
        return { form: new URLSearchParams(), files: noFiles() };
      throw new AppError("invalid_argument", "the form has another type than a page sends");
    }
    const bytesMax =
      session === undefined ? SIGN_IN_BYTES_MAX : (page.formBytesMax ?? FORM_BYTES_MAX);
    const bytes = await formBody.whole(bytesMax);
    const form = new URLSearchParams(bytes.toString("utf8").replaceAll("%00", ""));
    return { form, files: noFiles() };
  }

  async function send(
    answered: PageAnswer<Caller>,
    request: ServerRequest,
    session: Session<Caller> | undefined,
  ): Promise<SentPage> {
    switch (answered.kind) {
      case "redirect":
        return { status: 303, headers: toRedirectHeaders(answered), body: undefined };
      case "leave":
        return {
          status: 303,
          headers: { ...pageHeaders, Location: answered.to.href },
          body: undefined,
        };
      case "file":
        return {
          status: 200,
          headers: answered.isFramed === true ? FRAMED_HEADERS : FILE_HEADERS,
          body: answered.answer,
        };
      case "text":
        return {
          status: 200,
          headers: { ...pageHeaders, "Content-Type": answered.contentType },
          body: answered.text,
        };
      case "page": {
        const { title, body, status = 200, hasSecret = false } = answered;
        const header = site.header(request, session);
        const { homePath, head } = site;
        const parts = { title, body, header, instanceName, publicUrl, homePath, now: deps.clock() };
        const theme = session && site.toTheme?.(session.caller);
        const document = await renderDocument({ ...parts, theme, head: head?.(session) });
        const isCached = site.hasCachedPages === true && status === 200 && !hasSecret;
        if (isCached && request.method !== "POST")
          return toCachedPage(request, pageHeaders, document);
        const headers = {
          ...withFormTarget(pageHeaders, answered.formLeadsTo),
          ...toCookieHeader(answered),
          ...(answered.refusal && refusalHeaders(answered.refusal)),
        };
        return { status, headers, body: document };
      }
      default:
        return assertNever(answered);
    }
  }

  function toCookieHeader({ session, cookie }: Extract<PageAnswer<Caller>, { kind: "page" }>) {
    const set = session === undefined ? cookie : toSetCookie(session, site.cookie, publicUrl());
    return set === undefined ? {} : { "Set-Cookie": set };
  }

  function toRedirectHeaders({ to, session }: Extract<PageAnswer<Caller>, { kind: "redirect" }>) {
    const headers = { ...pageHeaders, Location: toBasePath(publicUrl) + to };
    if (session === undefined) return headers;
    const cookie = { "Set-Cookie": toSetCookie(session, site.cookie, publicUrl()) };
    // Pages of the ended session leave the browser's cache with it.
    const cleared = session === null ? { "Clear-Site-Data": '"cache"' } : {};
    return { ...headers, ...cookie, ...cleared };
  }

  /** A renamed resource: the same page under its current names. */
  function moved(refusal: AppError, target: string): SentPage {
    const Location = toBasePath(publicUrl) + (site.toMovedPage?.(refusal, target) ?? "/");
    return { status: 307, headers: { ...pageHeaders, Location }, body: undefined };
  }
}

/** Remembers the last operation that the caller may try again later: the form that called it shows its refusal as a text. */
function watchWaits(operations: CallOperation): {
  readonly call: CallOperation;
  readonly findWait: () => AppError | undefined;
} {
  let wait: AppError | undefined;
  const call: CallOperation = async (declared, input) => {
    try {
      return await operations(declared, input);
    } catch (error) {
      if (error instanceof AppError && error.data.retryAfterSeconds !== undefined) wait = error;
      throw error;
    }
  };
  return { call, findWait: () => wait };
}

/** Adds the address to which a form leads to the policy: browsers apply it to the redirect that answers the form, too. */
function withFormTarget(
  headers: Readonly<Record<string, string>>,
  target: URL | undefined,
): Readonly<Record<string, string>> {
  if (target === undefined) return headers;
  const { protocol, host } = target;
  // The grammar of policies has no addresses of IPv6, and programs have schemes of their own without hosts.
  const source =
    /^https?:$/.test(protocol) && /^[\w.-]+(?::\d+)?$/.test(host)
      ? `${protocol}//${host}`
      : protocol;
  const name = "Content-Security-Policy";
  const policy = headers[name]?.replace("form-action 'self'", `form-action 'self' ${source}`);
  return { ...headers, [name]: policy ?? "" };
}

/** A page that the browser may keep, and shows again once the server confirms that it is current. */
function toCachedPage(
  request: ServerRequest,
  pageHeaders: Readonly<Record<string, string>>,
  document: string,
): SentPage {
  // Weak: the bytes depend on the compression.
  const etag = `W/"${hash("sha256", document, "base64url").slice(0, 22)}"`;
  const headers = {
    ...pageHeaders,
    "Cache-Control": "private, no-cache",
    Vary: "Cookie",
    ETag: etag,
  };
  return isNotModified(request, { etag })
    ? { status: 304, headers, body: undefined }
    : { status: 200, headers, body: document };
}

/** The logged status when the client has disconnected; nginx introduced it. */
const unsent: SentPage = { status: 499, headers: {}, body: undefined };

const isAbort = (error: unknown) => error instanceof Error && error.name === "AbortError";

const commonAssets: readonly SiteAsset[] = [
  { path: STYLE_PATH, contentType: "text/css; charset=utf-8", content: STYLE, isHashed: true },
  { path: ICON_PATH, contentType: "image/svg+xml", content: ICON, isHashed: true },
];

function toEntry({ path, contentType, content, isHashed }: SiteAsset): [string, SentPage] {
  const headers = {
    "Content-Type": contentType,
    "Cache-Control": isHashed ? "public, max-age=31536000, immutable" : "no-cache",
    "X-Content-Type-Options": "nosniff",
  };
  return [path, { status: 200, headers, body: content }];
}

/** Refuses a form that no page of this session sent. The sign-in form has no session yet: only a page here may send it. */
function assertOwnForm(
  { headers }: ServerRequest,
  session: Session<unknown> | undefined,
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
