// Repositories from other servers: imports, and mirrors in both directions. Start here: one factory wires up the services of
// this folder. remotes.ts runs git with other servers, by daemon/outbound/git-gateway.ts; migrate.service.ts creates
// repositories, mirrors.service.ts keeps them alike, import-job.ts brings issues and releases.
import type { Dispatcher } from "undici";
import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import type { RepositoryFiles } from "../../../storage/git/repository-files.ts";
import type { Sealer } from "../../../storage/keys/keyring.ts";
import type { ObjectStore } from "../../../storage/objects/object-store.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import { createGitGateway } from "../../outbound/git-gateway.ts";
import { createGuardedDownload, createGuardedRequest } from "../../outbound/guarded-request.ts";
import { createGuardedUpload } from "../../outbound/guarded-upload.ts";
import type { Log } from "../../utilities/logging.ts";
import { toEmbeddedUserView } from "../accounts/user.view.ts";
import type { Emit } from "../events.ts";
import type { ForgeFeature } from "../feature.ts";
import type { RunInFolder } from "../git/run-in-folder.ts";
import type { WriteRefs } from "../git/write-refs.ts";
import type { RepositoryTemplates } from "../repositories/first-files.ts";
import type { MirrorIntervals } from "../repositories/mirror-interval.ts";
import type { RepositoryFolders } from "../repositories/repository-folders.ts";
import { forgeTasks } from "../tasks.ts";
import type { ForgeUrls } from "../urls.ts";
import { createImportJob, type ImportJobDeps } from "./import-job.ts";
import { createLargeFileImport } from "./import-large-files.ts";
import { createLargeFileBatches } from "./large-file-batch.ts";
import { createReleaseImport } from "./import-releases.ts";
import { type CountPull, createPullPreparation } from "./import-writer.ts";
import { importRoutes } from "./imports.routes.ts";
import { createImports } from "./imports.service.ts";
import { createMigrate } from "./migrate.service.ts";
import { createMirrorJobs } from "./mirrors.service.ts";
import { createLargeFilePush } from "./push-large-files.ts";
import { createMirrors } from "./push-mirrors.service.ts";
import { createCredentialSeals } from "./remote-address.ts";
import { createSourceFiles } from "./source-files.ts";
import { createRemotes } from "./remotes.ts";

export interface ForgeImportsDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly newId: () => string;
  readonly git: Git;
  readonly files: RepositoryFiles;
  readonly folders: RepositoryFolders;
  readonly templates: RepositoryTemplates;
  readonly sealer: Sealer;
  readonly enqueue: Enqueue;
  readonly emit: Emit;
  readonly writeRefs: WriteRefs;
  readonly urls: ForgeUrls;
  readonly log: Log;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  readonly intervals: MirrorIntervals;
  /** Connects to permitted addresses only. */
  readonly dispatcher: Dispatcher;
  /** A folder that is no repository. */
  readonly workFolder: string;
  readonly settings: { readonly maxImportBytes: number; readonly maxRepositoryLfsBytes: number };
  readonly runInFolder: RunInFolder;
  readonly store: ObjectStore;
  readonly newUuid: () => string;
  readonly uploadBytesMax: number;
  /** Computes the open pull requests of a repository by a job. */
  readonly computePulls: ImportJobDeps["computePulls"];
  /** Counts what a pull request changes. */
  readonly countPull: CountPull;
}

/** Imports and mirrors of the forge. */
export function createForgeImports(given: ForgeImportsDeps) {
  const { urls, settings } = given;
  const remotes = createRemotes({
    ...given,
    gateway: createGitGateway(given),
    bytesMax: settings.maxImportBytes,
  });
  const seals = createCredentialSeals(given.sealer);
  const { moves } = given.folders;
  const request = createGuardedRequest(given.dispatcher);
  const fetchFile = createSourceFiles({
    store: given.store,
    download: createGuardedDownload(given.dispatcher),
    clock: given.clock,
  });
  const askBatch = createLargeFileBatches({ request, clock: given.clock });
  const deps = {
    ...given,
    moves,
    remotes,
    seals,
    request,
    askBatch,
    fetchFile,
    bytesMax: settings.maxImportBytes,
    largeFileBytesMax: settings.maxRepositoryLfsBytes,
  };
  const upload = createGuardedUpload(given.dispatcher);
  const mirrorJobs = createMirrorJobs({
    ...deps,
    pushLargeFiles: createLargeFilePush({ ...deps, upload }),
  });
  const commitEmail = (user: Parameters<typeof toEmbeddedUserView>[0]) =>
    toEmbeddedUserView(user, true, urls).email;
  return {
    routes: importRoutes({
      migrate: createMigrate({ ...deps, commitEmail }),
      imports: createImports(deps),
      mirrors: createMirrors({ ...deps, jobs: mirrorJobs }),
      urls,
    }),
    jobs: [
      mirrorJobs.job,
      createImportJob({
        ...deps,
        preparePulls: createPullPreparation(deps),
        importReleases: createReleaseImport(deps),
        openLargeFiles: createLargeFileImport(deps),
      }),
    ],
    tasks: [{ ...forgeTasks.update_mirrors, run: mirrorJobs.enqueueDue }],
    subscribers: [mirrorJobs.subscribers],
  } satisfies ForgeFeature;
}
