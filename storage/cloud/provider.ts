// storage/cloud: one contract for other people's storage, and one folder per adapter that keeps it.
// May import: node, undici and files of this folder; nobody of the project besides.
// Start here (the contract), then outcomes.ts (how calls fail), registry.ts (who keeps it), local-folder/ (the plainest adapter),
// transport.ts (how HTTP is spoken).
// docs/providers.md walks through writing an adapter; test/conformance/cloud-provider.suite.ts says what each must do.
import type { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import type { ConnectFailure, Failure, ReadFailure } from "./outcomes.ts";
import type { Locks } from "../locks.ts";

/**
 * A kind of storage, declared as one value: `/providers`, the command line's help and wizard and the documentation
 * are made of it.
 */
export interface CloudProviderType {
  /** Stable word on the wire and in rows, such as `local_folder`. */
  readonly type: string;
  /** Name for people. */
  readonly title: string;
  /** What a connection needs to be told. Secret ones travel and rest as credentials. */
  readonly settings: readonly SettingSpec[];
  /** Signing in happens at the provider's own page. */
  readonly oauth?: OAuthSpec;
  /** Set for folders of the daemon's machine: `connect` needs `ConnectRequest.localFolders`. */
  readonly usesLocalFolders?: true;
  /** What this kind of storage can do at best. A connection may turn out to do less: see `CloudProvider.can`. */
  readonly can: Powers;
  /**
   * Opens a connection. Without `facts` it looks at the storage, proves what may be missing, and returns the
   * facts to be kept; with `facts` it asks nobody and cannot be offline. Never retries, never logs, holds no
   * resource that `close` does not free.
   */
  connect(request: ConnectRequest, deps: ProviderDeps): Promise<ConnectOutcome>;
}

/** One setting of a connection. */
export interface SettingSpec {
  readonly name: string;
  readonly kind: "text" | "path" | "url" | "choice" | "switch";
  readonly required: boolean;
  /** Kept sealed, never returned, never shown while it is typed. */
  readonly secret: boolean;
  /** One sentence for the command line and the documentation. */
  readonly help: string;
  readonly choices?: readonly string[];
  readonly default?: string;
}

/** What signing in by the OAuth 2 code flow (with PKCE) needs. The endpoints' origin may be replaced for stand-ins. */
export interface OAuthSpec {
  /** The server's settings without which nobody can sign in, by their names in code, such as `googleClientId`. */
  readonly serverSettings: readonly string[];
  readonly clientIdSetting: string;
  readonly clientSecretSetting: string;
  /** Builds the address of the page where the person agrees. */
  authorizationUrl(input: {
    readonly server: ServerSettings;
    readonly redirectUrl: string;
    readonly state: string;
    readonly codeChallenge: string;
  }): string;
  /** Trades the code for credentials that `connect` takes. */
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
 * What a connection can do, as data: callers look instead of trying. `atomic`: the provider compares and acts in one
 * step. `emulated`: the adapter compares just before the step, and somebody else may slip in between. `no`: not at all.
 */
export interface Powers {
  /** Deleted items can be had back by the provider's own means (or from an own trash folder). */
  readonly trash: boolean;
  /** An item can be deleted for good. */
  readonly permanentDelete: boolean;
  /** Rename and move refuse when the item is no longer the one that the caller saw. */
  readonly guardedRename: Guarding;
  /** Delete refuses when the item is no longer the one that the caller saw. */
  readonly guardedDelete: Guarding;
  /** Upload and create-folder never replace what has the name already. */
  readonly createOnly: Guarding;
  /** Folders can be renamed and moved. */
  readonly folderMove: boolean;
  /**
   * `stable`: an item keeps its id wherever it goes. `path`: ids are `/`-separated paths below the root, without a
   * slash at either end; renaming a folder changes the ids of everything below it.
   */
  readonly ids: "stable" | "path";
  /** `A` and `a` are two names. */
  readonly caseSensitive: boolean;
  /** The composed and the decomposed spelling of a letter are two names. */
  readonly normalisationSensitive: boolean;
  /** Two items of one folder may have one name. */
  readonly duplicateNames: boolean;
  /** `quota` knows numbers. */
  readonly quota: boolean;
  /** `read` takes a range without reading what is before it. */
  readonly range: boolean;
  /** Changes closer together than this may share one version; 0 when every change is told apart. */
  readonly versionResolutionMs: number;
  /** `upload` must know the length before the first byte; the caller spools what has none. */
  readonly uploadNeedsSize: boolean;
}

export type Guarding = "atomic" | "emulated" | "no";

export type Credentials = Readonly<Record<string, string>>;
/** What probing a storage found out: plain values, kept with the connection and handed back to `connect`. */
export type Facts = Readonly<Record<string, string | number | boolean>>;
/** The fact that tells whose storage it is, where a provider says so: a connection is never moved to another one. */
export const ACCOUNT_FACT = "account";
/** The fact that names that account for people: an e-mail address or a name. */
export const ACCOUNT_NAME_FACT = "account_name";
/** Settings of the server by their names in code; undefined where the administrator gave none. */
export type ServerSettings = Readonly<Record<string, string | undefined>>;

export interface ConnectRequest {
  readonly connectionId: string;
  /** By `SettingSpec.name`, not secret; defaults are filled in. */
  readonly settings: Readonly<Record<string, string>>;
  /** By `SettingSpec.name`, secret; or what `OAuthSpec.exchange` returned. */
  readonly credentials: Credentials;
  /** What an earlier `connect` of this connection returned; undefined to look anew. */
  readonly facts: Facts | undefined;
  /** `local_folder`: where the root may lie. Undefined: anywhere below `ProviderDeps.localRoots`. */
  readonly localFolders?: LocalFolderAccess | undefined;
  /** Keeps renewed credentials. An adapter waits for it before it uses them, so that a crash loses none. */
  saveCredentials(credentials: Credentials): Promise<void>;
  /**
   * The credentials that are kept now: another process may have renewed them. Undefined when the connection is gone or was
   * given others by its owner meanwhile.
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
  /** The account's own folders, one in each local root. A relative root lies below the first. */
  readonly own: readonly LocalFolder[];
  /** Why the account has no own folder: the reason of the refusal of a root that would lie in it. */
  readonly ownRefusal?: string | undefined;
  /** Folders that an administrator granted. */
  readonly granted: readonly LocalFolder[];
}

/** What an adapter gets from the daemon. */
export interface ProviderDeps {
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** A random UUID: names of temporary things, request ids. */
  readonly newId: () => string;
  /** Resolves after so many milliseconds; rejects when aborted. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  readonly server: ServerSettings;
  /** `local_folder`: absolute paths of the folders below which all connections lie. */
  readonly localRoots: readonly string[];
  /** `local_folder`: the daemon's own folders, which no connection may reach into. */
  readonly ownFolders: readonly string[];
  /**
   * Letters and digits that tell this daemon from all others that run beside it, the same after a restart: what another one
   * has begun in a shared storage may be under way.
   */
  readonly home: string;
  /**
   * Connects to permitted addresses only, whatever a name resolves to and wherever a redirect points: requests to servers
   * that people name go through it. An error with the code `ERR_ADDRESS_REFUSED` tells of one that is not permitted.
   */
  readonly guarded: Dispatcher;
  /** Connects to the services that the administrator has chosen: the vendors' own, or their stand-ins. */
  readonly direct: Dispatcher;
  /**
   * Keeps calls of all connections of this daemon apart where a server does not. The keys are an adapter's own; they
   * begin with its type.
   */
  readonly locks: Locks;
}

export type ConnectOutcome =
  | { readonly kind: "ok"; readonly provider: CloudProvider; readonly facts: Facts }
  | ConnectFailure;

export type ItemKind = "file" | "folder";

/** One file or folder as the provider has it. */
export interface ProviderItem {
  /** Opaque, not empty, at most 4096 characters, without NUL; may hold slashes. Kept byte for byte. */
  readonly id: string;
  /** As the provider spells it. */
  readonly name: string;
  readonly kind: ItemKind;
  /** The id of the folder that holds it; empty for the root. */
  readonly parent: string;
  /** Undefined when the provider does not know: the service keeps what it knows, or takes a default. */
  readonly contentType: string | undefined;
  /** Bytes of a file; undefined for a folder, and for a file that cannot be read. */
  readonly size: number | undefined;
  /** Epoch milliseconds. */
  readonly modifiedAt: number | undefined;
  /** What `rename`, `move` and `delete` compare. Undefined when there is none. */
  readonly etag: string | undefined;
  /** Changes exactly when the bytes change: part of the key of cached bytes. Undefined for folders. */
  readonly version: string | undefined;
  /** True while a change within the version's resolution could still go unseen: such bytes are not cached. */
  readonly unsettled?: boolean;
}

/** What the caller believes an item to be. The adapter answers `stale` when any of it is known to be wrong. */
export interface Expected {
  readonly etag?: string | undefined;
  readonly kind?: ItemKind | undefined;
  readonly name?: string | undefined;
  readonly parent?: string | undefined;
}

/** First and last byte, both included; up to the end without a last one. */
export interface ByteRange {
  readonly start: number;
  readonly end?: number | undefined;
}

/** Most items that a listing may have; a larger folder is answered `unsupported`, never cut. */
export const LISTING_ITEMS_MAX = 1_000_000;

export type ListOutcome =
  | { readonly kind: "ok"; readonly items: readonly ProviderItem[] }
  | Failure;
export type ItemOutcome = { readonly kind: "ok"; readonly item: ProviderItem } | Failure;
export type StatOutcome = { readonly kind: "ok"; readonly item: ProviderItem } | ReadFailure;
export type ReadOutcome =
  | {
      readonly kind: "ok";
      /** The item whose bytes these are: not what was expected, but what is sent. */
      readonly item: ProviderItem;
      /** Bytes that the stream gives when it ends without an error; undefined when the provider did not say. */
      readonly length: number | undefined;
      /**
       * Ends early never: a cut, a change under way or an abort destroys it with `BrokenOff`.
       * Must be consumed or destroyed.
       */
      readonly stream: Readable;
    }
  | ReadFailure;
export type DeleteOutcome =
  | { readonly kind: "ok"; readonly how: "trashed" | "permanent" }
  | Failure;
export type QuotaOutcome =
  | {
      readonly kind: "ok";
      /** Undefined is unknown or unlimited; never a negative number. */
      readonly usedBytes: number | undefined;
      readonly totalBytes: number | undefined;
    }
  | Failure;
export type CheckOutcome = { readonly kind: "ok"; readonly facts: Facts } | ConnectFailure;

/** How a call is given up. Afterwards neither sockets, temporary files nor upload sessions remain. */
export interface Call {
  readonly signal: AbortSignal;
}

/** Which bytes are wanted: of which file, and of which version when only that one will do. */
export interface ReadRequest extends Call {
  readonly id: string;
  readonly range?: ByteRange | undefined;
  readonly version?: string | undefined;
}

/**
 * One person's storage. Every verb returns an outcome; only a bug throws. The empty id names the root folder.
 * No verb overwrites anything, creates missing parents, or follows a link out of the root. Success is said
 * only after the provider confirmed and a look afterwards agreed. After a lost answer the adapter looks
 * whether its own change has landed before it says `conflict`, `stale` or `unknown_outcome`.
 */
export interface CloudProvider {
  /** What this connection can do, as proved when it was made. */
  readonly can: Powers;
  /**
   * All children of a folder, in any order, each once, the folder itself never. A listing that could not be read to
   * its end is a failure. `stale` when the folder is missing or is a file.
   */
  list(input: Call & { readonly folder: string }): Promise<ListOutcome>;
  /** One item. `not_found` when there is none. The root cannot be looked at. */
  stat(input: Call & { readonly id: string }): Promise<StatOutcome>;
  /**
   * The bytes of a file, or a range of them. With `version` only exactly that version is read: `changed` otherwise.
   * `range_not_satisfiable` when the range begins behind the end, `unsupported` for what has no bytes.
   */
  read(input: ReadRequest): Promise<ReadOutcome>;
  /** Makes an empty folder. `conflict` when anything has the name, `stale` when the parent is gone. */
  createFolder(
    input: Call & { readonly parent: string; readonly name: string },
  ): Promise<ItemOutcome>;
  /**
   * Makes a file of a stream that is consumed or destroyed in any case. `conflict` when anything has the name. Nothing
   * is visible before it is whole; nothing remains when the source fails, is shorter or longer than `size`, or the
   * call is aborted. A failing source is thrown as it came.
   */
  upload(
    input: Call & {
      readonly parent: string;
      readonly name: string;
      readonly content: Readable;
      readonly size: number | undefined;
      readonly contentType: string | undefined;
    },
  ): Promise<ItemOutcome>;
  /** Gives an item another name in its folder. Its own name is success without a change; changing only the case works. */
  rename(
    input: Call & { readonly id: string; readonly name: string; readonly expected: Expected },
  ): Promise<ItemOutcome>;
  /** Puts an item into another folder under its name. Its own folder is success without a change. */
  move(
    input: Call & { readonly id: string; readonly parent: string; readonly expected: Expected },
  ): Promise<ItemOutcome>;
  /** Removes a file, or a folder with all that is in it: into the trash where there is one, unless `permanently`. */
  delete(
    input: Call & {
      readonly id: string;
      readonly expected: Expected;
      readonly permanently?: boolean;
    },
  ): Promise<DeleteOutcome>;
  quota(input: Call): Promise<QuotaOutcome>;
  /** A live look: reachable, credentials accepted, still the same storage. Proves powers anew and returns the facts. */
  check(input: Call): Promise<CheckOutcome>;
  /** Frees what is held. Further calls are bugs. */
  close(): Promise<void>;
}
