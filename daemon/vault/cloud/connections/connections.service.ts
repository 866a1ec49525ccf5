import { isDeepStrictEqual } from "node:util";
import type { ConnectFailure } from "../../../../storage/cloud/outcomes.ts";
import {
  PROBED_ACCOUNT,
  type CloudProviderType,
  type Credentials,
  type ProbeResult,
  type ProviderDeps,
} from "../../../../storage/cloud/provider.ts";
import {
  deleteConnection,
  findConnection,
  insertConnection,
  listConnectionIds,
  listConnections,
  updateConnection,
  type Connection,
  type ConnectionChanges,
} from "../../../../storage/tables/vault/connections.ts";
import type { ByteCache } from "../../../../storage/cache/byte-cache.ts";
import type { Database, Queries } from "../../../../storage/engine/database.ts";
import type { Keyring } from "../../../../storage/keys/keyring.ts";
import { AppError } from "../../../errors.ts";
import type { VaultCaller } from "../../caller.ts";
import { toFieldError } from "../field-error.ts";
import type { Adapters } from "./adapters.ts";
import { isNameTaken, toFreeName } from "./connection-names.ts";
import { statusAfterCheck } from "./connection-status.ts";
import { toCapabilities } from "./capabilities.ts";
import { sealCredentials } from "./credentials.ts";
import type { LocalFolders } from "../local-folders/local-folders.service.ts";
import {
  assertAvailable,
  assertNoSignIn,
  type AvailableProvider,
  listMissingSettings,
  readSettings,
} from "./provider-settings.ts";
import { readQuota, tryStorage, type Trial } from "./trial.ts";
import {
  type AccountId,
  type ConnectionId,
  toConnectionId,
} from "../../../../storage/tables/vault/ids.ts";

export type ConnectResult =
  | { readonly kind: "connected"; readonly connection: Connection }
  | { readonly kind: "name_taken" }
  | ConnectFailure;

/** A sign-in at a vendor's page whose credentials work. */
export interface SignInTrial extends Trial {
  readonly connectionId: ConnectionId;
  /** Whether the id is that of a connection to be made. */
  readonly isNew: boolean;
}

/** Connections of accounts to storage. */
export interface CloudConnections {
  listProviders(): readonly AvailableProvider[];
  /**
   * Connects a storage after probing it. Refuses with `unprocessable` settings that the provider does not accept, with
   * `invalid_argument` a kind of storage that is not configured on this server. `name_taken` when another connection of
   * the account has the name.
   */
  create(
    caller: VaultCaller,
    input: {
      readonly provider: string;
      readonly display_name: string;
      readonly settings: Readonly<Record<string, string>>;
      readonly credentials: Credentials;
    },
  ): Promise<ConnectResult>;
  /**
   * Tries the credentials that a sign-in at a vendor's page gave, and stores nothing. `other_account` when the sign-in was
   * with another vendor account than the one of the given connection.
   */
  trySignIn(
    userId: AccountId,
    type: CloudProviderType,
    connectionId: ConnectionId | undefined,
    credentials: Credentials,
  ): Promise<SignInTrial | ConnectFailure | { readonly kind: "other_account" }>;
  /**
   * Stores a tried sign-in: as a new connection, or as new credentials of an existing one, which keeps its id and
   * items. A taken name gets a number, because the person has signed in already. Throws `not_found` when the existing
   * connection was deleted meanwhile.
   */
  storeSignIn(
    userId: AccountId,
    type: CloudProviderType,
    displayName: string,
    tried: SignInTrial,
  ): Promise<Connection>;
  list(
    caller: VaultCaller,
    paging: { readonly page: number; readonly per_page: number },
  ): Promise<{ readonly connections: readonly Connection[]; readonly total: number }>;
  get(caller: VaultCaller, id: ConnectionId): Promise<Connection>;
  /** Tries new credentials before they replace the old ones. `name_taken` as in `create`. */
  update(
    caller: VaultCaller,
    id: ConnectionId,
    input: {
      readonly display_name?: string | undefined;
      readonly credentials?: Credentials | undefined;
    },
  ): Promise<ConnectResult>;
  /** Deletes credentials, items and cached bytes; the files in the storage stay. */
  remove(caller: VaultCaller, id: ConnectionId): Promise<string>;
  /**
   * Returns a function that releases all resources of a user's connections outside of the database. Call it once the
   * user's rows are deleted.
   */
  releaseAll(userId: AccountId): Promise<() => Promise<void>>;
  /** Probes the storage and stores the outcome as the connection's status. */
  test(caller: VaultCaller, id: ConnectionId): Promise<Connection>;
}

export interface ConnectionsDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Creates ids of rows. */
  readonly newId: () => string;
  readonly keys: Pick<Keyring, "seal">;
  readonly providerTypes: readonly CloudProviderType[];
  readonly providerDeps: Pick<ProviderDeps, "server">;
  readonly cache: Pick<ByteCache, "keysOf" | "forget">;
}

export function createConnections(
  deps: ConnectionsDeps,
  adapters: Adapters,
  localFolders: Pick<LocalFolders, "getAccess">,
): CloudConnections {
  const { db, clock } = deps;
  const server = deps.providerDeps.server;

  /** The folders of this machine that the account may connect; made on demand for a new connection. */
  async function getLocalFolders(userId: AccountId, type: CloudProviderType, create: boolean) {
    return type.usesLocalFolders === true ? localFolders.getAccess(userId, { create }) : undefined;
  }

  /** Undefined when the name is taken. `isSuggested`: a taken name gets a number. */
  async function insertTried(
    owner: { readonly userId: AccountId; readonly displayName: string },
    type: CloudProviderType,
    settings: Readonly<Record<string, string>>,
    id: ConnectionId,
    tried: Trial,
    isSuggested: boolean,
  ): Promise<Connection | undefined> {
    const now = clock();
    const connection: Connection = {
      id,
      ...owner,
      provider: type.type,
      settings,
      isBelowLocalRoots: false,
      credentials: sealCredentials(deps.keys, id, tried.credentials),
      probeResult: tried.probeResult,
      capabilities: tried.capabilities,
      status: "connected",
      generation: 1,
      quotaUsedBytes: undefined,
      quotaTotalBytes: undefined,
      createdAt: now,
      lastCheckedAt: now,
      ...tried.quota,
    };
    const { userId, displayName } = owner;
    return db.transaction(async (tx) => {
      if (!isSuggested && (await isNameTaken(tx, userId, displayName))) return undefined;
      const free = isSuggested ? await toFreeName(tx, userId, displayName) : displayName;
      const inserted = { ...connection, displayName: free };
      await insertConnection(tx, inserted);
      return inserted;
    });
  }

  /** Undefined when the new name is taken. */
  async function replaceCredentials(
    connection: Connection,
    tried: Trial,
    others: Pick<ConnectionChanges, "displayName">,
  ): Promise<Connection | undefined> {
    const changes: ConnectionChanges = {
      ...others,
      ...tried.quota,
      credentials: sealCredentials(deps.keys, connection.id, tried.credentials),
      probeResult: tried.probeResult,
      capabilities: tried.capabilities,
      status: "connected",
      generation: connection.generation + 1,
      lastCheckedAt: clock(),
    };
    const isStored = await db.transaction(async (tx) => {
      const { id, userId, displayName } = connection;
      if (await isNameTaken(tx, userId, others.displayName ?? displayName, connection))
        return false;
      await updateConnection(tx, id, changes);
      return true;
    });
    if (!isStored) return undefined;
    await adapters.forget(connection.id);
    return getAgain(connection);
  }

  async function tryCredentials(
    connection: Connection,
    type: CloudProviderType,
    credentials: Credentials,
  ): Promise<Trial | ConnectFailure | { readonly kind: "other_account" }> {
    const { id: connectionId, userId, settings, isBelowLocalRoots } = connection;
    const folders = isBelowLocalRoots ? undefined : await getLocalFolders(userId, type, false);
    const input = { connectionId, type, settings, credentials, localFolders: folders };
    const tried = await tryStorage(adapters, input);
    if (tried.kind !== "ok") return tried;
    return isOtherAccount(connection, tried) ? { kind: "other_account" } : tried;
  }

  async function getAgain(connection: Connection): Promise<Connection> {
    const current = await findConnection(db, connection.userId, connection.id);
    if (current === undefined) throw new AppError("not_found", "Connection not found");
    return withCapabilities(current);
  }

  /** Determines capabilities that an earlier version or a check left unset. Sends no request. */
  async function withCapabilities(connection: Connection): Promise<Connection> {
    if (connection.capabilities !== undefined) return connection;
    try {
      const capabilities = toCapabilities((await adapters.open(connection)).capabilities);
      await updateConnection(db, connection.id, { capabilities });
      return { ...connection, capabilities };
    } catch (error) {
      // Its credentials cannot be decrypted, or its folder is not allowed any more: its capabilities stay unknown.
      if (!(error instanceof AppError)) throw error;
      return connection;
    }
  }

  return {
    listProviders: () =>
      deps.providerTypes.map((type) => ({
        type,
        missingSettings: listMissingSettings(type, server),
      })),

    async create(caller, input) {
      const type = adapters.findType(input.provider);
      if (type === undefined)
        throw toFieldError(
          ["body", "provider"],
          `This server has no adapter for ${input.provider}.`,
          "unknown_provider",
        );
      assertAvailable(type, server);
      assertNoSignIn(type);
      const settings = readSettings(type, input.settings, false);
      const credentials = readSettings(type, input.credentials, true);
      const connectionId = toConnectionId(deps.newId());
      const { userId } = caller;
      // Checked before the storage is probed; the transaction that stores the connection checks again.
      if (await isNameTaken(db, userId, input.display_name)) return { kind: "name_taken" };
      const folders = await getLocalFolders(userId, type, true);
      const tried = await tryStorage(adapters, {
        connectionId,
        type,
        settings,
        credentials,
        localFolders: folders,
      });
      if (tried.kind !== "ok") return tried;
      const owner = { userId, displayName: input.display_name };
      const connection = await insertTried(owner, type, settings, connectionId, tried, false);
      return connection === undefined ? { kind: "name_taken" } : { kind: "connected", connection };
    },

    async trySignIn(userId, type, connectionId, credentials) {
      if (connectionId !== undefined) {
        const connection = await adapters.own(userId, connectionId);
        const tried = await tryCredentials(connection, type, credentials);
        return tried.kind === "ok" ? { ...tried, connectionId, isNew: false } : tried;
      }
      const id = toConnectionId(deps.newId());
      const settings = readSettings(type, {}, false);
      const input = { connectionId: id, type, settings, credentials, localFolders: undefined };
      const tried = await tryStorage(adapters, input);
      return tried.kind === "ok" ? { ...tried, connectionId: id, isNew: true } : tried;
    },

    async storeSignIn(userId, type, displayName, tried) {
      const { connectionId: id, isNew } = tried;
      if (!isNew) {
        const replaced = await replaceCredentials(await adapters.own(userId, id), tried, {});
        if (replaced === undefined) throw new Error("a name that stays cannot be taken");
        return replaced;
      }
      const settings = readSettings(type, {}, false);
      const created = await insertTried({ userId, displayName }, type, settings, id, tried, true);
      if (created === undefined) throw new Error("a suggested name cannot be taken");
      return created;
    },

    async list(caller, { page, per_page }) {
      const paging = { limit: per_page, offset: (page - 1) * per_page };
      const { connections, total } = await listConnections(db, caller.userId, paging);
      return { connections: await Promise.all(connections.map(withCapabilities)), total };
    },

    get: async (caller, id) => withCapabilities(await adapters.own(caller.userId, id)),

    async update(caller, id, input) {
      const connection = await adapters.own(caller.userId, id);
      const name = input.display_name === undefined ? {} : { displayName: input.display_name };
      const { userId } = caller;
      const isTaken = (tx: Queries) =>
        isNameTaken(tx, userId, input.display_name ?? connection.displayName, connection);
      if (input.credentials === undefined) {
        const isStored = await db.transaction(async (tx) => {
          if (await isTaken(tx)) return false;
          await updateConnection(tx, id, name);
          return true;
        });
        if (!isStored) return { kind: "name_taken" };
        return { kind: "connected", connection: await getAgain(connection) };
      }
      const type = adapters.findType(connection.provider);
      if (type === undefined)
        throw new AppError(
          "unprocessable",
          `This server has no adapter for ${connection.provider}.`,
        );
      assertNoSignIn(type);
      const credentials = readSettings(type, input.credentials, true);
      if (await isTaken(db)) return { kind: "name_taken" };
      const tried = await tryCredentials(connection, type, credentials);
      if (tried.kind === "other_account")
        throw toFieldError(
          ["body", "credentials"],
          "These credentials belong to another account than the one of this connection.",
          "other_account",
        );
      if (tried.kind !== "ok") return tried;
      const replaced = await replaceCredentials(connection, tried, name);
      return replaced === undefined
        ? { kind: "name_taken" }
        : { kind: "connected", connection: replaced };
    },

    async remove(caller, id) {
      const connection = await adapters.own(caller.userId, id);
      const cached = await deps.cache.keysOf(connection.id);
      await db.transaction((tx) => deleteConnection(tx, connection.id));
      await adapters.forget(connection.id);
      await deps.cache.forget(cached);
      return connection.id;
    },

    async releaseAll(userId) {
      const ids = await listConnectionIds(db, userId);
      const cached = await Promise.all(ids.map((id) => deps.cache.keysOf(id)));
      return async () => {
        await Promise.all(ids.map((id) => adapters.forget(id)));
        await deps.cache.forget(cached.flat());
      };
    },

    async test(caller, id) {
      const connection = await adapters.own(caller.userId, id);
      const provider = await adapters.open(connection);
      const outcome = await provider.check({ signal: new AbortController().signal });
      const quota = outcome.kind === "ok" ? await readQuota(provider) : {};
      const hasChanged =
        outcome.kind === "ok" && !isDeepStrictEqual(outcome.probeResult, connection.probeResult);
      await updateConnection(db, id, {
        ...quota,
        ...(outcome.kind === "ok" ? { probeResult: outcome.probeResult } : {}),
        ...(hasChanged ? { capabilities: undefined } : {}),
        status: statusAfterCheck(outcome),
        lastCheckedAt: clock(),
      });
      // The open provider uses the earlier probe result; the next call opens it with the new one.
      if (hasChanged) await adapters.forget(id);
      return getAgain(connection);
    },
  };
}

/** Returns whether two sign-ins are of different accounts, as far as both are known: items of one must not count as the other's. */
function isOtherAccount(before: Connection, after: { readonly probeResult: ProbeResult }): boolean {
  const [earlier, current] = [before, after].map(
    ({ probeResult }) => probeResult?.[PROBED_ACCOUNT],
  );
  return earlier !== undefined && current !== undefined && earlier !== current;
}
