// What visitors get at the addresses of links: each answer is a page, or the bytes.
import type { LinkKind } from "../../../storage/tables/vault/links.ts";
import type { AnswerHeaders, FilePart, ServerRequest } from "../../http/handle.ts";
import {
  createDownloadPage,
  createMessagePage,
  createMissingPage,
  createPasswordPage,
  createReceiptPage,
  createUploadPage,
} from "./link-pages.tsx";
import { toFileReply, toPageReply, toRefusalReply } from "./link-replies.ts";
import { PASS_SECONDS } from "./link-secrets.ts";
import { readPreview } from "./preview.ts";
import type { LinkReceipts } from "./receipts.service.ts";
import type { LinkVisits, Visit, Visitor } from "./visits.service.ts";

export interface LinkVisitorsDeps {
  readonly visits: LinkVisits;
  readonly receipts: LinkReceipts;
  /** Base of every link, without a trailing slash. */
  readonly publicUrl: () => string;
}

export type LinkVisitors = ReturnType<typeof createLinkVisitors>;

/** Answers the requests of visitors. */
export function createLinkVisitors({ visits, receipts, publicUrl }: LinkVisitorsDeps) {
  return {
    /** The page of a link to download. */
    async open(secret: string, request: ServerRequest) {
      const visit = await visits.open("download", secret, toVisitor(request));
      if (visit.kind !== "open" || visit.target === undefined) return toClosedReply(visit, secret);
      const { link, target, isUsedUp } = visit;
      const preview = isUsedUp ? undefined : await readPreview(visits, visit);
      const page = await createDownloadPage({ link, target, secret, preview, isUsedUp });
      return isUsedUp ? toPageReply(410, page) : toPageReply(200, page);
    },

    /** The form of a link that receives files. */
    async openUpload(secret: string, request: ServerRequest) {
      const visit = await visits.open("upload", secret, toVisitor(request));
      if (visit.kind !== "open") return toClosedReply(visit, secret);
      return toPageReply(200, await createUploadPage(visit.link, secret));
    },

    /** Receives the files of a form. */
    async receive(secret: string, request: ServerRequest, parts: AsyncIterable<FilePart>) {
      const visitor = toVisitor(request);
      const visit = await visits.open("upload", secret, visitor);
      if (visit.kind !== "open") {
        // Leaving the form gives up what is still to come.
        for await (const { stream } of parts) {
          stream.resume();
          break;
        }
        return toClosedReply(visit, secret);
      }
      const receipt = await receipts.receive(visit.link, parts, visitor.address);
      const after = await visits.open("upload", secret, visitor);
      const link = after.kind === "open" ? after.link : visit.link;
      const isActive = after.kind === "open";
      const page = await createReceiptPage(receipt, { link, secret, isActive });
      return receipt.received.length === 0 ? toPageReply(422, page) : toPageReply(200, page);
    },

    sendFile,
    unlock,
  };

  async function sendFile(
    secret: string,
    request: ServerRequest,
    disposition: "inline" | "attachment",
  ) {
    const visitor = toVisitor(request);
    try {
      const visit = await visits.open("download", secret, visitor);
      if (visit.kind !== "open") return await toClosedReply(visit, secret);
      const isPreview = disposition === "inline";
      // A preview gives all bytes: where downloads are limited, there is none.
      if (isPreview && visit.link.maxDownloads !== undefined)
        return toPageReply(404, await createMissingPage());
      const file = await visits.download(visit, visitor, {
        isCounted: !isPreview && request.method !== "HEAD",
        isBeginning: isBeginning(request),
      });
      if (file !== undefined) return toFileReply(file, disposition);
      const text = "All downloads of this link are used.";
      return toPageReply(410, await createMessagePage("Downloaded already", text));
    } catch (error) {
      return toRefusalReply(error);
    }
  }

  async function unlock(kind: LinkKind, secret: string, request: ServerRequest, password: string) {
    const visitor = toVisitor(request);
    try {
      const visit = await visits.open(kind, secret, visitor);
      if (visit.kind === "missing" || visit.kind === "ended")
        return await toClosedReply(visit, secret);
      const pass = await visits.unlock(kind, secret, visitor, password);
      if (pass === undefined && visit.kind === "locked") {
        const page = await createPasswordPage(toUnlockPath(kind, secret), "The password is wrong.");
        return toPageReply(403, page);
      }
      const headers: AnswerHeaders = {
        // Relative, because a proxy may serve croft below a path.
        Location: kind === "download" ? secret : `../${secret}`,
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        ...(pass === undefined ? {} : { "Set-Cookie": toCookie(kind, secret, pass, publicUrl()) }),
      };
      return { status: 303, headers } as const;
    } catch (error) {
      return toRefusalReply(error);
    }
  }
}

/** The page of a link that cannot be used, or only with its password. */
async function toClosedReply(visit: Visit, secret: string) {
  if (visit.kind === "locked") {
    const action = toUnlockPath(visit.link.kind, secret);
    return toPageReply(403, await createPasswordPage(action, undefined));
  }
  const page = await createMissingPage();
  return visit.kind === "ended" ? toPageReply(410, page) : toPageReply(404, page);
}

const toUnlockPath = (kind: LinkKind, secret: string): string =>
  kind === "download" ? secret : `${secret}/unlock`;

const COOKIE = "croft_link";

function toVisitor({ address, headers }: ServerRequest): Visitor {
  const pairs = (headers.cookie ?? "").split(";").map((pair) => pair.trim());
  const pass = pairs.find((pair) => pair.startsWith(`${COOKIE}=`))?.slice(COOKIE.length + 1);
  return { address, pass };
}

function toCookie(kind: LinkKind, secret: string, pass: string, publicUrl: string): string {
  const { pathname, protocol } = new URL(publicUrl);
  const path = `${pathname.replace(/\/$/, "")}/${kind === "download" ? "s" : "r"}/${secret}`;
  const secure = protocol === "https:" ? "; Secure" : "";
  return `${COOKIE}=${pass}; Path=${path}; Max-Age=${PASS_SECONDS}; HttpOnly; SameSite=Lax${secure}`;
}

/** Returns whether a request asks for the beginning of a file, not for a later range. */
function isBeginning({ headers }: ServerRequest): boolean {
  return !/^bytes=(?!0*-)\d/.test(headers.range ?? "") && !/^bytes=-/.test(headers.range ?? "");
}
