import { isDeepStrictEqual } from "node:util";
import type { ConnectFailure, Failure } from "../../../storage/cloud/outcomes.ts";
import {
  ACCOUNT_FACT,
  type CloudProvider,
  type CloudProviderType,
  type Credentials,
  type Facts,
  type ServerSettings,
} from "../../../storage/cloud/provider.ts";
import {
  deleteConnection,
  findConnection,
  insertConnection,
  listConnectionIds,
  listConnections,
  updateConnection,
  type Connection,
  type ConnectionChanges,
} from "../../../storage/tables/vault/connections.ts";
import { AppError } from "../../errors.ts";
import type { VaultCaller } from "../caller.ts";
import type { Adapters } from "./adapters.ts";
import type { CloudDeps } from "./cloud.ts";
import { toBodyError } from "./body-error.ts";

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

  async function readQuota(provider: CloudProvider): Promise<ConnectionChanges> {
    if (!provider.can.quota) return {};
    const outcome = await provider.quota({ signal: new AbortController().signal });
    if (outcome.kind !== "ok") return {};
    const changes: ConnectionChanges = {
      ...(outcome.usedBytes === undefined ? {} : { quotaUsedBytes: outcome.usedBytes }),
      ...(outcome.totalBytes === undefined ? {} : { quotaTotalBytes: outcome.totalBytes }),
    };
    return changes;
  }

  async function connectNew(
    userId: string,
    type: CloudProviderType,
    displayName: string,
    settings: Readonly<Record<string, string>>,
    credentials: Credentials,
  ): Promise<ConnectResult> {
    const id = deps.newId();
    const tried = await tryOut(id, type, settings, credentials);
    if (tried.kind !== "ok") return tried;
    const now = clock();
    const connection: Connection = {
      id,
      userId,
      provider: type.type,
      displayName,
      settings,
      credentials: tried.sealed,
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
    const tried = await tryOut(connection.id, type, connection.settings, credentials);
    if (tried.kind !== "ok") return tried;
    if (isOtherAccount(connection.facts, tried.facts)) return { kind: "other_account" };
    await updateConnection(db, connection.id, {
      ...others,
      ...tried.quota,
      credentials: tried.sealed,
      facts: tried.facts,
      status: "connected",
      generation: connection.generation + 1,
      lastCheckedAt: clock(),
    });
    await adapters.forget(connection.id);
    return { kind: "connected", connection: await getAgain(connection) };
  }

  /** Looks at a storage with these credentials; what they became while looking is what will be kept. */
  async function tryOut(
    connectionId: string,
    type: CloudProviderType,
    settings: Readonly<Record<string, string>>,
    credentials: Credentials,
  ) {
    let latest = credentials;
    const outcome = await adapters.connect({
      connectionId,
      type,
      settings,
      credentials,
      saveCredentials: async (renewed) => {
        latest = renewed;
      },
    });
    if (outcome.kind !== "ok") return outcome;
    try {
      const quota = await readQuota(outcome.provider);
      return {
        kind: "ok",
        facts: outcome.facts,
        quota,
        sealed: adapters.seal(connectionId, latest),
      } as const;
    } finally {
      await outcome.provider.close();
    }
  }

  async function getAgain(connection: Connection): Promise<Connection> {
    const current = await findConnection(db, connection.userId, connection.id);
    if (current === undefined) throw new AppError("not_found", "Connection not found");
    return current;
  }

  return {
    listProviders: () =>
      deps.providerTypes.map((type) => ({ type, missingSettings: missingOf(type, server) })),

    async create(caller, input) {
      const type = adapters.findType(input.provider);
      if (type === undefined)
        throw toBodyError(
          ["provider"],
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
        throw toBodyError(
          ["credentials"],
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
        status: statusOf(outcome),
        lastCheckedAt: clock(),
      });
      // What was proved anew holds from the next call on.
      if (outcome.kind === "ok" && !isDeepStrictEqual(outcome.facts, connection.facts))
        await adapters.forget(id);
      return getAgain(connection);
    },
  };
}

function statusOf(outcome: { readonly kind: "ok" } | ConnectFailure | Failure) {
  if (outcome.kind === "ok") return "connected";
  return outcome.kind === "reauth" ? "reauth_required" : "offline";
}

/** The names of the server's settings that a kind of storage still needs. */
function missingOf(type: CloudProviderType, server: ServerSettings): string[] {
  return (type.oauth?.serverSettings ?? []).filter((name) => !server[name]).map(toVariable);
}

/** A kind of storage that this server is not set up for is refused with the settings that are missing. */
export function assertAvailable(type: CloudProviderType, server: ServerSettings): void {
  const missing = missingOf(type, server);
  if (missing.length === 0) return;
  throw new AppError(
    "invalid_argument",
    `${type.title} is not set up on this server. The administrator has to set ${missing.join(" and ")}.`,
  );
}

/** Credentials of what is connected at the provider's own page come from there only. */
function assertNoSignIn(type: CloudProviderType): void {
  if (type.oauth === undefined) return;
  throw toBodyError(
    ["provider"],
    `${type.title} is connected by signing in at its own page: GET /api/cloud/authorize/${type.type}`,
    "oauth_only",
  );
}

/** Where both sign-ins told whose storage it is: items of one account must not be taken for another's. */
function isOtherAccount(before: Connection["facts"], after: Facts): boolean {
  const [known, now] = [before?.[ACCOUNT_FACT], after[ACCOUNT_FACT]];
  return known !== undefined && now !== undefined && known !== now;
}

/** `googleClientId` as the administrator knows it: `CROFT_GOOGLE_CLIENT_ID`. */
function toVariable(name: string): string {
  return `CROFT_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/** The settings of one half (secret or not) as the provider declares them, defaults filled in. */
function readSettings(
  type: CloudProviderType,
  given: Readonly<Record<string, string>>,
  secret: boolean,
): Record<string, string> {
  const half = secret ? "credentials" : "settings";
  const declared = type.settings.filter((spec) => spec.secret === secret);
  const known = new Set(declared.map(({ name }) => name));
  for (const name of Object.keys(given))
    if (!known.has(name))
      throw toBodyError([half, name], `${type.title} has no such setting.`, "unknown_setting");
  const read: Record<string, string> = {};
  for (const spec of declared) {
    const value = given[spec.name] ?? spec.default;
    if (value === undefined || value === "") {
      if (spec.required) throw toBodyError([half, spec.name], `${spec.help} is needed.`, "missing");
      continue;
    }
    if (spec.choices !== undefined && !spec.choices.includes(value))
      throw toBodyError([half, spec.name], `One of: ${spec.choices.join(", ")}.`, "not_a_choice");
    read[spec.name] = value;
  }
  return read;
}
