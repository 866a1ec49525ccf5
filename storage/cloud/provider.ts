// storage/cloud: one contract for external storage, and one folder for each adapter.
// Start here (the contract), then outcomes.ts (failures), registry.ts (all adapters), local-folder/ (the simplest adapter),
// transport.ts (HTTP).
// docs/providers.md explains how to write an adapter; test/conformance/cloud-provider.suite.ts defines their behaviour.
import type { Readable, Writable } from "node:stream";
import type { Dispatcher } from "undici";
import type { ConnectFailure, Failure, ReadFailure } from "./outcomes.ts";
import type { Locks } from "../locks.ts";
import type { Call, ItemKind, ItemOutcome, ProviderItem } from "./item.ts";
import type { Trash } from "./trash.ts";

/**
 * A kind of storage, declared as one value, from which `/providers`, the command line's help and wizard and the documentation
 * are generated.
 */
export interface CloudProviderType {
  /** Stable identifier on the wire and in rows, such as `local_folder`. */
  readonly type: string;
  /** Display name. */
  readonly title: string;
  /** Settings of a connection. Secret ones are sent and stored as credentials. */
  readonly settings: readonly SettingSpec[];
  /** Set when users sign in at the provider's own page. */
  readonly oauth?: OAuthSpec;
  /** Set for folders of the daemon's machine: `connect` needs `ConnectRequest.localFolders`. */
  readonly usesLocalFolders?: true;
  /** Its connections have `recover`, which the daemon calls at its start. */
  readonly recovers?: true;
  /** The capabilities of this kind of storage at best. A connection may support less: see `CloudProvider.capabilities`. */
  readonly capabilities: ProviderCapabilities;
  /**
   * Opens a connection. Without `probeResult` it probes the storage and returns the result to save; with one it sends no
   * request and cannot be offline. Never retries, never logs, holds no
   * resource that `close` does not free.
   */
  connect(request: ConnectRequest, deps: ProviderDeps): Promise<ConnectOutcome>;
}

/** One setting of a connection. */
export interface SettingSpec {
  readonly name: string;
  readonly kind: "text" | "path" | "url" | "choice" | "switch";
  readonly required: boolean;
  /** Stored sealed, never returned, hidden while it is typed. */
  readonly secret: boolean;
  /** One sentence for the command line and the documentation. */
  readonly help: string;
  readonly choices?: readonly string[];
  readonly default?: string;
}

/** Sign-in by the OAuth 2 authorization code flow with PKCE. Stand-ins may replace the origin of the endpoints. */
export interface OAuthSpec {
  /** The server settings that signing in requires, by their names in code, such as `googleClientId`. */
  readonly serverSettings: readonly string[];
  readonly clientIdSetting: string;
  readonly clientSecretSetting: string;
  /** Builds the authorization URL. */
  authorizationUrl(input: {
    readonly server: ServerSettings;
    readonly redirectUrl: string;
    readonly state: string;
    readonly codeChallenge: string;
  }): string;
  /** Exchanges the code for credentials that `connect` accepts. */
  exchange(
    input: {
      readonly server: ServerSettings;
      readonly redirectUrl: string;
      readonly code: string;
      readonly codeVerifier: string;
    },
    deps: ProviderDeps,
  ): Promise<
    | { readonly kind: "ok"; readonly credentials: Credentials }
    | Exclude<Failure, { kind: "conflict" }>
  >;
}

/**
 * The capabilities of a connection, as data: callers check these instead of trying. `atomic`: the provider compares and
 * changes in one step. `emulated`: the adapter compares just before the step, so a race is possible. `no`: not supported.
 */
export interface ProviderCapabilities {
  /** Deleted items can be restored by the provider's own means (or from a trash folder). */
  readonly trash: boolean;
  /** Items can be deleted permanently. */
  readonly permanentDelete: boolean;
  /** Rename and move fail when the item is no longer the one that the caller saw. */
  readonly guardedRename: Guarding;
  /** Delete fails when the item is no longer the one that the caller saw. */
  readonly guardedDelete: Guarding;
  /** Replacing a file fails when it is no longer the version that the caller saw. */
  readonly guardedReplace: Guarding;
  /** Upload and create-folder never overwrite. */
  readonly createOnly: Guarding;
  /** Folders can be renamed and moved. */
  readonly folderMove: boolean;
  /**
   * `stable`: an item keeps its id when it moves. `path`: ids are `/`-separated paths below the root, without a
   * slash at either end; renaming a folder changes the ids of everything below it.
   */
  readonly ids: "stable" | "path";
  /** `A` and `a` are different names. */
  readonly caseSensitive: boolean;
  /** The composed and the decomposed form of a letter are different names. */
  readonly normalisationSensitive: boolean;
  /** Two items of one folder may have the same name. */
  readonly duplicateNames: boolean;
  /** `quota` returns numbers. */
  readonly quota: boolean;
  /** `read` fetches a range without the bytes before it. */
  readonly range: boolean;
  /** Milliseconds within which two changes may share one version; 0 when every change has its own. */
  readonly versionResolutionMs: number;
  /** `upload` needs the length in advance; the caller spools a stream of unknown length. */
  readonly uploadNeedsSize: boolean;
}

export type Guarding = "atomic" | "emulated" | "no";

export type Credentials = Readonly<Record<string, string>>;
/** Results of probing a storage: plain values, saved with the connection and passed to `connect` again. */
export type ProbeResult = Readonly<Record<string, string | number | boolean>>;
/** The member of a probe result that identifies the account, where a provider states it: a connection never moves to another account. */
export const PROBED_ACCOUNT = "account";
/** The member that displays that account: an e-mail address or a name. */
export const PROBED_ACCOUNT_NAME = "account_name";
/** Server settings by their names in code; undefined for unset ones. */
export type ServerSettings = Readonly<Record<string, string | undefined>>;

export interface ConnectRequest {
  readonly connectionId: string;
  /** By `SettingSpec.name`, not secret; defaults are filled in. */
  readonly settings: Readonly<Record<string, string>>;
  /** By `SettingSpec.name`, secret; or the result of `OAuthSpec.exchange`. */
  readonly credentials: Credentials;
  /** The result of an earlier `connect` of this connection; undefined to probe. */
  readonly probeResult: ProbeResult | undefined;
  /** `local_folder`: the allowed folders of the root. Undefined: anywhere below `ProviderDeps.localRoots`. */
  readonly localFolders?: LocalFolderAccess | undefined;
  /** Saves renewed credentials. An adapter awaits it before it uses them, so that a crash does not lose them. */
  saveCredentials(credentials: Credentials): Promise<void>;
  /**
   * Returns the saved credentials, which another process may have renewed. Undefined when the connection is deleted or its
   * owner has replaced the credentials.
   */
  loadCredentials?(): Promise<Credentials | undefined>;
  readonly signal: AbortSignal;
}

/** A folder of the daemon's machine: `segments` below a local root. No symbolic link is followed below `root`. */
export interface LocalFolder {
  /** An absolute path. */
  readonly root: string;
  readonly segments: readonly string[];
}

/** The folders of the daemon's machine that one account may connect. */
export interface LocalFolderAccess {
  /** The account's own folders, one in each local root. A relative root is below the first. */
  readonly own: readonly LocalFolder[];
  /** Why the account has no own folder: the reason of the error for a root that would be in it. */
  readonly ownRefusal?: string | undefined;
  /** Folders that an administrator granted. */
  readonly granted: readonly LocalFolder[];
}

/** The dependencies that the daemon injects into an adapter. */
export interface ProviderDeps {
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Returns a random UUID, for temporary names and request ids. */
  readonly newId: () => string;
  /** Resolves after this many milliseconds; rejects when aborted. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  readonly server: ServerSettings;
  /** `local_folder`: absolute paths of the folders that contain all connections. */
  readonly localRoots: readonly string[];
  /** `local_folder`: the daemon's own folders, which no connection may reach. */
  readonly ownFolders: readonly string[];
  /**
   * Letters and digits that identify this daemon among all that share a storage, the same after a restart: an unfinished
   * operation of another daemon may still be running.
   */
  readonly home: string;
  /**
   * Connects to permitted addresses only, whatever a name resolves to and wherever a redirect points. Requests to servers
   * that users configure go through it. An error with the code `ERR_ADDRESS_REFUSED` reports a forbidden address.
   */
  readonly guarded: Dispatcher;
  /** Connects to services that the administrator configured: the vendors' own, or their stand-ins. */
  readonly direct: Dispatcher;
  /**
   * Locks across all connections, for servers without such locks; `withLocks` excludes calls of other daemons too. The keys
   * belong to the adapter; they begin with its type.
   */
  readonly locks: Locks;
}

export type ConnectOutcome =
  | { readonly kind: "ok"; readonly provider: CloudProvider; readonly probeResult: ProbeResult }
  | ConnectFailure;

/** The item that the caller expects. The adapter returns `stale` when any field is known to differ. */
export interface Expected {
  readonly etag?: string | undefined;
  readonly kind?: ItemKind | undefined;
  readonly name?: string | undefined;
  readonly parent?: string | undefined;
}

/** First and last byte, both inclusive; up to the end without a last one. */
export interface ByteRange {
  readonly start: number;
  readonly end?: number | undefined;
}

/**
 * Maximum number of items of a listing; a larger folder is `unsupported`, never truncated. A listing is in memory as a whole
 * and recorded at once: a million items took 700 MiB and delayed other requests by seconds.
 */
export const LISTING_ITEMS_MAX = 200_000;

/** Maximum number of leftovers of crashed uploads that one listing deletes, so that a listing does not take long. */
export const LEFTOVERS_OF_LISTING_MAX = 20;

export type ListOutcome =
  | {
      readonly kind: "ok";
      readonly items: readonly ProviderItem[];
      /** Ids of items, listed or not, whose kind and metadata the storage failed to give: what is recorded of them stays. */
      readonly unknown?: readonly string[];
    }
  | Failure;
export type StatOutcome = { readonly kind: "ok"; readonly item: ProviderItem } | ReadFailure;
export type ReadOutcome =
  | {
      readonly kind: "ok";
      /** The item that the bytes belong to, which may differ from the expected one. */
      readonly item: ProviderItem;
      /** Bytes of the complete stream; undefined when the provider did not state it. */
      readonly length: number | undefined;
      /**
       * Never ends early without an error: an aborted connection, a concurrent change or an abort destroys it with `StreamAborted`.
       * Must be consumed or destroyed.
       */
      readonly stream: Readable;
      /**
       * Writes the same bytes to a stream, without ending it and with less work than by `stream`, which is destroyed
       * afterwards. Rejects if `stream` would fail or `to` closes early.
       */
      readonly send?: (to: Writable) => Promise<void>;
    }
  | ReadFailure;
export type DeleteOutcome =
  | { readonly kind: "ok"; readonly how: "trashed" | "permanent" }
  | Failure;
export type QuotaOutcome =
  | {
      readonly kind: "ok";
      /** Undefined when unknown or unlimited; never negative. */
      readonly usedBytes: number | undefined;
      readonly totalBytes: number | undefined;
    }
  | Failure;
export type CheckOutcome =
  | { readonly kind: "ok"; readonly probeResult: ProbeResult }
  | ConnectFailure;

/**
 * Keeps the session of one upload at the provider, so that a later call of the same upload continues it. A call with it that
 * fails leaves the session as it is: the caller decides whether to call again or to discard it.
 */
export interface SessionStore {
  /** The session that an earlier call saved, which may have ended since; undefined for a new one. */
  readonly saved: string | undefined;
  /**
   * Saves a session, which may be secret; undefined when the session has ended. Await it before the session receives
   * bytes.
   */
  save(session: string | undefined): Promise<void>;
}

/** New bytes for a file. */
export interface Replacement extends Call {
  readonly id: string;
  /** The version that is replaced. */
  readonly expected: Expected;
  readonly content: Readable;
  readonly size: number | undefined;
  readonly contentType: string | undefined;
}

/** The requested bytes: the file, and optionally its version. */
export interface ReadRequest extends Call {
  readonly id: string;
  readonly range?: ByteRange | undefined;
  readonly version?: string | undefined;
}

/**
 * The storage of one user. Every operation returns an outcome; only a bug throws. The empty id is the root folder.
 * No operation overwrites, creates missing parents, or follows a link out of the root. An operation returns success
 * only after the provider confirmed it and a check agreed. After a lost response the adapter checks
 * whether its own change succeeded before it returns `conflict`, `stale` or `unknown_outcome`.
 */
export interface CloudProvider {
  /** The capabilities of this connection, as probed when it was connected. */
  readonly capabilities: ProviderCapabilities;
  /**
   * Lists all children of a folder, in any order and without duplicates or the folder itself. An incomplete listing is
   * a failure. `stale` when the folder is missing or is a file. An adapter that uploads to temporary names deletes up to
   * `LEFTOVERS_OF_LISTING_MAX` of those that crashes left in the folder.
   */
  list(input: Call & { readonly folder: string }): Promise<ListOutcome>;
  /** Returns one item, or `not_found`. The root has no item. */
  stat(input: Call & { readonly id: string }): Promise<StatOutcome>;
  /**
   * Opens the bytes of a file, or a range of them. With `version` reads exactly that version, otherwise fails with `changed`.
   * `range_not_satisfiable` when the range begins after the end, `unsupported` for items without bytes.
   */
  read(input: ReadRequest): Promise<ReadOutcome>;
  /** Creates an empty folder. `conflict` when the name is taken, `stale` when the parent is missing. */
  createFolder(
    input: Call & { readonly parent: string; readonly name: string },
  ): Promise<ItemOutcome>;
  /**
   * Creates a file from a stream, which is always consumed or destroyed. `conflict` when the name is taken. The file
   * becomes visible only when complete; nothing remains when the source fails, is shorter or longer than `size`, or the
   * call is aborted. The error of a failing source is rethrown unchanged.
   *
   * With `session` the file has a size, and the same bytes can be sent by another call: after a failure, or a crash in
   * the middle, it sends the bytes that the provider has not confirmed, and recognizes a file that the last call
   * completed. Adapters without sessions send everything.
   */
  upload(
    input: Call & {
      readonly parent: string;
      readonly name: string;
      readonly content: Readable;
      readonly size: number | undefined;
      readonly contentType: string | undefined;
      readonly session?: SessionStore | undefined;
    },
  ): Promise<ItemOutcome>;
  /**
   * Completes or removes what an earlier run of this daemon left outside of the listed folders. Other calls do so too; a
   * failure is left to them.
   */
  recover?(input: Call): Promise<void>;
  /** Discards a saved session with its bytes. A session that has ended or is unreachable is not an error. */
  discardSession?(input: Call & { readonly session: string }): Promise<void>;
  /**
   * Replaces the bytes of a file in one step under its name, if its version is the expected one; `stale` otherwise.
   * Treats the stream as `upload` does. Absent if the connection has no such step: see `replacing.ts`.
   */
  replace?(input: Replacement): Promise<ItemOutcome>;
  /** Renames an item in its folder. The same name is a success without a change; a change of case alone works. */
  rename(
    input: Call & { readonly id: string; readonly name: string; readonly expected: Expected },
  ): Promise<ItemOutcome>;
  /** Moves an item to another folder under the same name. The same folder is a success without a change. */
  move(
    input: Call & { readonly id: string; readonly parent: string; readonly expected: Expected },
  ): Promise<ItemOutcome>;
  /** Removes a file, or a folder with its contents: to the trash where there is one, unless `permanently`. */
  delete(
    input: Call & {
      readonly id: string;
      readonly expected: Expected;
      readonly permanently?: boolean;
    },
  ): Promise<DeleteOutcome>;
  /** The deleted items. Absent if the provider cannot list them. */
  readonly trash?: Trash;
  quota(input: Call): Promise<QuotaOutcome>;
  /** Checks that the storage is reachable, accepts the credentials and is the same. Probes again and returns the result. */
  check(input: Call): Promise<CheckOutcome>;
  /** Releases all resources. Further calls are bugs. */
  close(): Promise<void>;
}
