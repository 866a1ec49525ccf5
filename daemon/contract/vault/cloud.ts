import { z } from "zod";
import {
  anyone,
  bytes,
  endpoint,
  multipart,
  perAccount,
  perAddress,
  text,
  vaultUser,
  type AnyEndpoint,
} from "../endpoint.ts";
import { detail, line, pageOf, paging, queryFlag, time, uuid } from "./common.ts";

/** The cloud routes' limit per account (vault API, Limits). */
const perMinute = perAccount(100, 60);
const detailPerMinute = perAccount(120, 60);

/** Longest id that a provider may give an item. */
const ITEM_ID_MAX = 4096;
/** Largest number of bytes that a user may choose: 1 PiB. */
const BYTES_MAX = 2 ** 50;
/** Largest name in bytes of UTF-8. */
const NAME_BYTES_MAX = 255;

/** An id is the provider's own: it may hold slashes, is never normalised, and is compared byte for byte. */
const itemId = z
  .string()
  .min(1)
  .max(ITEM_ID_MAX)
  .refine((value) => value.isWellFormed() && !value.includes("\0"), "This is not an item id");

/** The id of a folder; empty or null is the root. */
const folderRef = z
  .string()
  .max(ITEM_ID_MAX)
  .refine((value) => value.isWellFormed() && !value.includes("\0"), "This is not a folder id");

/** A name for a file or folder: the rules that hold at every provider. */
export const itemName = z
  .string()
  .refine((value) => value.isWellFormed(), "A name must be well-formed Unicode")
  .normalize("NFC")
  .refine((value) => value !== "", "A name must not be empty")
  .refine((value) => value !== "." && value !== "..", "A name must not be . or ..")
  .refine((value) => !value.includes("/"), "A name must not contain a slash")
  .refine((value) => !/\p{Cc}/u.test(value), "A name must not contain control characters")
  .refine(
    (value) => new TextEncoder().encode(value).byteLength <= NAME_BYTES_MAX,
    `A name is at most ${NAME_BYTES_MAX} bytes of UTF-8`,
  );

const connectionParams = z.object({ connection_id: uuid });
const itemParams = z.object({ connection_id: uuid, item_id: itemId });

const guarding = z.enum(["atomic", "emulated", "no"]);

/** What a kind of storage can do. `atomic`: compared and done in one step; `emulated`: compared just before. */
export const powers = z.object({
  trash: z.boolean(),
  permanent_delete: z.boolean(),
  guarded_rename: guarding,
  guarded_delete: guarding,
  create_only: guarding,
  folder_move: z.boolean(),
  ids: z.enum(["stable", "path"]),
  case_sensitive: z.boolean(),
  normalisation_sensitive: z.boolean(),
  duplicate_names: z.boolean(),
  quota: z.boolean(),
  range: z.boolean(),
});

/** A kind of storage, and whether this server has what it needs. */
export const provider = z.object({
  type: z.string(),
  title: z.string(),
  /** `settings`: connect by `POST /connections`; `oauth`: by `GET /authorize/{provider}`. */
  sign_in: z.enum(["settings", "oauth"]),
  available: z.boolean(),
  missing_settings: z.array(z.string()),
  settings: z.array(
    z.object({
      name: z.string(),
      type: z.enum(["text", "path", "url", "choice", "switch"]),
      required: z.boolean(),
      secret: z.boolean(),
      help: z.string(),
      choices: z.array(z.string()).nullable(),
      default: z.string().nullable(),
    }),
  ),
  can: powers,
});

/** A connection; its settings and credentials are never shown. */
export const connection = z.object({
  id: uuid,
  provider: z.string(),
  display_name: z.string(),
  status: z.enum(["connected", "reauth_required", "offline"]),
  created_at: time,
  last_checked_at: time.nullable(),
  /** Null where the storage tells nothing. */
  quota: z
    .object({ used_bytes: z.int().min(0).nullable(), total_bytes: z.int().min(0).nullable() })
    .nullable(),
});

/** A failed change or check: what happened and why, as words to branch on. */
export const failure = z.object({
  kind: z.enum([
    "stale",
    "conflict",
    "invalid_destination",
    "reauth_required",
    "unsupported_operation",
    "invalid_name",
    "invalid_setting",
    "offline",
    "failed",
    "recording_failed",
  ]),
  reason: z.string(),
});

/** A connection that could not be made: `setting` names the one that is wrong, `detail` says what helps. */
export const connectFailure = failure.extend({
  setting: z.string().optional(),
  detail: z.string(),
});

const status = z.enum(["none", "pending", "processing", "ready", "failed", "unsupported"]);
const indexStatus = z.enum(["none", "pending", "ready", "failed", "stale"]);

/** One file or folder of a listing. `parent_ref` is null in the root. */
export const item = z.object({
  id: uuid,
  provider_item_id: z.string(),
  name: z.string(),
  kind: z.enum(["file", "folder"]),
  parent_ref: z.string().nullable(),
  content_type: z.string().nullable(),
  size: z.int().min(0).nullable(),
  modified_at: time.nullable(),
  etag: z.string().nullable(),
  analysis_status: status,
  semantic_index_status: indexStatus,
});

/** Everything that is known of an item (vault API, Cloud item detail). */
export const itemDetail = item.extend({
  provider: z.string(),
  display_name: z.string(),
  /** The names of the folders above it, each with a slash before it; `/` in the root. */
  location: z.string(),
  extracted_text: z.string().nullable(),
  topics: z.array(z.string()),
  capabilities: z.object({}).strict(),
  unsupported_analysis_reason: z.string().nullable(),
  is_stale: z.boolean(),
});

/** One page of a folder and the state of its listing. */
export const listing = z.object({
  parent_ref: z.string(),
  refresh_state: z.enum(["never", "fresh", "warning", "failed"]),
  error_code: z.string().nullable(),
  error_message: z.string().nullable(),
  listed_at: time.nullable(),
  items: z.array(item),
  next_cursor: z.string().nullable(),
});

const opened = z.object({ kind: z.literal("open"), url: z.string(), reason: z.literal("authorized") });
const unsupportedPreview = z.object({
  kind: z.literal("unsupported_preview"),
  reason: z.enum(["unsupported_format", "provider_error"]),
  url: z.string(),
});
const createdFolder = z.object({
  kind: z.literal("folder"),
  provider_item_id: z.string(),
  name: z.string(),
  parent_ref: z.string().nullable(),
});
const renamed = z.object({
  kind: z.literal("renamed"),
  provider_item_id: z.string(),
  name: z.string(),
});
const moved = z.object({
  kind: z.literal("moved"),
  provider_item_id: z.string(),
  parent_ref: z.string(),
});
const deleted = z.object({
  kind: z.literal("deleted"),
  reason: z.enum(["trashed", "permanent"]),
  provider_item_id: z.string(),
  item_kind: z.enum(["file", "folder"]),
  is_folder: z.boolean(),
});
const uploaded = z.object({
  kind: z.literal("uploaded"),
  provider_item_id: z.string(),
  name: z.string(),
  parent_ref: z.string().nullable(),
  size: z.int().min(0),
});
const nameTaken = z.object({
  kind: z.literal("conflict"),
  reason: z.literal("name_collision"),
  existing_name: z.string(),
});

/** What a change may answer besides success. 401 and 422 are typed when the provider says so, else `detail`. */
const refusals = {
  401: z.union([failure, detail]),
  403: detail,
  404: detail,
  409: failure,
  413: detail,
  422: z.union([failure, detail]),
  429: detail,
  503: z.union([failure, detail]),
} as const;

const lookRefusals = { 401: detail, 403: detail, 404: detail, 422: detail, 429: detail } as const;
const settingsMap = z.record(z.string().max(64), z.string().max(8192));
const displayName = line(100).refine((value) => value.trim() !== "", "A name must not be empty");

export const listProviders = endpoint({
  name: "vault.cloud.providers.list",
  method: "GET",
  path: "/api/cloud/providers",
  summary: "The kinds of storage, what each needs and can do",
  gate: vaultUser,
  limit: perMinute,
  query: z.object(paging),
  replies: { 200: pageOf(provider), 401: detail, 403: detail, 422: detail, 429: detail },
});

export const createConnection = endpoint({
  name: "vault.cloud.connections.create",
  method: "POST",
  path: "/api/cloud/connections",
  summary: "Connect a storage; it is looked at before it is kept",
  gate: vaultUser,
  limit: perMinute,
  body: z.object({
    provider: z.string().max(64),
    display_name: displayName,
    settings: settingsMap.default({}),
    credentials: settingsMap.default({}),
  }),
  replies: {
    201: connection,
    401: z.union([connectFailure, detail]),
    403: detail,
    422: z.union([connectFailure, detail]),
    429: detail,
    503: z.union([connectFailure, detail]),
  },
});

export const listConnections = endpoint({
  name: "vault.cloud.connections.list",
  method: "GET",
  path: "/api/cloud/connections",
  summary: "The caller's connections, oldest first",
  gate: vaultUser,
  limit: perMinute,
  query: z.object(paging),
  replies: { 200: pageOf(connection), 401: detail, 403: detail, 422: detail, 429: detail },
});

export const getConnection = endpoint({
  name: "vault.cloud.connections.view",
  method: "GET",
  path: "/api/cloud/connections/:connection_id",
  summary: "One connection",
  gate: vaultUser,
  limit: perMinute,
  params: connectionParams,
  replies: { 200: connection, ...lookRefusals },
});

export const updateConnection = endpoint({
  name: "vault.cloud.connections.edit",
  method: "PATCH",
  path: "/api/cloud/connections/:connection_id",
  summary: "Give a connection another name or other credentials; new credentials are tried first",
  gate: vaultUser,
  limit: perMinute,
  params: connectionParams,
  body: z.object({ display_name: displayName.optional(), credentials: settingsMap.optional() }),
  replies: {
    200: connection,
    401: z.union([connectFailure, detail]),
    403: detail,
    404: detail,
    422: z.union([connectFailure, detail]),
    429: detail,
    503: z.union([connectFailure, detail]),
  },
});

export const deleteConnection = endpoint({
  name: "vault.cloud.connections.delete",
  method: "DELETE",
  path: "/api/cloud/connections/:connection_id",
  summary: "Forget a connection with its credentials, items and cached bytes; the storage's files stay",
  gate: vaultUser,
  limit: perMinute,
  params: connectionParams,
  replies: { 200: z.object({ kind: z.literal("deleted"), id: uuid }), ...lookRefusals },
});

export const testConnection = endpoint({
  name: "vault.cloud.connections.test",
  method: "POST",
  path: "/api/cloud/connections/:connection_id/test",
  summary: "Look at the storage now; the answer's status tells how it went",
  gate: vaultUser,
  limit: perMinute,
  params: connectionParams,
  replies: { 200: connection, ...lookRefusals },
});

export const listItems = endpoint({
  name: "vault.cloud.items.list",
  method: "GET",
  path: "/api/cloud/connections/:connection_id/items",
  summary: "One page of a folder: folders first, then by name; listed anew when it is due",
  gate: vaultUser,
  limit: perMinute,
  params: connectionParams,
  query: z.object({
    parent_ref: folderRef.default(""),
    /** As `next_cursor` gave it. */
    cursor: z.string().max(8192).optional(),
    limit: z.coerce.number<string | number>().int().min(1).max(1000).default(100),
    refresh: queryFlag.default(false),
    /** Only the item of exactly this name. */
    name: z.string().max(1024).optional(),
  }),
  replies: { 200: listing, ...lookRefusals },
});

export const openItem = endpoint({
  name: "vault.cloud.items.open",
  method: "GET",
  path: "/api/cloud/connections/:connection_id/items/**:item_id/open",
  summary: "The address of the item's bytes",
  gate: vaultUser,
  limit: perMinute,
  params: itemParams,
  replies: { 200: opened, ...lookRefusals },
});

export const getItemDetail = endpoint({
  name: "vault.cloud.items.view",
  method: "GET",
  path: "/api/cloud/connections/:connection_id/items/**:item_id/detail",
  summary: "What is known of an item; the provider is not asked",
  gate: vaultUser,
  limit: detailPerMinute,
  params: itemParams,
  replies: { 200: itemDetail, ...lookRefusals },
});

export const previewItem = endpoint({
  name: "vault.cloud.items.preview",
  method: "GET",
  path: "/api/cloud/connections/:connection_id/items/**:item_id/preview",
  summary: "The bytes for showing in place; a typed body where that is not possible",
  gate: vaultUser,
  limit: perMinute,
  params: itemParams,
  replies: { 200: bytes, ...lookRefusals },
});

export const downloadItem = endpoint({
  name: "vault.cloud.items.download",
  method: "GET",
  path: "/api/cloud/connections/:connection_id/items/**:item_id/download",
  summary: "The bytes for keeping; ranges and conditional requests are answered",
  gate: vaultUser,
  limit: perMinute,
  params: itemParams,
  replies: { 200: bytes, ...lookRefusals, 503: detail },
});

export const createFolder = endpoint({
  name: "vault.cloud.items.mkdir",
  method: "POST",
  path: "/api/cloud/connections/:connection_id/folders",
  summary: "Make a folder; a taken name gets a counter",
  gate: vaultUser,
  limit: perMinute,
  params: connectionParams,
  body: z.object({ parent_ref: folderRef.nullish(), name: itemName }),
  replies: {
    201: z.union([
      createdFolder,
      z.object({
        kind: z.literal("unsupported_operation"),
        reason: z.literal("provider_unsupported"),
      }),
    ]),
    ...refusals,
  },
});

export const renameItem = endpoint({
  name: "vault.cloud.items.rename",
  method: "PATCH",
  path: "/api/cloud/connections/:connection_id/items/**:item_id/rename",
  summary: "Give an item another name; without an etag the last one seen is the precondition",
  gate: vaultUser,
  limit: perMinute,
  params: itemParams,
  body: z.object({ new_name: itemName, etag: z.string().max(1024).nullish() }),
  replies: { 200: renamed, ...refusals },
});

export const moveItem = endpoint({
  name: "vault.cloud.items.move",
  method: "POST",
  path: "/api/cloud/connections/:connection_id/items/**:item_id/move",
  summary: "Put an item into another folder of the same connection",
  gate: vaultUser,
  limit: perMinute,
  params: itemParams,
  body: z.object({
    destination_parent_ref: folderRef,
    /** Empty counts as absent. */
    destination_connection_id: z.union([uuid, z.literal("")]).nullish(),
    etag: z.string().max(1024).nullish(),
  }),
  replies: { 200: moved, ...refusals },
});

export const deleteItem = endpoint({
  name: "vault.cloud.items.delete",
  method: "DELETE",
  path: "/api/cloud/connections/:connection_id/items/**:item_id",
  summary: "Delete an item at once, into the provider's trash where it has one",
  gate: vaultUser,
  limit: perMinute,
  params: itemParams,
  replies: { 200: deleted, ...refusals },
});

export const uploadItem = endpoint({
  name: "vault.cloud.items.upload",
  method: "POST",
  path: "/api/cloud/connections/:connection_id/items/upload",
  summary: "Upload a file as a form: file, parent_ref, filename; nothing is ever overwritten",
  gate: vaultUser,
  limit: perMinute,
  params: connectionParams,
  body: multipart(
    z.object({ parent_ref: folderRef.optional(), filename: z.string().max(4096).optional() }),
  ),
  replies: { 200: z.union([uploaded, nameTaken]), ...refusals },
});

export const authorize = endpoint({
  name: "vault.cloud.authorize.start",
  method: "GET",
  path: "/api/cloud/authorize/:provider",
  summary: "Begin to sign in at a provider's own page; the address is good for ten minutes, once",
  gate: vaultUser,
  limit: perMinute,
  params: z.object({ provider: z.string().max(64) }),
  query: z.object({
    /** Name of the connection that will be made. */
    display_name: displayName.optional(),
    /** The connection whose credentials will be replaced instead. */
    connection_id: uuid.optional(),
  }),
  replies: {
    200: z.object({ authorization_url: z.url(), expires_at: time }),
    400: detail,
    ...lookRefusals,
  },
});

export const finishAuthorization = endpoint({
  name: "vault.cloud.authorize.finish",
  method: "GET",
  path: "/api/cloud/authorize/:provider/callback",
  summary: "Where the provider sends the browser back to: a page that says what to do next",
  gate: anyone,
  limit: perAddress(30, 60),
  params: z.object({ provider: z.string().max(64) }),
  query: z.object({
    state: z.string().max(256).default(""),
    code: z.string().max(4096).optional(),
    error: z.string().max(256).optional(),
  }),
  replies: { 200: text("text/html; charset=utf-8"), 400: text("text/html; charset=utf-8"), 422: detail, 429: detail },
  apiOnly: "the browser calls it at the end of signing in at a provider",
});

export const analyzeItem = endpoint({
  name: "vault.cloud.items.analyze",
  method: "POST",
  path: "/api/cloud/connections/:connection_id/items/**:item_id/analyze",
  summary: "Have an item's text extracted and classified",
  gate: vaultUser,
  limit: perMinute,
  params: itemParams,
  replies: {
    202: z.object({ provider_item_id: z.string(), analysis_status: z.literal("pending") }),
    ...lookRefusals,
  },
});

/** A user's choices for the byte cache and the analysis. */
export const analysisSettings = z.object({
  byte_cache_limit_bytes: z.int().min(0).max(BYTES_MAX),
  auto_analyze: z.boolean(),
  max_analyze_bytes: z.int().min(0).max(BYTES_MAX),
});

export const getAnalysisSettings = endpoint({
  name: "vault.cloud.analysis_settings.view",
  method: "GET",
  path: "/api/cloud/analysis-settings",
  summary: "The caller's choices for the byte cache and the analysis",
  gate: vaultUser,
  limit: perMinute,
  replies: { 200: analysisSettings, 401: detail, 403: detail, 429: detail },
});

export const updateAnalysisSettings = endpoint({
  name: "vault.cloud.analysis_settings.edit",
  method: "PATCH",
  path: "/api/cloud/analysis-settings",
  summary: "Change some of them; a lower cache limit takes effect at once",
  gate: vaultUser,
  limit: perMinute,
  body: analysisSettings.partial(),
  replies: { 200: analysisSettings, 401: detail, 403: detail, 422: detail, 429: detail },
});

/** The vault's cloud operations, in the order of the document. */
export const cloudEndpoints: readonly AnyEndpoint[] = [
  listProviders,
  createConnection,
  listConnections,
  getConnection,
  updateConnection,
  deleteConnection,
  testConnection,
  listItems,
  openItem,
  getItemDetail,
  previewItem,
  downloadItem,
  createFolder,
  renameItem,
  moveItem,
  deleteItem,
  uploadItem,
  analyzeItem,
  authorize,
  finishAuthorization,
  getAnalysisSettings,
  updateAnalysisSettings,
];
