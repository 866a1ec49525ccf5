// daemon/vault/cloud: connected storage: connections, their items, uploads and downloads through the byte cache.
// May import: daemon/contract, daemon/errors.ts, daemon/vault/{caller,handle}.ts, storage. Never an adapter by name.
// connections/ and authorization/ open storages; items/ keeps what was listed, bytes/ reads it, changes/ changes it, analysis/
// looks into it. Start here (what it is made of), then changes/changes.service.ts or bytes/bytes.service.ts.
import type { ByteCache } from "../../../storage/cache/byte-cache.ts";
import type { CloudProviderType, ProviderDeps } from "../../../storage/cloud/provider.ts";
import type { Database } from "../../../storage/engine/database.ts";
import type { Keyring } from "../../../storage/keys/keyring.ts";
import type { Route } from "../../http/handle.ts";
import type { JobQueue } from "../../jobs/queue.ts";
import type { Log } from "../../utilities/logging.ts";
import { analysisRoutes } from "./analysis/analysis.routes.ts";
import { createAnalysis, type CloudAnalysis } from "./analysis/analysis.service.ts";
import { authorizationRoutes } from "./authorization/authorization.routes.ts";
import {
  createAuthorization,
  type CloudAuthorization,
} from "./authorization/authorization.service.ts";
import { bytesRoutes } from "./bytes/bytes.routes.ts";
import { createBytes, type CloudBytes } from "./bytes/bytes.service.ts";
import { changeRoutes } from "./changes/changes.routes.ts";
import { createChanges, type CloudChanges } from "./changes/changes.service.ts";
import { createRecording } from "./changes/recording.ts";
import { registerRelisting } from "./changes/relisting.ts";
import { createUploads, type CloudUploads } from "./changes/uploads.service.ts";
import { createAdapters } from "./connections/adapters.ts";
import { connectionRoutes } from "./connections/connections.routes.ts";
import { createConnections, type CloudConnections } from "./connections/connections.service.ts";
import { itemRoutes } from "./items/items.routes.ts";
import { createItems, type CloudItems } from "./items/items.service.ts";
import { createLocalFolders, type LocalFolders } from "./local-folders/local-folders.service.ts";
import { createListings, type CloudListings } from "./items/listings.service.ts";

/** What the cloud side is made of. */
export interface CloudDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** From 0 up to 1, for the jitter of retries. */
  readonly random: () => number;
  /** Unpredictable bytes. */
  readonly randomBytes: (size: number) => Uint8Array;
  /** Makes ids of rows. */
  readonly newId: () => string;
  readonly keys: Pick<Keyring, "seal" | "openText">;
  readonly providerTypes: readonly CloudProviderType[];
  readonly providerDeps: ProviderDeps;
  readonly cache: ByteCache;
  readonly jobs: Pick<JobQueue, "enqueue" | "register">;
  readonly log: Log;
  /** Age in milliseconds at which a listing is fetched again. */
  readonly listingMaxAgeMs: number;
  /** Where uploads wait whose provider must know the length first. */
  readonly temporaryDirectory: string;
  /** Byte cache of a user who has not set an own limit. */
  readonly defaultCacheBytes: number;
  /** Base of the links that are handed out, without a trailing slash. */
  readonly publicUrl: () => string;
}

/** The cloud side of the vault. */
export interface Cloud {
  readonly connections: CloudConnections;
  readonly localFolders: LocalFolders;
  readonly items: CloudItems;
  readonly listings: CloudListings;
  readonly bytes: CloudBytes;
  readonly changes: CloudChanges;
  readonly uploads: CloudUploads;
  readonly authorization: CloudAuthorization;
  readonly analysis: CloudAnalysis;
  /** Closes open storages. Requests must have ended. */
  close(): Promise<void>;
}

/** Builds the cloud side and registers its jobs. */
export function createCloud(deps: CloudDeps): Cloud {
  const { localRoots, ownFolders } = deps.providerDeps;
  const localFolders = createLocalFolders({ db: deps.db, localRoots, ownFolders });
  const adapters = createAdapters(deps, localFolders);
  const connections = createConnections(deps, adapters, localFolders);
  const items = createItems(deps, adapters);
  const listings = createListings(deps, adapters);
  const recording = createRecording(deps, listings);
  registerRelisting(deps, listings);
  return {
    connections,
    localFolders,
    items,
    listings,
    bytes: createBytes(deps, adapters, items),
    changes: createChanges(deps, adapters, recording),
    uploads: createUploads(deps, adapters, recording),
    authorization: createAuthorization(deps, adapters, connections),
    analysis: createAnalysis(deps, items),
    close: () => adapters.close(),
  };
}

/** The routes of the cloud side. */
export function cloudRoutes(cloud: Cloud): Route[] {
  return [
    ...connectionRoutes(cloud.connections),
    ...itemRoutes(cloud),
    ...bytesRoutes(cloud.bytes),
    ...changeRoutes(cloud),
    ...analysisRoutes(cloud.analysis),
    ...authorizationRoutes(cloud.authorization),
  ];
}
