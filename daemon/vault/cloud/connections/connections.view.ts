import type { z } from "zod";
import type {
  connectFailure,
  connection as connectionSchema,
  provider as providerSchema,
} from "../../../contract/vault/cloud/shapes.ts";
import type { ConnectFailure } from "../../../../storage/cloud/outcomes.ts";
import type { ProviderCapabilities } from "../../../../storage/cloud/provider.ts";
import type { Capabilities, Connection } from "../../../../storage/tables/vault/connections.ts";
import { NAME_TAKEN } from "./connection-names.ts";
import type { ConnectResult } from "./connections.service.ts";
import type { AvailableProvider } from "./provider-settings.ts";
import { toFailureReply } from "../outcome.view.ts";

type WireConnection = z.input<typeof connectionSchema>;
type WireProvider = z.input<typeof providerSchema>;

/** A connection on the wire: neither settings nor credentials. */
export function toConnectionView(connection: Connection): WireConnection {
  const { quotaUsedBytes: used, quotaTotalBytes: total, lastCheckedAt, capabilities } = connection;
  return {
    id: connection.id,
    provider: connection.provider,
    display_name: connection.displayName,
    status: connection.status,
    created_at: new Date(connection.createdAt).toISOString(),
    last_checked_at: lastCheckedAt === undefined ? null : new Date(lastCheckedAt).toISOString(),
    quota:
      used === undefined && total === undefined
        ? null
        : { used_bytes: used ?? null, total_bytes: total ?? null },
    capabilities: capabilities === undefined ? null : toCapabilitiesView(capabilities),
  };
}

function toCapabilitiesView(capabilities: Capabilities): WireConnection["capabilities"] {
  return {
    create_only: capabilities.createOnly,
    rename: capabilities.rename,
    move: capabilities.move,
    delete_precondition: capabilities.deletePrecondition,
    replace_precondition: capabilities.replacePrecondition,
    trash: capabilities.trash,
    range: capabilities.range,
    quota: capabilities.quota,
    folder_rename: capabilities.folderRename,
  };
}

/** One page of the kinds of storage. */
export function toProviderPage(
  all: readonly AvailableProvider[],
  paging: { readonly page: number; readonly per_page: number },
) {
  const start = (paging.page - 1) * paging.per_page;
  const items = all.slice(start, start + paging.per_page).map(toProviderView);
  return { items, total: all.length, ...paging };
}

function toProviderView({ type, missingSettings }: AvailableProvider): WireProvider {
  return {
    type: type.type,
    title: type.title,
    sign_in: type.oauth === undefined ? "settings" : "oauth",
    available: missingSettings.length === 0,
    missing_settings: [...missingSettings],
    settings: type.settings.map((spec) => ({
      name: spec.name,
      type: spec.kind,
      required: spec.required,
      secret: spec.secret,
      help: spec.help,
      choices: spec.choices === undefined ? null : [...spec.choices],
      default: spec.default ?? null,
    })),
    can: toProviderCapabilitiesView(type.capabilities),
  };
}

/** The response to connecting: the connection with `status`, or why it could not be created. */
export function toConnectReply<S extends 200 | 201>(status: S, result: ConnectResult) {
  if (result.kind === "connected")
    return { status, body: toConnectionView(result.connection) } as const;
  if (result.kind === "name_taken") {
    const body = { kind: "conflict", reason: "name_collision", detail: NAME_TAKEN } as const;
    return { status: 409, body } as const;
  }
  return toConnectFailureReply(result);
}

export function toRemovedView(id: string) {
  return { kind: "deleted", id } as const;
}

function toConnectFailureReply(failure: ConnectFailure) {
  if (failure.kind === "invalid_setting") {
    const body: z.input<typeof connectFailure> = {
      kind: "invalid_setting",
      reason: failure.reason,
      setting: failure.setting,
      detail: settingTexts[failure.reason] ?? `The ${failure.setting} cannot be used.`,
    };
    return { status: 422, body } as const;
  }
  const reply = toFailureReply(failure);
  const detail =
    noteTexts[failure.note ?? ""] ??
    connectTexts[reply.body.kind] ??
    "The storage could not be connected.";
  // Nothing is stored yet, so no item can conflict. Only the credentials or the storage can have failed.
  const status = reply.status === 409 ? 503 : reply.status;
  return { ...reply, status, body: { ...reply.body, detail } } as const;
}

const settingTexts: Readonly<Record<string, string>> = {
  outside_allowed_roots:
    "This folder is not below your own folder on the server, and no administrator granted it to you. A name without a slash before it is a folder below your own.",
  no_allowed_roots: "This server has no folders to connect (local_roots).",
  folder_of_deleted_account:
    "Your own folder on the server exists already and belonged to a deleted account of the same handle. Ask an administrator to remove it or to grant it to you.",
  folder_of_another_account:
    "Your own folder on the server exists already and another account uses it. Ask an administrator to grant you a folder.",
  folder_older_than_account:
    "Your own folder on the server is older than your account, so its files may not be yours. Ask an administrator to grant it to you.",
  folder_missing: "This folder does not exist on the server.",
  own_folder: "This folder holds the server's own data.",
  reserved_name: "This folder is the server's own.",
  not_an_address: "This is not an address.",
  not_http: "Only addresses that begin with https:// or http:// can be connected.",
  has_credentials: "An address must hold no name and no password: there are settings for them.",
  has_query: "An address must end before ? and #.",
  address_refused: "This server's address is not permitted here (address_policy).",
  not_webdav: "There is no WebDAV folder at this address.",
  not_nextcloud: "There is no Nextcloud at this address.",
  not_a_folder: "This is a file. Connect the folder that it lies in.",
  not_a_path: "This is not a path.",
  redirected_elsewhere:
    "This address leads to another one. Give that instead, https:// in particular.",
  has_colon: "A name to sign in with cannot hold a colon.",
  has_a_path:
    "The address must end after the host and the port: the bucket is a setting of its own.",
  not_a_name: "This is not a bucket's name.",
  bucket_missing: "There is no bucket of this name at this address.",
  not_a_region: "This is not a region's name.",
  wrong_region: "The bucket lies in another region.",
  not_a_switch: "Either true or false.",
  not_a_key: "This is not an access key: it has spaces or other characters that no key has.",
  not_a_token: "This is not a session token.",
};

/** Texts for failures that the user can remedy. */
const noteTexts: Readonly<Record<string, string>> = {
  clock_skew: "The clock of this server or the storage's is wrong: they are too far apart.",
  listing_garbles_names: "The storage does not give names back as they are.",
};

const connectTexts: Readonly<Record<string, string>> = {
  reauth_required: "The storage refused the credentials.",
  offline: "The storage cannot be reached.",
  unsupported_operation: "The storage cannot do what is needed.",
};

function toProviderCapabilitiesView(capabilities: ProviderCapabilities): WireProvider["can"] {
  return {
    trash: capabilities.trash,
    permanent_delete: capabilities.permanentDelete,
    guarded_rename: capabilities.guardedRename,
    guarded_delete: capabilities.guardedDelete,
    guarded_replace: capabilities.guardedReplace,
    create_only: capabilities.createOnly,
    folder_move: capabilities.folderMove,
    ids: capabilities.ids,
    case_sensitive: capabilities.caseSensitive,
    normalisation_sensitive: capabilities.normalisationSensitive,
    duplicate_names: capabilities.duplicateNames,
    quota: capabilities.quota,
    range: capabilities.range,
  };
}
