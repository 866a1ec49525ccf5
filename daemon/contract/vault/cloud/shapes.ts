import { z } from "zod";
import { perAccount } from "../../endpoint.ts";
import { detail, line, time, uuid } from "../common.ts";

/** The cloud routes' limit per account. */
export const perMinute = perAccount(100, 60);
/** The limit of the item detail. */
export const detailPerMinute = perAccount(120, 60);

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
export const folderRef = z
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

/** The path of a connection, and of an item of it. */
export const connectionParams = z.object({ connection_id: uuid.brand<"ConnectionId">() });
export const itemParams = z.object({
  connection_id: uuid.brand<"ConnectionId">(),
  item_id: itemId,
});

const guarding = z.enum(["atomic", "emulated", "no"]);

/**
 * Capabilities of a kind of storage. `atomic`: compared and changed in one step; `emulated`: compared just before the
 * change.
 */
const providerCapabilities = z.object({
  trash: z.boolean(),
  permanent_delete: z.boolean(),
  guarded_rename: guarding,
  guarded_delete: guarding,
  guarded_replace: guarding,
  create_only: guarding,
  folder_move: z.boolean(),
  ids: z.enum(["stable", "path"]),
  case_sensitive: z.boolean(),
  normalisation_sensitive: z.boolean(),
  duplicate_names: z.boolean(),
  quota: z.boolean(),
  range: z.boolean(),
});

/** A kind of storage, and whether this server is configured for it. */
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
  can: providerCapabilities,
});

const guarantee = z.enum(["atomic", "emulated", "none"]);

/**
 * Capabilities of a connection, as probed when it was connected. `atomic`: the storage compares and changes in one
 * step;
 * `emulated`: croft compares just before; `none`: no comparison.
 */
const capabilities = z.object({
  /** Upload and create-folder never replace an existing item. */
  create_only: guarantee,
  /** Rename and move refuse when the item has changed. */
  rename: guarantee,
  move: guarantee,
  /** Delete refuses when the item has changed. */
  delete_precondition: guarantee,
  /** Replacing a file refuses when it has changed. */
  replace_precondition: guarantee,
  /** Deleted items go to a trash. */
  trash: z.boolean(),
  range: z.boolean(),
  quota: z.boolean(),
  /** Folders can be renamed and moved. */
  folder_rename: z.boolean(),
});

/** A connection; its settings and credentials are never shown. */
export const connection = z.object({
  id: uuid,
  provider: z.string(),
  display_name: z.string(),
  status: z.enum(["connected", "reauth_required", "offline"]),
  created_at: time,
  last_checked_at: time.nullable(),
  /** Null when the storage does not report it. */
  quota: z
    .object({ used_bytes: z.int().min(0).nullable(), total_bytes: z.int().min(0).nullable() })
    .nullable(),
  /** Null while the storage cannot be opened. */
  capabilities: capabilities.nullable(),
});

/** A failed change or check: its kind and reason, as words to branch on. */
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

/** A failed attempt to connect: `setting` names the wrong setting, `detail` states the remedy. */
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

/** Everything that is known of an item. */
export const itemDetail = item.extend({
  provider: z.string(),
  display_name: z.string(),
  /** The names of the folders above it, each with a slash before it; `/` in the root. */
  location: z.string(),
  extracted_text: z.string().nullable(),
  topics: z.array(z.string()),
  capabilities: z.object({}).strict(),
  /** Why the text is missing; beside an `extracted_text`, why a part of it is. */
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

/** The failures of a removal. 401 and 422 are typed when the provider reports them, else they have `detail`. */
export const removalRefusals = {
  401: z.union([failure, detail]),
  403: detail,
  404: detail,
  409: failure,
  422: z.union([failure, detail]),
  429: detail,
  503: z.union([failure, detail]),
} as const;

/** The failures of a change with a body. */
export const refusals = { ...removalRefusals, 413: detail } as const;

/** Settings or credentials by name. */
export const settingsMap = z.record(
  z.string().max(64),
  z
    .string()
    .max(8192)
    .refine((value) => value.isWellFormed() && !value.includes("\0"), "This is not text"),
);
/** The name of a connection. */
export const displayName = line(100).refine(
  (value) => value.trim() !== "",
  "A name must not be empty",
);

/** A user's choices for the byte cache and the analysis. */
export const analysisSettings = z.object({
  byte_cache_limit_bytes: z.int().min(0).max(BYTES_MAX),
  auto_analyze: z.boolean(),
  max_analyze_bytes: z.int().min(0).max(BYTES_MAX),
});
