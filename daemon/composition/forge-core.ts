import { randomBytes, randomUUID } from "node:crypto";
import type { ObjectStore } from "../../storage/objects/object-store.ts";
import type { CronTasks } from "../forge/cron/cron.service.ts";
import { createCompute } from "../forge/compute.ts";
import { createEvents } from "../forge/events.ts";
import {
  createCommitFinder,
  createPushReader,
  type FindCommit,
  type ReadPush,
} from "../forge/git/commit-readers.ts";
import { createPushJournal } from "../forge/git/push-journal.ts";
import { createPushRecorder } from "../forge/git/record-push.ts";
import { createRefCheck } from "../forge/git/ref-check.ts";
import { createRunInFolder, followMoves } from "../forge/git/run-in-folder.ts";
import { createRefWriter } from "../forge/git/write-refs.ts";
import { createPushCheck } from "../forge/repositories/protected-refs.ts";
import { createProcessorShares } from "../jobs/processor-shares.ts";
import type { Mailer } from "../outbound/mail/mailer.ts";
import type { OpenRepositories } from "./repositories.ts";
import type { ServiceDeps } from "./services.ts";
import type { TransportTools } from "./transport-tools.ts";

export interface ForgeDeps extends ServiceDeps {
  readonly mailer: Mailer;
  readonly objects: ObjectStore;
  readonly repositories: OpenRepositories;
  readonly tools: TransportTools;
  /** The scheduled tasks of the whole daemon, for administrators. */
  readonly cron: CronTasks;
}

/** What every feature of the forge may use, under the names by which features ask for it. */
export type ForgeCore = ReturnType<typeof createForgeCore>;

export function createForgeCore(deps: ForgeDeps) {
  const { db, input, stores, addresses, queue, log, newId } = deps;
  const { clock, settings } = input;
  const { git, files, folders, isAlone } = deps.repositories;
  const { locate } = folders;
  const { enqueue } = queue;
  const { emit, subscribe } = createEvents();
  const compute = createCompute({
    workerUrl: new URL("./compute.worker.ts", import.meta.url),
    shares: createProcessorShares({ clock }),
  });
  const checkPush = createPushCheck(db, compute);
  const runInFolder = createRunInFolder({ db, locate });
  const readPush = createPushReader({ git, locate });
  const findCommit = createCommitFinder({ git, locate });
  const checkRefs = createRefCheck({ git, runInFolder, checkPush });
  const recorder = createPushRecorder({ db, git, locate, emit });
  const { recordPush } = recorder;
  const journal = createPushJournal({ db, clock, git, locate, recordPush, enqueue, log });
  return {
    db,
    log,
    settings,
    keyring: stores.keyring,
    sealer: stores.keyring,
    /** The bytes of packages, attachments, pictures and artifacts. */
    store: deps.objects,
    publicUrl: addresses.publicUrl,
    urls: { publicUrl: addresses.publicUrl, sshAddress: addresses.ssh },
    uploadBytesMax: settings.maxUploadBytes,
    intervals: {
      usualSeconds: settings.mirrorIntervalSeconds,
      minSeconds: settings.minMirrorIntervalSeconds,
    },
    instanceName: settings.instanceName,
    // Time and chance.
    clock,
    random: randomBytes,
    newUuid: randomUUID,
    newId,
    // Events, jobs, and work that takes long.
    emit,
    subscribe,
    enqueue,
    compute,
    // Repositories, and changes of their refs.
    git,
    files,
    folders,
    locate,
    runInFolder,
    isAlone,
    readPush: ((repository, ...push) =>
      followMoves(db, repository, (current) => readPush(current, ...push))) satisfies ReadPush,
    findCommit: ((repository, name) =>
      followMoves(db, repository, (current) => findCommit(current, name))) satisfies FindCommit,
    checkPush,
    checkRefs,
    ...recorder,
    journal,
    writeRefs: createRefWriter({ git, locate, checkRefs, ...recorder, journal }),
  };
}
