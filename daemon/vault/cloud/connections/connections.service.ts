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
  findConnection,
  listConnectionIds,
  listConnections,
  updateConnection,
  type Connection,
  type ConnectionChanges,
} from "../../../../storage/tables/vault/connections.ts";
import type { ByteCache } from "../../../../storage/cache/byte-cache.ts";
import type { Database } from "../../../../storage/engine/database.ts";
import type { Keyring } from "../../../../storage/keys/keyring.ts";
import { AppError } from "../../../errors.ts";
import type { VaultCaller } from "../../caller.ts";
import { toFieldError } from "../field-error.ts";
import type { Adapters } from "./adapters.ts";
import { isNameTaken } from "./connection-names.ts";
import {
  type ConnectionOwner,
  recordChangedConnection,
  recordNewConnection,
  recordRemovedConnection,
} from "./connection-records.ts";
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

export type CloudConnections = ReturnType<typeof createConnections>;

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

/** Connections of accounts to storage. */
export function createConnections(
  deps: ConnectionsDeps,
  adapters: Adapters,
  localFolders: Pick<LocalFolders, "getAccess">,
) {
  const { db, clock } = deps;
  const server = deps.providerDeps.server;

  /** The folders of this machine that the account may connect; made on demand for a new connection. */
  async function getLocalFolders(userId: AccountId, type: CloudProviderType, create: boolean) {
    return type.usesLocalFolders === true ? localFolders.getAccess(userId, { create }) : undefined;
  }

  /** Undefined when the name is taken. `isSuggested`: a taken name gets a number. */
  function insertTried(
    owner: ConnectionOwner,
    type: CloudProviderType,
    input: {
      readonly id: ConnectionId;
      readonly displayName: string;
      readonly settings: Readonly<Record<string, string>>;
      readonly isSuggested: boolean;
    },
    tried: Trial,
  ): Promise<Connection | undefined> {
    const { id, displayName, settings } = input;
    const now = clock();
    const connection: Connection = {
      id,
      userId: owner.userId,
      displayName,
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
    return recordNewConnection(db, owner, connection, input.isSuggested);
  }

  /** Undefined when the new name is taken. */
  async function replaceCredentials(
    owner: ConnectionOwner,
    connection: Connection,
    tried: Trial,
    others: Pick<ConnectionChanges, "displayName">,
  ): Promise<Connection | undefined> {
    const isStored = await recordChangedConnection(db, owner, connection, {
      ...others,
      ...tried.quota,
      credentials: sealCredentials(deps.keys, connection.id, tried.credentials),
      probeResult: tried.probeResult,
      capabilities: tried.capabilities,
      status: "connected",
      lastCheckedAt: clock(),
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
    listProviders: (): readonly AvailableProvider[] =>
      deps.providerTypes.map((type) => ({
        type,
        missingSettings: listMissingSettings(type, server),
      })),

    /**
     * Connects a storage after probing it. Refuses with `unprocessable` settings that the provider does not accept, with
     * `invalid_argument` a kind of storage that is not configured on this server. `name_taken` when another connection of
     * the account has the name.
     */
    async create(
      caller: VaultCaller,
      input: {
        readonly provider: string;
        readonly display_name: string;
        readonly settings: Readonly<Record<string, string>>;
        readonly credentials: Credentials;
      },
    ): Promise<ConnectResult> {
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
      const named = { id: connectionId, displayName: input.display_name, settings };
      const connection = await insertTried(caller, type, { ...named, isSuggested: false }, tried);
      return connection === undefined ? { kind: "name_taken" } : { kind: "connected", connection };
    },

    /**
     * Tries the credentials that a sign-in at a vendor's page gave, and stores nothing. `other_account` when the sign-in was
     * with another vendor account than the one of the given connection.
     */
    async trySignIn(
      userId: AccountId,
      type: CloudProviderType,
      connectionId: ConnectionId | undefined,
      credentials: Credentials,
    ): Promise<SignInTrial | ConnectFailure | { readonly kind: "other_account" }> {
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

    /**
     * Stores a tried sign-in: as a new connection, or as new credentials of an existing one, which keeps its id and
     * items. A taken name gets a number, because the person has signed in already. Throws `not_found` when the existing
     * connection was deleted meanwhile.
     */
    async storeSignIn(
      owner: ConnectionOwner,
      type: CloudProviderType,
      displayName: string,
      tried: SignInTrial,
    ): Promise<Connection> {
      const { connectionId: id, isNew } = tried;
      if (!isNew) {
        const connection = await adapters.own(owner.userId, id);
        const replaced = await replaceCredentials(owner, connection, tried, {});
        if (replaced === undefined) throw new Error("a name that stays cannot be taken");
        return replaced;
      }
      const settings = readSettings(type, {}, false);
      const named = { id, displayName, settings, isSuggested: true };
      const created = await insertTried(owner, type, named, tried);
      if (created === undefined) throw new Error("a suggested name cannot be taken");
      return created;
    },

    async list(
      caller: VaultCaller,
      { page, per_page }: { readonly page: number; readonly per_page: number },
    ): Promise<{ readonly connections: readonly Connection[]; readonly total: number }> {
      const paging = { limit: per_page, offset: (page - 1) * per_page };
      const { connections, total } = await listConnections(db, caller.userId, paging);
      return { connections: await Promise.all(connections.map(withCapabilities)), total };
    },

    get: async (caller: VaultCaller, id: ConnectionId): Promise<Connection> =>
      withCapabilities(await adapters.own(caller.userId, id)),

    /** Tries new credentials before they replace the old ones. `name_taken` as in `create`. */
    async update(
      caller: VaultCaller,
      id: ConnectionId,
      input: {
        readonly display_name?: string | undefined;
        readonly credentials?: Credentials | undefined;
      },
    ): Promise<ConnectResult> {
      const connection = await adapters.own(caller.userId, id);
      const name = input.display_name === undefined ? {} : { displayName: input.display_name };
      if (input.credentials === undefined) {
        if (!(await recordChangedConnection(db, caller, connection, name)))
          return { kind: "name_taken" };
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
      // Checked before the storage is tried; the transaction that stores the change checks again.
      const newName = input.display_name ?? connection.displayName;
      if (await isNameTaken(db, caller.userId, newName, connection)) return { kind: "name_taken" };
      const tried = await tryCredentials(connection, type, credentials);
      if (tried.kind === "other_account")
        throw toFieldError(
          ["body", "credentials"],
          "These credentials belong to another account than the one of this connection.",
          "other_account",
        );
      if (tried.kind !== "ok") return tried;
      const replaced = await replaceCredentials(caller, connection, tried, name);
      return replaced === undefined
        ? { kind: "name_taken" }
        : { kind: "connected", connection: replaced };
    },

    /** Deletes credentials, items and cached bytes; the files in the storage stay. */
    async remove(caller: VaultCaller, id: ConnectionId): Promise<string> {
      const connection = await adapters.own(caller.userId, id);
      const cached = await deps.cache.keysOf(connection.id);
      await recordRemovedConnection(db, caller, connection);
      await adapters.forget(connection.id);
      await deps.cache.forget(cached);
      return connection.id;
    },

    /**
     * Returns a function that releases all resources of a user's connections outside of the database. Call it once the
     * user's rows are deleted.
     */
    async releaseAll(userId: AccountId): Promise<() => Promise<void>> {
      const ids = await listConnectionIds(db, userId);
      const cached = await Promise.all(ids.map((id) => deps.cache.keysOf(id)));
      return async () => {
        await Promise.all(ids.map((id) => adapters.forget(id)));
        await deps.cache.forget(cached.flat());
      };
    },

    /** Probes the storage and stores the outcome as the connection's status. */
    async test(caller: VaultCaller, id: ConnectionId): Promise<Connection> {
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
