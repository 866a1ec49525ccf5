import { resolve } from "node:path";
import type { ConnectFailure, Failure } from "../../../../storage/cloud/outcomes.ts";
import type {
  CloudProvider,
  CloudProviderType,
  ConnectOutcome,
  Credentials,
  ProbeResult,
  LocalFolderAccess,
  ProviderDeps,
} from "../../../../storage/cloud/provider.ts";
import { withRetries } from "../../../../storage/cloud/retrying.ts";
import { withValidItems } from "../../../../storage/cloud/valid-items.ts";
import {
  findConnection,
  findConnectionById,
  listGenerations,
  noteConnectionStatus,
  renewCredentials,
  type Connection,
} from "../../../../storage/tables/vault/connections.ts";
import type { Database } from "../../../../storage/engine/database.ts";
import type { Keyring } from "../../../../storage/keys/keyring.ts";
import { listForeignFolderHandles } from "../../../../storage/tables/vault/local-folders.ts";
import { AppError } from "../../../errors.ts";
import type { Log } from "../../../utilities/logging.ts";
import { findLocalRootsInside, hideAccountFolders } from "../local-folders/hide-account-folders.ts";
import type { LocalFolders } from "../local-folders/local-folders.service.ts";
import { logLevelOf, statusAfter } from "./connection-status.ts";
import { sealCredentials, unsealCredentials } from "./credentials.ts";
import type { AccountId, ConnectionId } from "../../../../storage/tables/vault/ids.ts";

/** Opens storages, and keeps one open provider per connection, with its credentials unsealed. */
export type Adapters = ReturnType<typeof createAdapters>;

interface ConnectInput {
  readonly connectionId: ConnectionId;
  readonly type: CloudProviderType;
  readonly settings: Readonly<Record<string, string>>;
  readonly credentials: Credentials;
  /** Undefined for storages that are not folders of this machine, and for those below all local roots. */
  readonly localFolders: LocalFolderAccess | undefined;
  readonly saveCredentials: (credentials: Credentials) => Promise<void>;
}

interface Opened {
  generation: number;
  readonly provider: Promise<CloudProvider>;
  isReady: boolean;
}

export interface AdaptersDeps {
  readonly db: Database;
  readonly keys: Pick<Keyring, "seal" | "openText">;
  readonly providerTypes: readonly CloudProviderType[];
  readonly providerDeps: ProviderDeps;
  /** From 0 up to 1, for the jitter of retries. */
  readonly random: () => number;
  readonly log: Log;
}

export function createAdapters(deps: AdaptersDeps, localFolders: Pick<LocalFolders, "getAccess">) {
  const { db, keys, providerDeps } = deps;
  const types = new Map(deps.providerTypes.map((type) => [type.type, type]));
  const opened = new Map<ConnectionId, Opened>();
  const { locks } = providerDeps;
  const toKey = (id: ConnectionId) => `connection ${id}`;
  const refusals = createRefusals(providerDeps.clock);

  async function open(connection: Connection): Promise<CloudProvider> {
    const earlier = opened.get(connection.id);
    // A request that has waited long may still hold the earlier credentials.
    if (earlier !== undefined && earlier.generation >= connection.generation)
      return earlier.provider;
    const provider = findConnectionById(db, connection.id).then((current) => {
      if (current === undefined) throw new AppError("not_found", "Connection not found");
      entry.generation = current.generation;
      return openNew(current);
    });
    const entry: Opened = { generation: connection.generation, provider, isReady: false };
    opened.set(connection.id, entry);
    provider.then(
      () => {
        entry.isReady = true;
      },
      () => {
        if (opened.get(connection.id) === entry) opened.delete(connection.id);
      },
    );
    if (earlier !== undefined) await closeQuietly(earlier.provider);
    return provider;
  }

  async function openNew(connection: Connection): Promise<CloudProvider> {
    const type = types.get(connection.provider);
    if (type === undefined)
      throw new AppError("unprocessable", `This server has no adapter for ${connection.provider}.`);
    const usesOwnFolders = type.usesLocalFolders === true && !connection.isBelowLocalRoots;
    const outcome = await connect({
      connectionId: connection.id,
      type,
      settings: connection.settings,
      localFolders: usesOwnFolders
        ? await localFolders.getAccess(connection.userId, { create: false })
        : undefined,
      credentials: unsealCredentials(keys, connection),
      probeResult: connection.probeResult,
      saveCredentials: async (renewed) => {
        const { id, generation } = connection;
        await renewCredentials(db, {
          id,
          generation,
          credentials: sealCredentials(keys, id, renewed),
        });
      },
      loadCredentials: async () => {
        const current = await findConnectionById(db, connection.id);
        return current?.generation === connection.generation
          ? unsealCredentials(keys, current)
          : undefined;
      },
    });
    if (outcome.kind !== "ok") throw toRefusal(outcome);
    if (!connection.isBelowLocalRoots) return outcome.provider;
    const { localRoots } = providerDeps;
    const root = resolve(localRoots[0] ?? "/", connection.settings["root"] ?? "");
    return hideAccountFolders(outcome.provider, findLocalRootsInside(root, localRoots), () =>
      listForeignFolderHandles(db, connection.userId),
    );
  }

  async function connect(
    input: ConnectInput & {
      readonly probeResult?: ProbeResult | undefined;
      readonly loadCredentials?: () => Promise<Credentials | undefined>;
    },
  ): Promise<ConnectOutcome> {
    const { connectionId, settings, credentials, localFolders, saveCredentials, loadCredentials } =
      input;
    const outcome = await input.type.connect(
      {
        connectionId,
        settings,
        credentials,
        probeResult: input.probeResult,
        localFolders,
        saveCredentials,
        ...(loadCredentials === undefined ? {} : { loadCredentials }),
        signal: new AbortController().signal,
      },
      providerDeps,
    );
    if (outcome.kind !== "ok") return outcome;
    const retries = { sleep: providerDeps.sleep, random: deps.random };
    return { ...outcome, provider: withRetries(withValidItems(outcome.provider), retries) };
  }

  async function noteStatus(connection: Connection, outcome: string): Promise<void> {
    const status = statusAfter(outcome);
    if (status === undefined || status === connection.status) return;
    const { id, generation } = connection;
    await noteConnectionStatus(db, { id, generation, status });
  }

  /** Logs the provider's own reason for the administrator; clients only get the kind of the failure. */
  function logFailure(connection: Connection, outcome: { readonly kind: string }): void {
    const level = logLevelOf(outcome.kind);
    if (level === undefined) return;
    const note = "note" in outcome ? outcome.note : undefined;
    const { id, provider } = connection;
    deps.log[level](
      { connection_id: id, provider, outcome: outcome.kind, note },
      "provider call failed",
    );
  }

  return {
    /** Returns the caller's connection. Refuses with `not_found`, also for a connection of another user. */
    async own(userId: AccountId, connectionId: ConnectionId): Promise<Connection> {
      const connection = await findConnection(db, userId, connectionId);
      if (connection === undefined) throw new AppError("not_found", "Connection not found");
      return connection;
    },

    /**
     * Opens the provider of a connection. Throws `AppError` when it cannot be opened:
     * 401 and 422.
     */
    open,

    /** Returns whether a connection is open with the credentials of this generation. If so, `open` does not refuse it. */
    isOpen(connectionId: ConnectionId, generation: number): boolean {
      const entry = opened.get(connectionId);
      return entry?.isReady === true && entry.generation === generation;
    },

    /**
     * Opens a storage and makes one call, unless its credentials were refused a moment ago. Stores the status of the
     * connection that follows from the outcome.
     */
    async call<T extends { readonly kind: string }>(
      connection: Connection,
      work: (provider: CloudProvider) => Promise<T>,
    ): Promise<T | Extract<Failure, { kind: "reauth" }>> {
      const provider = await open(connection);
      if (connection.status === "reauth_required" && !refusals.mayTry(connection.id))
        return { kind: "reauth", note: "not_called" };
      const outcome = await work(provider);
      refusals.note(connection.id, outcome.kind);
      logFailure(connection, outcome);
      // The outcome may hold an open file, or tell of a change that was made: a status that cannot be stored must not drop
      // it. The next call stores the status.
      await noteStatus(connection, outcome.kind).catch((error: unknown) =>
        deps.log.warn(
          { err: error, connection_id: connection.id },
          "failed to store the status of a connection",
        ),
      );
      return outcome;
    },

    /** Tests settings and credentials, new or replaced ones. */
    connect,
    findType: (type: string): CloudProviderType | undefined => types.get(type),

    /** Closes the providers that were opened with a connection's earlier credentials. */
    async forget(connectionId: ConnectionId) {
      const entry = opened.get(connectionId);
      opened.delete(connectionId);
      if (entry !== undefined) await closeQuietly(entry.provider);
    },

    /** Closes the providers of connections that another daemon has deleted, or given other credentials. */
    async closeStale(): Promise<void> {
      const before = [...opened];
      if (before.length === 0) return;
      const ids = before.map(([id]) => id);
      const generations = await listGenerations(db, ids);
      for (const [id, entry] of before) {
        const current = generations.get(id) ?? Number.POSITIVE_INFINITY;
        if (current <= entry.generation || opened.get(id) !== entry) continue;
        opened.delete(id);
        await closeQuietly(entry.provider);
      }
    },

    /**
     * Runs `work` while holding the connection's exclusive lock, so that changes of one connection run and are recorded in
     * order, whichever daemon makes them.
     */
    withLock<T>(connectionId: ConnectionId, work: () => Promise<T>): Promise<T> {
      return locks.withLocks([toKey(connectionId)], work);
    },
    /**
     * Runs `work` while holding the connection's shared lock: concurrently with other holders of it, but never with
     * `withLock` of this daemon. A change by another one is noticed when `work` is recorded.
     */
    withSharedLock<T>(connectionId: ConnectionId, work: () => Promise<T>): Promise<T> {
      return locks.withSharedLock(toKey(connectionId), work);
    },

    async close() {
      const all = [...opened.values()];
      opened.clear();
      for (const { provider } of all) await closeQuietly(provider);
    },
  };

  async function closeQuietly(provider: Promise<CloudProvider>): Promise<void> {
    try {
      await (await provider).close();
    } catch (error) {
      deps.log.debug({ err: error }, "a storage was not closed cleanly");
    }
  }
}

/** Wait after the first refusal of credentials; doubles with each further one. */
const REFUSED_MS = 30_000;
const REFUSED_MS_MAX = 3_600_000;

/**
 * Remembers which credentials were refused, and when. A server that refuses them by mistake, such as one whose own
 * directory
 * is away, is tried again; a password that is wrong is sent seldom enough not to lock its account.
 */
function createRefusals(clock: () => number) {
  const refused = new Map<ConnectionId, { readonly until: number; readonly waitMs: number }>();
  return {
    mayTry: (id: ConnectionId) => (refused.get(id)?.until ?? 0) <= clock(),
    note(id: ConnectionId, outcome: string) {
      if (outcome !== "reauth") {
        refused.delete(id);
        return;
      }
      const waitMs = Math.min(REFUSED_MS_MAX, (refused.get(id)?.waitMs ?? REFUSED_MS / 2) * 2);
      refused.set(id, { until: clock() + waitMs, waitMs });
    },
  };
}

/** Returns the refusal for a connection that can no longer be opened. */
function toRefusal(failure: ConnectFailure): AppError {
  if (failure.kind === "reauth")
    return new AppError(
      "reauth_required",
      "The provider needs you to sign in again. Reconnect this connection.",
    );
  if (failure.kind === "invalid_setting")
    return new AppError(
      "unprocessable",
      `This connection's ${failure.setting} is no longer allowed on this server (${failure.reason}).`,
    );
  return new AppError("unavailable", "The provider is temporarily unavailable.");
}
