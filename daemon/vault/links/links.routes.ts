import { linkEndpoints, linkPageEndpoints } from "../../contract/vault/links.ts";
import type { AnswerHeaders, Route, ServerRequest } from "../../http/handle.ts";
import type { LinkKind } from "../../../storage/tables/vault/links.ts";
import { toTime } from "../accounts/accounts.view.ts";
import { handle, serve } from "../handle.ts";
import { toPage, toPageRequest } from "../page.ts";
import { readPreview } from "./preview.ts";
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
import { toLinkName, toLinkStatus } from "./link-targets.ts";
import type { LinkDetail, Links } from "./links.service.ts";
import type { LinkReceipts } from "./receipts.service.ts";
import type { LinkVisits, Visit, Visitor } from "./visits.service.ts";

export interface LinkRoutesDeps {
  readonly links: Links;
  readonly visits: LinkVisits;
  readonly receipts: LinkReceipts;
  /** Base of every link, without a trailing slash. */
  readonly publicUrl: () => string;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}

/** Routes of `/api/links`, and the pages of `/s/` and `/r/`. */
export function linkRoutes({ links, visits, receipts, publicUrl, clock }: LinkRoutesDeps): Route[] {
  const show = (detail: LinkDetail) => toLinkView(detail, publicUrl(), clock());

  return [
    ...serve(linkEndpoints, {
      createLink: async ({ caller, body }) => show(await links.create(caller, body)),
      listLinks: async ({ caller, query }) => {
        const page = toPageRequest(query);
        const found = await links.list(caller, query, page);
        return toPage(found.links.map(show), found.total, page);
      },
      getLink: async ({ caller, params }) => show(await links.get(caller, params.link_id)),
      updateLink: async ({ caller, params, body }) =>
        show(await links.update(caller, params.link_id, body)),
      deleteLink: ({ caller, params }) => links.revoke(caller, params.link_id),
    }),
    handle(linkPageEndpoints.openLink, async ({ params: { secret }, request }) => {
      const visit = await visits.open("download", secret, toVisitor(request));
      if (visit.kind !== "open" || visit.target === undefined) return toClosedReply(visit, secret);
      const { link, target, isUsedUp } = visit;
      const preview = isUsedUp ? undefined : await readPreview(visits, visit);
      const page = await createDownloadPage({ link, target, secret, preview, isUsedUp });
      return isUsedUp ? toPageReply(410, page) : toPageReply(200, page);
    }),
    handle(linkPageEndpoints.unlockLink, ({ params: { secret }, body, request }) => {
      body.file?.stream.resume();
      return unlock("download", secret, request, body.fields.password);
    }),
    handle(linkPageEndpoints.downloadLink, ({ params: { secret }, request }) =>
      sendFile(secret, request, "attachment"),
    ),
    handle(linkPageEndpoints.previewLink, ({ params: { secret }, request }) =>
      sendFile(secret, request, "inline"),
    ),
    handle(linkPageEndpoints.openUploadLink, async ({ params: { secret }, request }) => {
      const visit = await visits.open("upload", secret, toVisitor(request));
      if (visit.kind !== "open") return toClosedReply(visit, secret);
      return toPageReply(200, await createUploadPage(visit.link, secret));
    }),
    handle(linkPageEndpoints.unlockUploadLink, ({ params: { secret }, body, request }) => {
      body.file?.stream.resume();
      return unlock("upload", secret, request, body.fields.password);
    }),
    handle(linkPageEndpoints.sendToLink, async ({ params: { secret }, body, request }) => {
      const visitor = toVisitor(request);
      const visit = await visits.open("upload", secret, visitor);
      if (visit.kind !== "open") {
        for await (const { stream } of body) stream.resume();
        return toClosedReply(visit, secret);
      }
      const receipt = await receipts.receive(visit.link, body, visitor.address);
      const after = await visits.open("upload", secret, visitor);
      const link = after.kind === "open" ? after.link : visit.link;
      const isActive = after.kind === "open";
      const page = await createReceiptPage(receipt, { link, secret, isActive });
      return receipt.received.length === 0 ? toPageReply(422, page) : toPageReply(200, page);
    }),
  ];

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

/** A link as its owner sees it. */
export function toLinkView(detail: LinkDetail, publicUrl: string, now: number) {
  const { link, target, path, documentIds, topicIds } = detail;
  const item = target !== undefined && "item" in target ? target.item : undefined;
  const toMaybeTime = (at: number | undefined) => (at === undefined ? null : toTime(at));
  return {
    id: link.id,
    url: path === undefined ? null : publicUrl + path,
    kind: link.kind,
    name: toLinkName(link, target),
    status: toLinkStatus(link, target, now),
    document_id: link.documentId ?? null,
    document_ids: [...documentIds],
    connection_id: item?.connectionId ?? null,
    item_id: item?.providerItemId ?? null,
    expires_at: toMaybeTime(link.expiresAt),
    has_password: link.passwordHash !== undefined,
    max_downloads: link.maxDownloads ?? null,
    downloads: link.downloads,
    max_files: link.maxFiles ?? null,
    files: link.files,
    max_bytes: link.maxBytes ?? null,
    received_bytes: link.receivedBytes,
    topic_ids: [...topicIds],
    message: link.message ?? null,
    created_at: toTime(link.createdAt),
    updated_at: toTime(link.updatedAt),
  };
}
