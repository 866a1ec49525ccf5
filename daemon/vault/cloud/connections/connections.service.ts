import { isDeepStrictEqual } from "node:util";
import type { ConnectFailure } from "../../../../storage/cloud/outcomes.ts";
import {
  ACCOUNT_FACT,
  type CloudProviderType,
  type Credentials,
  type Facts,
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
import { AppError } from "../../../errors.ts";
import type { VaultCaller } from "../../caller.ts";
import type { CloudDeps } from "../cloud.ts";
import { toFieldError } from "../field-error.ts";
import type { Adapters } from "./adapters.ts";
import { statusAfterCheck } from "./connection-status.ts";
import { sealCredentials } from "./credentials.ts";
import {
  assertAvailable,
  assertNoSignIn,
  listMissingSettings,
  readSettings,
} from "./provider-settings.ts";
import { readQuota, tryOut } from "./trial.ts";

/** A kind of storage, and which of the server's settings it misses. */
export interface AvailableProvider {
  readonly type: CloudProviderType;
  readonly missingSettings: readonly string[];
}

export type ConnectResult =
  | { readonly kind: "connected"; readonly connection: Connection }
  | ConnectFailure;

/** Connections of accounts to storage. */
export interface CloudConnections {
  listProviders(): readonly AvailableProvider[];
  /**
   * Connects a storage after a look at it. Refuses with `unprocessable` what does not fit the provider's settings,
   * `invalid_argument` a kind of storage that is not set up on this server.
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
   * Keeps what signing in at a provider's page has given: a new connection, or new credentials of the given one, whose id and
   * items stay. `other_account` when the sign-in was for another storage than the connection's.
   */
  connectSignedIn(
    userId: string,
    type: CloudProviderType,
    displayName: string,
    connectionId: string | undefined,
    credentials: Credentials,
  ): Promise<ConnectResult | { readonly kind: "other_account" }>;
  list(
    caller: VaultCaller,
    paging: { readonly page: number; readonly per_page: number },
  ): Promise<{ readonly connections: readonly Connection[]; readonly total: number }>;
  get(caller: VaultCaller, id: string): Promise<Connection>;
  /** New credentials are tried before they take the place of the old ones. */
  update(
    caller: VaultCaller,
    id: string,
    input: {
      readonly display_name?: string | undefined;
      readonly credentials?: Credentials | undefined;
    },
  ): Promise<ConnectResult>;
  /** Forgets credentials, items and cached bytes; the storage's own files stay. */
  remove(caller: VaultCaller, id: string): Promise<string>;
  /**
   * What all connections of a user keep outside of the database: gives what lets go of it, to be called once the user's
   * rows are gone.
   */
  releaseAll(userId: string): Promise<() => Promise<void>>;
  /** Looks at the storage now and keeps what it says as the connection's status. */
  test(caller: VaultCaller, id: string): Promise<Connection>;
}

export function createConnections(deps: CloudDeps, adapters: Adapters): CloudConnections {
  const { db, clock } = deps;
  const server = deps.providerDeps.server;

  async function connectNew(
    userId: string,
    type: CloudProviderType,
    displayName: string,
    settings: Readonly<Record<string, string>>,
    credentials: Credentials,
  ): Promise<ConnectResult> {
    const id = deps.newId();
    const tried = await tryOut(adapters, { connectionId: id, type, settings, credentials });
    if (tried.kind !== "ok") return tried;
    const now = clock();
    const connection: Connection = {
      id,
      userId,
      provider: type.type,
      displayName,
      settings,
      credentials: sealCredentials(deps.keys, id, tried.credentials),
      facts: tried.facts,
      status: "connected",
      generation: 1,
      quotaUsedBytes: undefined,
      quotaTotalBytes: undefined,
      createdAt: now,
      lastCheckedAt: now,
      ...tried.quota,
    };
    await insertConnection(db, connection);
    return { kind: "connected", connection };
  }

  async function replaceCredentials(
    connection: Connection,
    type: CloudProviderType,
    credentials: Credentials,
    others: ConnectionChanges,
  ): Promise<ConnectResult | { readonly kind: "other_account" }> {
    const { id: connectionId, settings } = connection;
    const tried = await tryOut(adapters, { connectionId, type, settings, credentials });
    if (tried.kind !== "ok") return tried;
    if (isOtherAccount(connection.facts, tried.facts)) return { kind: "other_account" };
    await updateConnection(db, connection.id, {
      ...others,
      ...tried.quota,
      credentials: sealCredentials(deps.keys, connectionId, tried.credentials),
      facts: tried.facts,
      status: "connected",
      generation: connection.generation + 1,
      lastCheckedAt: clock(),
    });
    await adapters.forget(connection.id);
    return { kind: "connected", connection: await getAgain(connection) };
  }

  async function getAgain(connection: Connection): Promise<Connection> {
    const current = await findConnection(db, connection.userId, connection.id);
    if (current === undefined) throw new AppError("not_found", "Connection not found");
    return current;
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
      return connectNew(caller.userId, type, input.display_name, settings, credentials);
    },

    async connectSignedIn(userId, type, displayName, connectionId, credentials) {
      if (connectionId === undefined)
        return connectNew(userId, type, displayName, readSettings(type, {}, false), credentials);
      return replaceCredentials(await adapters.own(userId, connectionId), type, credentials, {});
    },

    list: (caller, { page, per_page }) =>
      listConnections(db, caller.userId, { limit: per_page, offset: (page - 1) * per_page }),

    get: (caller, id) => adapters.own(caller.userId, id),

    async update(caller, id, input) {
      const connection = await adapters.own(caller.userId, id);
      const name = input.display_name === undefined ? {} : { displayName: input.display_name };
      if (input.credentials === undefined) {
        await updateConnection(db, id, name);
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
      const result = await replaceCredentials(connection, type, credentials, name);
      if (result.kind === "other_account")
        throw toFieldError(
          ["body", "credentials"],
          "These credentials are those of another account than this connection's.",
          "other_account",
        );
      return result;
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
      await updateConnection(db, id, {
        ...quota,
        ...(outcome.kind === "ok" ? { facts: outcome.facts } : {}),
        status: statusAfterCheck(outcome),
        lastCheckedAt: clock(),
      });
      // What was proved anew holds from the next call on.
      if (outcome.kind === "ok" && !isDeepStrictEqual(outcome.facts, connection.facts))
        await adapters.forget(id);
      return getAgain(connection);
    },
  };
}

/** Where both sign-ins told whose storage it is: items of one account must not be taken for another's. */
function isOtherAccount(before: Connection["facts"], after: Facts): boolean {
  const [known, now] = [before?.[ACCOUNT_FACT], after[ACCOUNT_FACT]];
  return known !== undefined && now !== undefined && known !== now;
}
