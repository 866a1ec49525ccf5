// daemon/vault/cloud: connected storage: connections, their items, uploads and downloads through the byte cache.
// connections/ and authorization/ open storages; items/ records listings, bytes/ downloads, changes/ uploads and edits,
// batches/ does these with many files and folders, analysis/ extracts and classifies text, resumable/ receives uploads in parts,
// trash/ restores deleted items, stored-files/ stores documents in it. Start here (the parts and their wiring), then
// changes/changes.service.ts or bytes/bytes.service.ts.
import type { ByteCache } from "../../../storage/cache/byte-cache.ts";
import type { ProviderDeps } from "../../../storage/cloud/provider.ts";
import type { Keyring } from "../../../storage/keys/keyring.ts";
import type { Route } from "../../http/handle.ts";
import type { JobQueue } from "../../jobs/queue.ts";
import type { Log } from "../../utilities/logging.ts";
import type { VaultFeature } from "../feature.ts";
import { analysisRoutes } from "./analysis/analysis.routes.ts";
import { createAnalysis, type AnalysisDeps } from "./analysis/analysis.service.ts";
import { createAutoAnalysisJob } from "./analysis/auto-analysis.ts";
import { authorizationRoutes } from "./authorization/authorization.routes.ts";
import {
  createAuthorization,
  type AuthorizationDeps,
} from "./authorization/authorization.service.ts";
import { createBatchCounter } from "./batches/batch-limits.ts";
import { createBatchDownloads } from "./batches/batch-downloads.service.ts";
import { createBatchFolders } from "./batches/batch-folders.service.ts";
import { createBatchListings } from "./batches/batch-listings.service.ts";
import { createBatchUploads } from "./batches/batch-uploads.service.ts";
import { batchRoutes } from "./batches/batches.routes.ts";
import { bytesRoutes } from "./bytes/bytes.routes.ts";
import { createBytes, type BytesDeps } from "./bytes/bytes.service.ts";
import { changeRoutes } from "./changes/changes.routes.ts";
import { createChanges, type ChangesDeps } from "./changes/changes.service.ts";
import { createChangeRecorder, type ChangeRecorderDeps } from "./changes/change-recorder.ts";
import { createNameLocks } from "./items/item-place.ts";
import { createRelistJob } from "./changes/relist-job.ts";
import { createReplacements, type ReplacementsDeps } from "./changes/replacements.service.ts";
import { createUploads, type UploadsDeps } from "./changes/uploads.service.ts";
import { createAdapters, type AdaptersDeps } from "./connections/adapters.ts";
import { connectionRoutes } from "./connections/connections.routes.ts";
import { recoverConnections } from "./connections/recover-connections.ts";
import { createConnections, type ConnectionsDeps } from "./connections/connections.service.ts";
import { itemRoutes } from "./items/items.routes.ts";
import { createItems } from "./items/items.service.ts";
import { createLocalFolders } from "./local-folders/local-folders.service.ts";
import { createListings, type ListingsDeps } from "./items/listings.service.ts";
import { createAbandonedWrites } from "./stored-files/abandoned-writes.ts";
import { createDocumentFolder } from "./stored-files/document-folder.ts";
import { createStoredFileRemoval } from "./stored-files/remove-stored-file.ts";
import { createStoredFiles, type StoredFilesDeps } from "./stored-files/stored-files.service.ts";
import { resumableRoutes } from "./resumable/resumable.routes.ts";
import {
  createResumableUploads,
  type ResumableUploadsDeps,
} from "./resumable/resumable.service.ts";
import { trashRoutes } from "./trash/trash.routes.ts";
import { createTrash } from "./trash/trash.service.ts";

/** The dependencies of all parts of the cloud side. */
export interface CloudDeps
  extends
    AdaptersDeps,
    AnalysisDeps,
    AuthorizationDeps,
    BytesDeps,
    ChangeRecorderDeps,
    ChangesDeps,
    ConnectionsDeps,
    ListingsDeps,
    ReplacementsDeps,
    ResumableUploadsDeps,
    StoredFilesDeps,
    UploadsDeps {
  readonly cache: ByteCache;
  readonly jobs: Pick<JobQueue, "enqueue">;
  readonly keys: Pick<Keyring, "seal" | "openText">;
  readonly providerDeps: ProviderDeps;
}

/** The cloud side of the vault. */
export type Cloud = ReturnType<typeof createCloud>;

/** Builds the services of the cloud side. */
export function createCloud(deps: CloudDeps) {
  const { localRoots, ownFolders } = deps.providerDeps;
  const localFolders = createLocalFolders({ db: deps.db, localRoots, ownFolders });
  const adapters = createAdapters(deps, localFolders);
  const connections = createConnections(deps, adapters, localFolders);
  const items = createItems(deps, adapters);
  const listings = createListings(deps, adapters);
  const recorder = createChangeRecorder(deps, listings, adapters);
  const bytes = createBytes(deps, adapters, items);
  const newNames = createNameLocks(deps.providerDeps.locks);
  const changes = createChanges(deps, adapters, recorder, listings, newNames);
  const uploads = createUploads(deps, adapters, recorder, newNames);
  const replacements = createReplacements(deps, adapters, recorder);
  const resumable = createResumableUploads(deps, adapters, uploads);
  const beginBatch = createBatchCounter();
  const stopping = new AbortController();
  return {
    connections,
    localFolders,
    items,
    listings,
    bytes,
    changes,
    uploads,
    replacements,
    batchUploads: createBatchUploads(
      { log: deps.log, beginBatch },
      adapters,
      uploads,
      replacements,
    ),
    batchDownloads: createBatchDownloads({ ...deps, beginBatch }, adapters, bytes),
    batchListings: createBatchListings({ log: deps.log, beginBatch }, adapters, listings),
    batchFolders: createBatchFolders({ log: deps.log, beginBatch }, adapters, changes),
    resumable,
    trash: createTrash(deps, adapters, recorder),
    /** The files of documents. */
    storedFiles: createStoredFiles(deps, {
      uploads,
      replacements,
      bytes,
      folder: createDocumentFolder(deps, adapters, recorder, listings, newNames),
      removal: createStoredFileRemoval(deps, adapters, changes),
      abandoned: createAbandonedWrites(deps.db, adapters),
    }),
    authorization: createAuthorization(deps, adapters, connections),
    analysis: createAnalysis(deps, items),
    jobs: [createRelistJob(deps, listings), createAutoAnalysisJob(deps), resumable.job],
    /** Completes or removes what the last run of this daemon left in connected storages; see `recover-connections.ts`. */
    recover: (): Promise<void> => recoverConnections(deps, adapters, stopping.signal),
    /** Closes storages of connections that another daemon has deleted, or given other credentials. */
    closeStale: (): Promise<void> => adapters.closeStale(),
    /** Ends the recovery and closes open storages. Requests must have ended. */
    close(): Promise<void> {
      stopping.abort();
      return adapters.close();
    },
  };
}

/** How long a storage stays open at most after another daemon has deleted its connection. */
const CLOSE_STALE_MS = 60_000;

/** Connected storage as a feature; it recovers connections once the daemon has started. */
export function createCloudFeature(deps: CloudDeps & { readonly log: Pick<Log, "warn"> }) {
  const cloud = createCloud(deps);
  let timer: NodeJS.Timeout | undefined;
  const closeStale = () =>
    void cloud
      .closeStale()
      .catch((error: unknown) =>
        deps.log.warn({ err: error }, "failed to close storages of deleted connections"),
      );
  return {
    services: cloud,
    routes: cloudRoutes(cloud),
    jobs: cloud.jobs,
    start() {
      cloud
        .recover()
        .catch((error: unknown) => deps.log.warn({ err: error }, "failed to recover connections"));
      // SQLite has one daemon, which closes them itself.
      if (deps.db.dialect === "postgres") timer = setInterval(closeStale, CLOSE_STALE_MS).unref();
    },
    async close() {
      clearInterval(timer);
      await cloud.close();
    },
  } satisfies VaultFeature;
}

/** The routes of the cloud side. */
export function cloudRoutes(cloud: Cloud): Route[] {
  return [
    ...connectionRoutes(cloud.connections),
    ...itemRoutes(cloud),
    ...bytesRoutes(cloud.bytes),
    ...changeRoutes(cloud),
    ...batchRoutes(cloud),
    ...resumableRoutes(cloud.resumable),
    ...trashRoutes(cloud.trash),
    ...analysisRoutes(cloud.analysis),
    ...authorizationRoutes(cloud.authorization),
  ];
}
