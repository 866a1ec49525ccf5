import { z } from "zod";
import {
  anyone,
  bytes,
  empty,
  fileParts,
  multipart,
  perAccount,
  perAddress,
  text as textOf,
  vaultUser,
} from "../endpoint.ts";
import { exactText, line, oneOf, password, text, time, uuid } from "./common.ts";
import { resource } from "./resource.ts";

const kind = oneOf(["download", "upload"]);

/** A link for people without an account. */
export const link = z.object({
  id: uuid,
  /** The address for visitors. Null when its secret cannot be read any more. */
  url: z.string().nullable(),
  kind: z.enum(["download", "upload"]),
  /** The title that visitors see: the given name, else that of the target. */
  name: z.string(),
  /** `used_up`: all downloads or files are used. `unavailable`: the target is deleted or in the trash. */
  status: z.enum(["active", "expired", "used_up", "unavailable"]),
  document_id: uuid.nullable(),
  /** The documents of a link to several, without deleted ones. */
  document_ids: z.array(uuid),
  connection_id: uuid.nullable(),
  item_id: z.string().nullable(),
  expires_at: time.nullable(),
  has_password: z.boolean(),
  max_downloads: z.int().nullable(),
  downloads: z.int().min(0),
  max_files: z.int().nullable(),
  files: z.int().min(0),
  max_bytes: z.int().nullable(),
  received_bytes: z.int().min(0),
  /** Ids of topics that received files get. */
  topic_ids: z.array(uuid),
  message: z.string().nullable(),
  created_at: time,
  updated_at: time,
});

const count = z.int().min(1).max(1_000_000_000);
const linkName = line(255);
const linkPassword = password.refine((value) => value !== "", "A password must not be empty");

/** Largest number of documents of one link. */
const LINK_DOCUMENTS_MAX = 1_000;

const limits = {
  /** In seven days by default; null never. */
  expires_at: z.iso
    .datetime({ offset: true, error: "Give a time such as 2027-01-31T00:00:00Z" })
    .transform((at) => Date.parse(at))
    .nullable()
    .optional(),
  password: linkPassword.nullable().optional(),
  name: linkName.optional(),
  max_downloads: count.nullable().optional(),
  max_files: count.nullable().optional(),
  max_bytes: z.int().min(1).nullable().optional(),
  topic_ids: z.array(uuid).max(50).optional(),
  message: text(2000).nullable().optional(),
} as const;

const newLink = z.object({
  kind: kind.default("download"),
  document_id: uuid.brand<"DocumentId">().optional(),
  document_ids: z.array(uuid.brand<"DocumentId">()).min(1).max(LINK_DOCUMENTS_MAX).optional(),
  connection_id: uuid.brand<"ConnectionId">().optional(),
  item_id: exactText(4096).min(1).optional(),
  ...limits,
});

const page = textOf("text/html; charset=utf-8");
/** 192 bits in base64url. */
const secretParams = z.object({ secret: z.string().regex(/^[\w-]{32}$/) });
const passwordForm = multipart(z.object({ password: z.string().max(4096).default("") }));
const refusals = { 403: page, 404: page, 410: page, 429: page, 503: page };
const pages = { ...refusals, 200: page };
const unlocked = { ...refusals, 303: empty };
const files = { ...pages, 200: bytes };
const receipts = { ...pages, 413: page, 422: page };

/** Most files of one request to an upload link; more of them are more requests. */
const LINK_FILES_MAX = 1_000;

/** Operations on links. */
export const linkEndpoints = resource(
  {
    name: "vault.links",
    path: "/api/links",
    id: { link_id: uuid },
    shape: link,
    gate: vaultUser,
    limit: perAccount(100, 60),
  },
  ({ list, create, get, edit, remove }) => ({
    createLink: create(
      "Create a link for people without an account: to documents or an item, or to receive files",
      newLink,
      { refuses: [404, 409] },
    ),
    listLinks: list("List one's links, newest first", {
      filters: { kind: kind.optional(), document_id: uuid.brand<"DocumentId">().optional() },
    }),
    getLink: get("Get a link; owner only", { as: "view" }),
    updateLink: edit("Change a link; its address stays", z.object(limits), { as: "update" }),
    deleteLink: remove("Revoke a link; it takes effect at once", { as: "revoke" }),
  }),
);

/** The pages of links that visitors open. */
export const linkPageEndpoints = {
  ...resource(
    {
      name: "vault.links.download",
      path: "/s/:secret",
      params: secretParams,
      gate: anyone,
      limit: perAddress(300, 60),
    },
    ({ operation }) => ({
      openLink: operation({
        as: "open",
        method: "GET",
        summary: "The page of a link: what it gives, or the form for its password",
        replies: pages,
        refusesOnly: [],
        apiOnly: "a browser opens it",
      }),
      unlockLink: operation({
        as: "unlock",
        method: "POST",
        summary: "Check the password of a link; a cookie opens it for an hour",
        body: passwordForm,
        replies: unlocked,
        refusesOnly: [413, 422],
        apiOnly: "the page's form posts it",
      }),
      downloadLink: operation({
        as: "download",
        method: "GET",
        at: "download",
        summary: "The file of a link, or a ZIP archive of its files",
        replies: files,
        refusesOnly: [],
        apiOnly: "a browser or curl opens it",
      }),
      previewLink: operation({
        as: "preview",
        method: "GET",
        at: "preview",
        summary: "The file of a link in its place; not of a link with a limit of downloads",
        replies: files,
        refusesOnly: [],
        apiOnly: "the page of the link shows it",
      }),
    }),
  ),
  ...resource(
    {
      name: "vault.links.upload",
      path: "/r/:secret",
      params: secretParams,
      gate: anyone,
      limit: perAddress(300, 60),
    },
    ({ operation }) => ({
      openUploadLink: operation({
        as: "open",
        method: "GET",
        summary: "The form of a link that receives files",
        replies: pages,
        refusesOnly: [],
        apiOnly: "a browser opens it",
      }),
      unlockUploadLink: operation({
        as: "unlock",
        method: "POST",
        at: "unlock",
        summary: "Check the password of a link; a cookie opens it for an hour",
        body: passwordForm,
        replies: unlocked,
        refusesOnly: [413, 422],
        apiOnly: "the page's form posts it",
      }),
      sendToLink: operation({
        as: "send",
        method: "POST",
        summary: "Send files to a link; they become documents of its owner",
        body: fileParts({
          filesMax: LINK_FILES_MAX,
          bytesMax: Number.MAX_SAFE_INTEGER,
          // Enough for a scan: strangers must not make the server read without an end what it refuses.
          skippedBytesMax: 16 * 1024 * 1024,
        }),
        replies: receipts,
        refusesOnly: [],
        apiOnly: "the page's form posts it",
      }),
    }),
  ),
};
